"""Settings that all tests share."""

from hypothesis import settings

# The first example of a property may compile kernels: a time limit per example would fail by chance.
settings.register_profile("covote", deadline=None)
settings.load_profile("covote")
