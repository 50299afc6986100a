"""Settings and fixtures that all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a property may compile kernels: a time limit per example would fail by chance.
settings.register_profile("covote", deadline=None)
settings.load_profile("covote")

ROOT = Path(__file__).parents[1]

# Run by the Python of the second environment, whose libraries are not here.
collect_ignore = ["integration/flower_round.py"]


@pytest.fixture(autouse=True, scope="session")
def own_settings(tmp_path_factory):
    """Keep what commands remember about a person (trusted panels) out of the settings of whoever tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))
        yield


@pytest.fixture(scope="session")
def peers():
    """Return the folder of programs of the second environment: `peers / "mlserver"`, `peers / "python"`.

    COVOTE_PEERS names another environment than the one that `make peers` makes.
    """
    environment = Path(os.environ.get("COVOTE_PEERS", ROOT / ".venv" / "peers"))
    if not (environment / "bin" / "mlserver").exists():
        pytest.skip(f"no environment of peers at {environment}; `make peers` makes it")
    return environment / "bin"
