"""The public surface, and what importing it costs."""

import importlib
import pkgutil
import subprocess
import sys

import covote

PUBLIC = {
    "Asker",
    "Certificate",
    "CovoteError",
    "Labels",
    "Panel",
    "PanelClassifier",
    "ReadOptions",
    "Votes",
    "__version__",
    "compare",
    "complete",
    "decode",
    "decode_file",
    "design",
    "expert_report",
    "explain",
    "label",
    "label_file",
    "pair_agreement",
    "select",
    "simulate",
    "write_report",
}
HEAVY = [
    "numpy", "numba", "scipy", "sklearn", "matplotlib", "pyarrow", "duckdb", "pandas", "rich", "typer",
]  # fmt: skip


def test_the_public_names_are_these():
    assert set(covote.__all__) == PUBLIC
    assert set(dir(covote)) == PUBLIC


def test_every_public_name_is_there_and_documented():
    for name in PUBLIC - {"__version__"}:
        assert getattr(covote, name).__doc__


def test_no_module_bears_the_name_of_a_public_name():
    modules = [module.name for module in pkgutil.iter_modules(covote.__path__)]
    assert not PUBLIC & set(modules)
    for name in set(modules) - {"__main__"}:
        assert importlib.import_module(f"covote.{name}").__name__ == f"covote.{name}"


def test_a_name_that_is_not_there_is_an_attribute_error():
    assert not hasattr(covote, "decide")


def test_import_covote_loads_nothing_heavy():
    code = f"import sys, covote; print([name for name in {HEAVY!r} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
