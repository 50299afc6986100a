"""Panels that learn: the scikit-learn face of covote."""

from __future__ import annotations

from covote.learn.classifier import PanelClassifier

__all__ = ["PanelClassifier"]
