"""The data sets of the experiments: found on disk, checked, read; fetched only when asked."""

from __future__ import annotations

from covote.reproduction.datasets.data_files import DataFile, Source, default_folder
from covote.reproduction.datasets.image_sets import IMAGE_SETS, TITLES, ImageSet, load_images
from covote.reproduction.datasets.predictions import Predictions, load_predictions
from covote.reproduction.datasets.texts import TEXT_SETS, TextSet, load_text

__all__ = [
    "IMAGE_SETS",
    "TEXT_SETS",
    "TITLES",
    "DataFile",
    "ImageSet",
    "Predictions",
    "Source",
    "TextSet",
    "default_folder",
    "load_images",
    "load_predictions",
    "load_text",
]
