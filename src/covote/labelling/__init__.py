"""The labelling run: models of a panel label a dataset."""

from __future__ import annotations

from covote.files.data import DataPlace
from covote.labelling.running import Asking, ExpertRun, Labelling, answers_file, label, label_file

__all__ = ["Asking", "DataPlace", "ExpertRun", "Labelling", "answers_file", "label", "label_file"]
