"""Folders of images."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from covote.errors import FileError, InputError, MissingDependencyError
from covote.files.data import DataPlace, Rows

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


def image_files(folder: Path) -> list[Path]:
    """Return the images of a folder and of the folders in it, in the order of their names."""
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    if not found:
        raise FileError(f"the folder {folder} has no images ({', '.join(ENDINGS)})")
    return found


class Images:
    """Images as arrays of (height, width, 3) bytes; an image is called by its path inside the folder."""

    def __init__(self, place: DataPlace) -> None:
        if place.id or place.columns:
            raise InputError(f"{place.path} is a folder of images; leave --id and --columns out")
        try:
            import PIL.Image  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError(
                "images need Pillow; install it with: pip install 'covote[images]'"
            ) from error
        self._folder, self._size = place.path, place.size
        self._files = image_files(place.path)

    @property
    def items(self) -> int:
        """How many images there are."""
        return len(self._files)

    def ids(self) -> NDArray[np.object_]:
        """Return the paths inside the folder."""
        names = np.empty(self.items, dtype=object)
        names[:] = [path.relative_to(self._folder).as_posix() for path in self._files]
        return names

    def read(self, start: int, stop: int) -> Rows:
        """Return the images start:stop."""
        images = [self._image(path) for path in self._files[start:stop]]
        shapes = [image.shape for image in images]
        for path, shape in zip(self._files[start:stop], shapes, strict=True):
            if shape != shapes[0]:
                raise InputError(
                    f"{path} is {shape[1]}x{shape[0]} pixels, {self._files[start]} is "
                    f"{shapes[0][1]}x{shapes[0][0]}; bring all images to one size with --size "
                    f"{shapes[0][1]}x{shapes[0][0]}"
                )
        return np.stack(images)

    def files(self, start: int, stop: int) -> list[Path]:
        """Return the files of the images start:stop."""
        return self._files[start:stop]

    def _image(self, path: Path) -> NDArray[np.uint8]:
        from PIL import Image

        try:
            with warnings.catch_warnings(), Image.open(path) as image:
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)
                colours = image.convert("RGB")
        except Image.DecompressionBombError as error:
            raise FileError(f"{path} is too large: {error}; shrink or remove it") from error
        except (OSError, ValueError, SyntaxError) as error:
            raise FileError(f"{path} cannot be read as an image: {error}; repair or remove it") from error
        if self._size is not None and colours.size != self._size:
            colours = colours.resize(self._size)
        return np.asarray(colours)
