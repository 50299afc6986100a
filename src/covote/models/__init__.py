"""Experts that are models: functions, scikit-learn, skops, ONNX, torch, inference servers."""

from __future__ import annotations

from covote.models.expert import ModelExpert, open_expert
from covote.models.model_protocol import NO_ANSWER, Answers, Batch, Expert, Model

__all__ = ["NO_ANSWER", "Answers", "Batch", "Expert", "Model", "ModelExpert", "open_expert"]
