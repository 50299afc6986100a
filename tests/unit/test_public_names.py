"""The public surface, and what importing it costs."""

import subprocess
import sys

import covote

HEAVY = ["numba", "scipy", "sklearn", "matplotlib", "pyarrow", "duckdb", "pandas", "rich", "typer", "ortools"]


def test_every_public_name_is_there_and_documented():
    for name in covote.__all__:
        thing = getattr(covote, name)
        assert name == "__version__" or thing.__doc__


def test_import_covote_loads_nothing_heavy():
    code = f"import sys, covote; print([name for name in {HEAVY!r} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
