"""covote's exceptions.

Every exception is a :class:`CovoteError` and also the builtin exception that a caller would expect, so that
``except ValueError`` keeps working. A message names the offending value and the remedy; the command line
prints it unchanged and exits with status 2.
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
    """Experts who cannot cover every pair of classes, although a cover was requested."""


class TooLargeError(CovoteError, MemoryError):
    """A task that would need more memory or time than is available."""


class ExpertError(CovoteError, RuntimeError):
    """An expert that failed to answer: an exception, a time-out, an unusable answer."""


class OutageError(ExpertError):
    """A server that failed to answer in a way that may pass: a time-out, a lost connection, status 503."""


class FileError(CovoteError, OSError):
    """A file that cannot be read, understood or written."""


class DataError(FileError):
    """A dataset that is missing, or differs from the published one."""


class MissingDependencyError(CovoteError, ImportError):
    """An optional library that is not installed; the message gives the install line."""


class EngineError(CovoteError, RuntimeError):
    """A cluster that cannot be reached, or that lost its work."""
