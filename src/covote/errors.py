"""The whole error tree.

Every error of covote is a :class:`CovoteError` and also the builtin a caller would expect, so that
``except ValueError`` keeps working. A message names the offending value and the remedy; the command line
prints it as it is and exits with status 2.
"""

from __future__ import annotations


class CovoteError(Exception):
    """Base class of covote's errors: mistakes that it can explain to the person who made them."""


class InputError(CovoteError, ValueError):
    """A value that covote cannot work with."""


class UnknownNameError(CovoteError, LookupError):
    """A class or an expert that the panel does not have."""

    def __str__(self) -> str:
        # LookupError's KeyError child would quote the message; keep it as written.
        return str(self.args[0]) if self.args else ""


class CoverError(CovoteError, ValueError):
    """Experts that cannot cover every pair of classes, where a cover was asked for."""


class TooLargeError(CovoteError, MemoryError):
    """A task that would need more memory or work than there is."""


class ExpertError(CovoteError, RuntimeError):
    """An expert that was asked and failed: an exception, a time-out, an answer that cannot be used."""


class FileError(CovoteError, OSError):
    """A file that cannot be read, understood or written."""


class DataError(FileError):
    """A dataset that is missing, or not as it was published."""


class MissingDependencyError(CovoteError, ImportError):
    """An optional library that is not installed; the message gives the install line."""


class EngineError(CovoteError, RuntimeError):
    """A cluster that cannot be reached, or that lost the work."""
