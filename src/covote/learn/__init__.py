"""Panels of classifiers, with the interface of scikit-learn."""

from __future__ import annotations

from covote.learn.classifier import PanelClassifier

__all__ = ["PanelClassifier"]
