"""Lists of methods, made from the registry: a new decoder is in the tests of all of them at once."""

from covote.decoding import DECODERS


def _options(name):
    return set(DECODERS[name].__dataclass_fields__)


PLAIN = list(DECODERS)
"""Methods that label any votes."""
LEARNING = [name for name in PLAIN if "past" in _options(name)]
"""Those that learn from the votes, and can continue tomorrow."""
ESTIMATING = [name for name in PLAIN if hasattr(DECODERS[name], "proba")]
"""Those that say how likely every class is."""
FROM_GOLD = [name for name in DECODERS if "gold" in _options(name)]
