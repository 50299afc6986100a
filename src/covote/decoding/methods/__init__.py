"""The decoders, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from covote.arguments import did_you_mean
from covote.decoding.gold import Gold
from covote.decoding.loop import Decoder, checked
from covote.decoding.methods.authority import Authority
from covote.decoding.methods.em import DawidSkene, Em
from covote.decoding.methods.learned import LearnedVote
from covote.decoding.methods.likelihood import Likelihood
from covote.decoding.methods.majority import Majority
from covote.errors import InputError

DECODERS: dict[str, type[Decoder]] = {
    "learned": LearnedVote,
    "majority": Majority,
    "authority": Authority,
    "em": Em,
    "dawid-skene": DawidSkene,
    "likelihood": Likelihood,
}
"""Every method by name. A new decoder is one new file and one line here."""


def make(method: str | Decoder, options: Mapping[str, Any], gold: Gold | None = None) -> Decoder:
    """Return the decoder of that name; `options`, and `gold` if it learns, are the parameters of its class.

    A decoder object is returned unchanged.
    """
    if not isinstance(method, str):
        if options:
            raise InputError(f"{method} is a decoder already; give it {', '.join(options)} when you make it")
        return checked(method)
    if method not in DECODERS:
        near = did_you_mean(method, tuple(DECODERS))
        raise InputError(f"no method {method!r}{near}; choose one of {', '.join(DECODERS)}, auto")
    known = [field.name for field in fields(DECODERS[method])]
    for name in options:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise InputError(f"method {method!r} has no option {name!r}; it has: {listed}")
    if gold is not None and "gold" in known:
        options = {**options, "gold": gold}
    return DECODERS[method](**options)
