"""The settings of the library's tests hold here, too."""

from tests.conftest import own_settings  # noqa: F401
