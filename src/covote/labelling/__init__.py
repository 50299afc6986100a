"""The labelling run: models of a panel label a dataset."""

from __future__ import annotations

from covote.labelling.data import DataPlace
from covote.labelling.label_data import answers_file, label, label_file, request_file
from covote.labelling.running import ExpertRun, Labelling
from covote.labelling.strategy import Asking

__all__ = [
    "Asking",
    "DataPlace",
    "ExpertRun",
    "Labelling",
    "answers_file",
    "label",
    "label_file",
    "request_file",
]
