"""Panels that learn: the scikit-learn face of covote."""

from __future__ import annotations

from .classifier import PanelClassifier

__all__ = ["PanelClassifier"]
