"""The data sets of the experiments: found on disk, checked, read; fetched only when asked."""

from __future__ import annotations

from .files import DataFile, Source, default_folder
from .images import IMAGE_SETS, TITLES, ImageSet, load_images
from .predictions import Predictions, load_predictions
from .text import TEXT_SETS, TextSet, load_text

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
