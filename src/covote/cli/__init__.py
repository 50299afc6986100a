"""The command line: it translates between argv and the library, it does not compute."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
import warnings
from types import FrameType
from typing import Any, TextIO

INTERRUPTED = 130
_LEAST_SPACE = 1 << 30  # bytes of address space; with less, threads cannot start and end the process
_PLAIN = {"■": "#", "·": ".", "…": "...", "–": "-"}


def main() -> None:
    """Run the `covote` command; report a user's mistake in one line, with exit status 2."""
    # Processes that this one starts look for no modules in the working folder (as with python -P).
    os.environ["PYTHONSAFEPATH"] = "1"
    _open_streams()
    _accept_any_letter()
    _check_address_space()
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        # Nothing has started, so leave at once: half-loaded libraries would print tracebacks.
        signal.signal(signal.SIGINT, _leave)
    from covote import compiled
    from covote.cli.app import app
    from covote.cli.terminal import complain
    from covote.errors import CovoteError

    signal.signal(signal.SIGINT, before)
    compiled.announce = _announce
    try:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                app()
        finally:
            sys.stdout.flush()  # here, so that a full disk is reported
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
    except OverflowError as error:
        complain(f"covote: a number is too large for this machine ({error}); choose a smaller one")
        sys.exit(2)
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        complain(
            f"covote: there is not enough memory{reason}; give a smaller file or smaller numbers, or label "
            "it in parts: covote docs decode"
        )
        sys.exit(2)
    except OSError as error:
        _explain(error)
        sys.exit(2)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line, without the place in the source."""
    from covote.cli.terminal import complain

    complain(f"Warning: {message}")


def _explain(error: OSError) -> None:
    """Report what the system refused; raise the error if the cause is unclear."""
    from covote.cli.terminal import complain

    if error.strerror is None:
        raise error
    if error.filename is not None:
        complain(f"covote: {str(error.filename)[:100]}: {error.strerror}; choose another place")
    elif isinstance(error, FileNotFoundError) and not _has_folder():
        complain("covote: the folder in which this command runs was removed; change to another one")
    else:
        complain(f"covote: cannot print the result: {error.strerror}")
        # Python would try to write the rest again at exit.
        sys.stdout = _nowhere()


def _has_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _open_streams() -> None:
    """Discard what is printed to a closed stream (``>&-``)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, _nowhere())


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _check_address_space() -> None:
    """Exit if libraries could not be loaded, or would end the process without a message."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit not in (resource.RLIM_INFINITY, -1) and limit < _LEAST_SPACE:
        need, has = _LEAST_SPACE >> 20, limit >> 20
        print(
            f"covote: {has:,} MB of address space is too little; covote needs {need:,} MB (raise ulimit -v)",
            file=sys.stderr,
        )
        sys.exit(2)


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, b"covote: interrupted\n")
    os._exit(INTERRUPTED)


def _accept_any_letter() -> None:
    """Replace characters that the output encoding lacks, instead of failing."""
    codecs.register_error("covote", _other_letters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="covote")


def _other_letters(error: UnicodeError) -> tuple[str, int]:
    """Return replacements for characters that cannot be encoded.

    >>> codecs.register_error("other letters", _other_letters)
    >>> "■ · 皮".encode("ascii", "other letters")
    b'# . ?'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in text), error.end


def _announce() -> None:
    """Explain once, on a terminal, why this run takes longer than the next."""
    from covote import compiled

    compiled.announce = None
    if sys.stderr.isatty():
        print("Compiling for this machine (first run only, a few seconds).", file=sys.stderr)
