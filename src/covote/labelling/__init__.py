"""The labelling run: models of a panel label a dataset."""

from __future__ import annotations

from covote.labelling.running import ExpertRun, Labelling, answers_file, label, label_file

__all__ = ["ExpertRun", "Labelling", "answers_file", "label", "label_file"]
