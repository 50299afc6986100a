"""The command line: it translates between argv and the library, it does not compute."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
from types import FrameType
from typing import TextIO

INTERRUPTED = 130
_LEAST_SPACE = 1 << 30  # bytes of address space; threads that cannot be started end the process
_PLAIN = {"■": "#", "·": ".", "…": "...", "–": "-"}


def main() -> None:
    """Run the `covote` command; a person's mistake ends in one line and exit status 2."""
    _open_streams()
    _accept_any_letter()
    _check_address_space()
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        # Nothing has begun, so nothing is lost: not even libraries that are half loaded are told.
        signal.signal(signal.SIGINT, _leave)
    from covote import compiled
    from covote.cli.app import app
    from covote.cli.output import complain
    from covote.errors import CovoteError

    signal.signal(signal.SIGINT, before)
    compiled.announce = _announce
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, where it can be told that there is no room
    except CovoteError as error:
        complain(f"covote: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        complain("covote: interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # `covote ... | head`: the reader has had enough.
        sys.stderr.close()
        sys.exit(0)
    except (OverflowError, MemoryError) as error:
        complain(f"covote: a number is too large for this machine ({error}); choose a smaller one")
        sys.exit(2)
    except OSError as error:
        _explain(error)
        sys.exit(2)


def _explain(error: OSError) -> None:
    """Say what the system refused; raise the error where that is not clear."""
    from covote.cli.output import complain

    if error.strerror is None:
        raise error
    if error.filename is not None:
        complain(f"covote: {str(error.filename)[:100]}: {error.strerror}; choose another place")
    elif isinstance(error, FileNotFoundError) and not _has_folder():
        complain("covote: the folder in which this command runs was removed; change to another one")
    else:
        complain(f"covote: cannot print the result: {error.strerror}")
        # What is left in the stream would be tried again at the end.
        sys.stdout = _nowhere()


def _has_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _open_streams() -> None:
    """Let what is printed to a stream that was closed (``>&-``) disappear."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, _nowhere())


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _check_address_space() -> None:
    """Leave where libraries could not be loaded, or would end the process without a word."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit not in (resource.RLIM_INFINITY, -1) and limit < _LEAST_SPACE:
        need, has = _LEAST_SPACE >> 20, limit >> 20
        print(
            f"covote: {has:,} MB of address space are too little, {need:,} are needed; raise ulimit -v",
            file=sys.stderr,
        )
        sys.exit(2)


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, b"covote: interrupted\n")
    os._exit(INTERRUPTED)


def _accept_any_letter() -> None:
    """Print letters that the terminal or file does not have as others, instead of failing."""
    codecs.register_error("covote", _other_letters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="covote")


def _other_letters(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for letters that cannot be written.

    >>> codecs.register_error("other letters", _other_letters)
    >>> "■ · 皮".encode("ascii", "other letters")
    b'# . ?'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in text), error.end


def _announce() -> None:
    """Say once, on a terminal, why this run takes longer than the next."""
    from covote import compiled

    compiled.announce = None
    if sys.stderr.isatty():
        print("Compiling for this machine (first run only, a few seconds).", file=sys.stderr)
