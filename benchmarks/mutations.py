"""Change the library at random places and count how many of the changes a test notices.

    python benchmarks/mutations.py --count 300 --seed 1 -o mutations.json

Every mutation is made in a copy of the repository, and the tests of its part are run until one fails: the
examples of the module, tests/unit/PART, tests/property and tests/theory. A survivor is printed with its line;
whether it changes behaviour at all is for a reader to judge (`equivalent` in results/mutations.md).
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS = 600
FLIPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def mutants(tree):
    """Yield (kind, node, change) for every place that can be changed; `change` changes the tree in place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED:
            yield "comparison", node, lambda n=node: n.ops.__setitem__(0, FLIPPED[type(n.ops[0])]())
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in FLIPPED:
            yield "operator", node, lambda n=node: setattr(n, "op", FLIPPED[type(n.op)]())
        elif isinstance(node, ast.If | ast.IfExp | ast.While) and not names_type_checking(node.test):
            yield "condition", node, lambda n=node: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield "constant", node, lambda n=node: setattr(n, "value", n.value + 1)
        elif isinstance(node, ast.Return) and node.value is not None and not is_constant(node.value):
            yield "result", node, lambda n=node: setattr(n, "value", ast.Constant(None))


def names_type_checking(test):
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def is_constant(node):
    return isinstance(node, ast.Constant)


def tests_of(module, folder):
    """Return what pytest runs for a module of src/covote."""
    part = module.relative_to("src/covote").parts[0]
    own = [folder / "tests/unit" / part, folder / "tests/unit" / f"test_{Path(part).stem}.py"]
    wide = [folder / "tests" / name for name in ("property", "theory")]
    return [str(p) for p in (folder / module, *own, *wide) if p.exists()]


def noticed(module, folder):
    """Run the tests of a module until one fails, and return whether one did."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'src'}:{folder}"}
    try:
        run = subprocess.run(
            [*command, *tests_of(module, folder)],
            cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    return run.returncode != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="", help="a package, for example decoding (default: all)")
    parser.add_argument("-o", "--output", type=Path, help="continue in this file if it exists")
    options = parser.parse_args()
    chosen = random.Random(options.seed)
    places = [
        (module.relative_to(ROOT), index)
        for module in sorted((ROOT / "src/covote" / options.part).rglob("*.py"))
        for index, _ in enumerate(mutants(ast.parse(module.read_text())))
    ]
    found = json.loads(options.output.read_text()) if options.output and options.output.exists() else []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in ("src", "tests", "docs", "examples", "pyproject.toml", "README.md", "CONTRIBUTING.md"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name)
        for module, index in chosen.sample(places, options.count)[len(found) :]:
            text = (ROOT / module).read_text()
            tree = ast.parse(text)
            kind, node, change = list(mutants(tree))[index]
            line = text.splitlines()[node.lineno - 1].strip()
            change()
            (folder / module).write_text(ast.unparse(ast.fix_missing_locations(tree)))
            found.append(
                {"module": str(module), "line": node.lineno, "kind": kind, "text": line,
                 "noticed": noticed(module, folder)}
            )  # fmt: skip
            shutil.copy(ROOT / module, folder / module)
            if not found[-1]["noticed"]:
                print(f"survived: {module}:{node.lineno} ({kind}) {line}", flush=True)
            if options.output:
                options.output.write_text(json.dumps(found, indent=1))
    counts = Counter(one["noticed"] for one in found)
    print(f"{counts[True]} of {len(found)} mutations were noticed, {counts[False]} survived.")


if __name__ == "__main__":
    main()
