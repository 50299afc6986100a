"""Run many cases in child processes in which a crash counts: ``python -m tests.fuzz.driver 20000``.

Where every index of compiled loops is to be checked, and those loops are to run even for a few votes::

    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=/tmp/checked python -m tests.fuzz.driver 2000 --mode compiled

A child runs a chunk of cases and says which one it is at. One that dies (a signal, or a case without end)
leaves the number of that case, and a new child goes on behind it.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import functools
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PATIENCE = 20
"""Seconds of computing that a case may take."""
HANGS = 300
"""Seconds after which a child is ended."""
CHUNK = 250


def verdict(number: int, what: str, folder: Path) -> tuple[str, str | None]:
    """Run a case in an empty folder; return its kind and what is wrong, None if nothing is."""
    from tests.fuzz import cases, exports, oracle

    case = cases.make(number, folder, what)
    before = digests(folder)
    status, said = run(case.argv, case.typed)
    after = digests(folder)
    output = folder / "labels.parquet"
    untouched = before.pop(output.name) == after.pop(output.name, None)
    if isinstance(status, str):
        return case.kind, f"traceback: {status}"
    if after != before:
        return (
            case.kind,
            f"files that are new, changed or lost: {sorted(set(after) ^ set(before)) or 'changed'}",
        )
    if status in (2, 3):  # a mistake in the files, or no expert can answer about them
        if not untouched:
            return case.kind, "refused, but the output was touched"
        lines = [line for line in said.strip().splitlines() if not line.startswith("Trusted to run code")]
        if len(lines) != 1 or not lines[0].startswith("covote: "):
            return case.kind, f"not one line: {said!r}"
        return f"{case.kind}, refused", None
    if status != 0:
        return case.kind, f"exit status {status}: {said[-300:]!r}"
    if case.votes is not None and case.panel is not None:
        return f"{case.kind}, accepted", oracle.disagreement(
            case.votes, case.panel, output, "drop" in case.argv, "loose" in case.argv,
            "authority" in case.argv,
        )  # fmt: skip
    if case.export is not None:
        return f"{case.kind}, accepted", exports.disagreement(case.export, output, "loose" in case.argv)
    if case.same is not None and output.read_bytes() != case.same:
        return case.kind, "other labels than before"
    return f"{case.kind}, accepted", None


def digests(folder: Path) -> dict[str, bytes]:
    """Return the checksums of the files of a folder, without what `label` and `ask` keep."""
    files = (
        path
        for path in folder.iterdir()
        if path.is_file() and ".answers.sqlite" not in path.name and path.name != "state.npz"
    )
    return {path.name: hashlib.sha256(path.read_bytes()).digest() for path in files}


def run(argv: list[str], typed: str = "") -> tuple[int | str, str]:
    """Return the exit status of a command in this process, or the exception that it let pass; and stderr."""
    import traceback
    import warnings

    import typer.main

    from covote.cli import main

    # Typer makes all commands anew for every call, which takes longer than most of them.
    if not hasattr(typer.main.get_command, "cache_info"):
        typer.main.get_command = functools.cache(typer.main.get_command)

    errors = io.StringIO()
    arguments, sys.argv = sys.argv, ["covote", *argv]
    keyboard, sys.stdin = sys.stdin, io.StringIO(typed)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(errors),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            main()
        return 0, errors.getvalue()
    except SystemExit as end:
        code = end.code
        return (code if isinstance(code, int) else 0 if code is None else 1), errors.getvalue()
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)
        ours = [f for f in where if "/covote/" in f.filename] or where
        return (
            f"{type(error).__name__}: {str(error)[:200]} at {Path(ours[-1].filename).name}:{ours[-1].lineno}",
            errors.getvalue(),
        )
    finally:
        sys.argv, sys.stdin = arguments, keyboard
        sys.modules.pop("fuzzed_experts", None)


def child(first: int, last: int, what: str, mode: str) -> None:
    """Run the cases first..last-1, a line of JSON for each before and after."""
    from covote import compiled

    say = os.fdopen(os.dup(1), "w")
    with compiled.kernel_mode(mode):
        for number in range(first, last):
            folder = Path(tempfile.mkdtemp(prefix="covote-fuzz-"))
            print(json.dumps([number]), file=say, flush=True)
            faulthandler.dump_traceback_later(HANGS, exit=True)
            started = time.process_time()
            try:
                kind, wrong = verdict(number, what, folder)
                if time.process_time() - started > PATIENCE:
                    # Some loops may have been compiled; the second time they are there.
                    shutil.rmtree(folder)
                    folder.mkdir()
                    started = time.process_time()
                    kind, wrong = verdict(number, what, folder)
                    if time.process_time() - started > PATIENCE:
                        wrong = f"took more than {PATIENCE} s"
            except Exception as error:
                import traceback

                kind, wrong = "harness", f"{error!r} {traceback.format_exc()[-500:]}"
            faulthandler.cancel_dump_traceback_later()
            shutil.rmtree(folder)
            print(
                json.dumps([number, kind, wrong, round(time.process_time() - started, 2)]),
                file=say,
                flush=True,
            )


def chunk(first: int, last: int, what: str, mode: str) -> list[tuple[int, str, str | None]]:
    """Run cases in child processes, a new one behind each crash; return (number, kind, what is wrong)."""
    found: list[tuple[int, str, str | None]] = []
    while first < last:
        ran = subprocess.run(
            [
                *(sys.executable, "-m", "tests.fuzz.driver", "--child", str(first), str(last)),
                *("--what", what, "--mode", mode),
            ],
            capture_output=True, text=True, check=False, env={**os.environ, "PYTHONHASHSEED": "0"},
        )  # fmt: skip
        lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("[")]
        found += [(line[0], line[1], line[2]) for line in lines if len(line) > 1]
        done = {line[0] for line in lines if len(line) > 1}
        begun = [line[0] for line in lines if len(line) == 1]
        if not begun:
            raise RuntimeError(ran.stderr[-2000:])
        if begun[-1] not in done:
            found.append(
                (begun[-1], "process", f"crash or hang, status {ran.returncode}: {ran.stderr[:600]}")
            )
        first = begun[-1] + 1
    return found


def campaign(
    first: int, count: int, what: str = "files", mode: str = "auto", jobs: int = 2
) -> tuple[Counter[str], list[tuple[int, str, str]]]:
    """Run `count` cases; return how many of each kind there were, and the failures."""
    kinds: Counter[str] = Counter()
    failures = []
    starts = range(first, first + count, CHUNK)
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda n: chunk(n, min(n + CHUNK, first + count), what, mode), starts):
            for number, kind, wrong in found:
                kinds[kind] += 1
                if wrong is not None:
                    failures.append((number, kind, wrong))
                    print(f"case {number} ({kind}): {wrong}", file=sys.stderr, flush=True)
    return kinds, failures


def main() -> None:
    """Run a campaign, or one child of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--what", default="files", choices=["files", "states", "exports"])
    parser.add_argument("--mode", default="auto", choices=["auto", "plain", "compiled"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--child", nargs=2, type=int)
    options = parser.parse_args()
    if options.child:
        child(*options.child, options.what, options.mode)
        return
    started = time.monotonic()
    kinds, failures = campaign(options.first, options.count, options.what, options.mode, options.jobs)
    for kind, count in sorted(kinds.items()):
        print(f"{count:6d}  {kind}")
    print(f"{sum(kinds.values())} cases, {len(failures)} failures, {time.monotonic() - started:.0f} s")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
