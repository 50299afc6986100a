"""Settings and fixtures that all tests share."""

import gc
import importlib
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Nothing here fails by chance: no example has a time limit (the first may compile kernels, the machine may be
# busy), and every run makes the same examples. `--hypothesis-profile=search` makes others in every run.
ALLOWED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("covote", deadline=None, suppress_health_check=ALLOWED, derandomize=True)
settings.register_profile("search", settings.get_profile("covote"), derandomize=False)
settings.load_profile("covote")

# A fifth of the time went into looking for garbage among what the modules hold, half a million objects.
gc.disable()

# Where the tests run in the background, Ctrl-C is switched off for all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[1]

# Run by the Python of the second environment, whose libraries are not here.
collect_ignore = ["integration/flower_round.py"]


def pytest_collection_finish():
    """Look for garbage again, but no longer among what has been loaded."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure():
    """Let Python clear up everything at its end; DuckDB complains about what is left."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Undo after each test what a command in this process sets for the processes that it starts."""
    monkeypatch.setenv("PYTHONSAFEPATH", "")


def benchmark(name):
    """Import a program of the benchmarks, which are not a package and must not hide other modules."""
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


@pytest.fixture(scope="session")
def peers():
    """Return the folder of programs of the second environment: `peers / "mlserver"`, `peers / "python"`.

    COVOTE_PEERS names another environment than the one that `make peers` makes.
    """
    environment = Path(os.environ.get("COVOTE_PEERS", ROOT / ".venv" / "peers"))
    if not (environment / "bin" / "mlserver").exists():
        pytest.skip(f"no environment of peers at {environment}; `make peers` makes it")
    return environment / "bin"
