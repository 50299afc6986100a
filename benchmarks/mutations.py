"""Change the library at random places and count how many of the changes a test notices.

    python benchmarks/mutations.py --count 300 --seed 1 -o mutations.json

Every mutation is made in a copy of the repository. The tests that could notice it are run until one fails:
the examples of the module, then the test files that are about it or use its names, those of its part first,
for at most --seconds of computing. At the end, the tests that failed are run on the library as it is, where
they have to pass. A survivor is printed with its line; whether it changes behaviour at all is for a reader to
judge (results/mutations.md). The file of -o keeps what was found; the next start goes on behind it.
"""

import argparse
import ast
import compileall
import importlib
import json
import os
import py_compile
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "docs", "examples", "pyproject.toml", "README.md", "CONTRIBUTING.md")
FLIPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
SHOWN_IN = {
    "asking": ("e2e/test_ask_command.py",),
    "cli": ("e2e/test_every_command.py", "e2e/test_cli.py"),
    "covers": ("theory/test_small_covers.py",),
    "files": ("e2e/test_decode_command.py", "e2e/test_decode_summary.py", "e2e/test_workbooks.py"),
    "labelling": ("e2e/test_label_command.py", "e2e/test_files_that_change.py"),
    "models": ("e2e/test_label_command.py", "e2e/test_label_with_chat.py"),
    "tables": ("people", "e2e/test_names_in_votes.py", "e2e/test_workbooks.py", "e2e/test_hostile_input.py"),
    "votes": ("people", "e2e/test_names_in_votes.py", "e2e/test_hostile_input.py"),
}
"""Tests that show what a package does without naming it: they run commands and read files."""
UNNOTICED, HUNG, IMPORT = 0, 7, 8
UNUSED = ("cacheprovider", "schemathesis", "playwright", "xdist", "pytest_cov")
"""Plugins of pytest that would be loaded for every mutation."""
TEST_SECONDS = 30
"""Computing that one test may take: with a mutation, some loops never end."""


def mutants(tree):
    """Yield (kind, node, change) for every place that can be changed; `change` changes the tree in place."""
    for node in code(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED:
            yield "comparison", node, lambda n=node: n.ops.__setitem__(0, FLIPPED[type(n.ops[0])]())
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in FLIPPED:
            yield "operator", node, lambda n=node: setattr(n, "op", FLIPPED[type(n.op)]())
        elif isinstance(node, ast.If | ast.IfExp | ast.While) and not names_type_checking(node.test):
            yield "condition", node, lambda n=node: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield "constant", node, lambda n=node: setattr(n, "value", n.value + 1)
        elif (
            isinstance(node, ast.Return)
            and node.value is not None
            and not isinstance(node.value, ast.Constant)
        ):
            yield "result", node, lambda n=node: setattr(n, "value", ast.Constant(None))


def code(node):
    """Yield the nodes of a tree that are run: no annotations, which are never evaluated."""
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from code(child)


def names_type_checking(test):
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def tests_of(module):
    """Return what pytest runs for a module of src/covote, what is most likely to notice a change first."""
    part, stem = Path(*module.parts[2:]).parts[0].removesuffix(".py"), module.stem
    dotted = ".".join(module.with_suffix("").parts[1:]).removesuffix(".__init__")
    tree = ast.parse((ROOT / module).read_text())
    names = [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name[0] != "_"]
    words = [dotted, *(name for name in names if len(name) > 4)]
    about = re.compile(r"\b(" + "|".join(map(re.escape, words)) + r")\b")
    ranked = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        text, place = file.read_text(), file.relative_to(ROOT)
        is_own = file.parent.name == part or file.stem == f"test_{part}"
        near = (
            4 * (stem in file.stem) + 2 * is_own + (file.parent.name in ("unit", "property")),
            len(about.findall(text)),
        )
        if is_own or near[1]:
            ranked.append((near, str(place)))
    found = [str(module), *(place for _, place in sorted(ranked, reverse=True))]
    shown = [f"tests/{place}" for place in SHOWN_IN.get(part, ()) if f"tests/{place}" not in found]
    return [*found, *shown]


class Limits:
    """A plugin of pytest: ends the process when a test hangs, or when the tests have taken long enough."""

    def __init__(self, seconds, log):
        self.end, self.log = time.process_time() + seconds, log
        signal.signal(signal.SIGPROF, lambda *_: self._leave(HUNG, "a test that hangs"))

    def _leave(self, status, why):
        self.log.write_text(why)
        os._exit(status)

    def pytest_runtest_logstart(self, nodeid):
        if time.process_time() > self.end:
            self._leave(UNNOTICED, "")
        signal.setitimer(signal.ITIMER_PROF, TEST_SECONDS)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.log.write_text(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.log.write_text(f"{report.nodeid} (import)")


def run_pytest(folder, tests, limits):
    """Run tests in this process, without output; return pytest's status."""
    import pytest

    os.setpgrp()
    os.chdir(folder)
    sys.path[:0] = [str(folder / "src"), str(folder)]
    os.environ["PYTHONPATH"] = f"{folder / 'src'}:{folder}"
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    import covote  # noqa: F401  # else pytest makes a second module of the one whose examples it runs

    options = ["-q", "-x", "-m", "not slow", f"--basetemp={folder / 'tmp'}"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what was loaded before the fork
    options += [word for name in UNUSED for word in ("-p", f"no:{name}")]
    return int(pytest.main([*options, *tests], plugins=[limits]))


def tested(folder, tests, seconds):
    """Run tests in a forked process until one fails; return which one, None if none did."""
    log = folder / "failed.txt"
    log.write_text("")
    child = os.fork()
    if not child:
        try:
            status = run_pytest(folder, tests, Limits(seconds, log))
        except BaseException as error:
            log.write_text(f"import: {error!r}")
            status = IMPORT
        os._exit(status)
    limit = time.monotonic() + 40 * seconds
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < limit:
        time.sleep(0.02)
    if ended == (0, 0):
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "a wait without end"
    status = os.waitstatus_to_exitcode(ended[1])
    return None if status == UNNOTICED else log.read_text() or f"status {status}"


def copied(folder):
    """Copy the repository; compiled modules are recognised by what is in them, not by their time."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(folder / "src", quiet=1, force=True, invalidation_mode=mode)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="", help="a package, for example decoding (default: all)")
    parser.add_argument("--seconds", type=float, default=60, help="computing for each mutation")
    parser.add_argument("-o", "--output", type=Path, required=True, help="continue in this file if it exists")
    options = parser.parse_args()
    # What every forked process would load again.
    for name in (
        "hypothesis",
        "numba",
        "pyarrow.parquet",
        "pytest",
        "scipy.stats",
        "sklearn.linear_model",
        "typer",
    ):
        importlib.import_module(name)

    places = [
        (module.relative_to(ROOT), index)
        for module in sorted((ROOT / "src/covote" / options.part).rglob("*.py"))
        for index, _ in enumerate(mutants(ast.parse(module.read_text())))
    ]
    chosen = random.Random(options.seed).sample(places, options.count)
    found = json.loads(options.output.read_text()) if options.output.exists() else []
    with tempfile.TemporaryDirectory(prefix="covote-mutations-") as temporary:
        folder = Path(temporary)
        copied(folder)
        os.environ["NUMBA_CACHE_DIR"] = str(folder / "numba")
        for module, index in chosen[len(found) :]:
            text = (ROOT / module).read_text()
            tree = ast.parse(text)
            kind, node, change = list(mutants(tree))[index]
            line = text.splitlines()[node.lineno - 1].strip()
            change()
            (folder / module).write_text(ast.unparse(ast.fix_missing_locations(tree)))
            failed = tested(folder, tests_of(module), options.seconds)
            shutil.copy2(ROOT / module, folder / module)
            found.append(
                {"module": str(module), "line": node.lineno, "kind": kind, "text": line, "failed": failed}
            )
            if failed is None:
                print(f"survived: {module}:{node.lineno} ({kind}) {line}", flush=True)
            options.output.write_text(json.dumps(found, indent=1))
        names = sorted({one["failed"] for one in found if "::" in (one["failed"] or "")})
        wrong = tested(folder, names, 1e6) if names else None
        if wrong is not None:
            print(f"fails without a mutation, too: {wrong}")
    counts = Counter(one["failed"] is not None for one in found)
    print(f"{counts[True]} of {len(found)} mutations were noticed, {counts[False]} survived.")


if __name__ == "__main__":
    main()
