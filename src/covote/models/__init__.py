"""Experts that are models: functions, scikit-learn, skops, ONNX, torch, inference servers."""

from __future__ import annotations

from covote.models.batches import Batch
from covote.models.expert import ModelExpert, open_expert
from covote.models.kind import Model
from covote.models.understanding import NO_ANSWER, ModelAnswers

__all__ = ["NO_ANSWER", "Batch", "Model", "ModelAnswers", "ModelExpert", "open_expert"]
