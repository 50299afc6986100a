"""The options of a prompt: how a language model is asked to choose one, and what its answer says about each.

An expert's classes are listed by name, in an order that is shuffled, and "none of these" is one of them.
Where the server returns log-probabilities, every option gets a probability: that of the model's answer if it
may say nothing but options. Servers constrain the text of an answer, but not the log-probabilities that they
return, so these are divided by the sum over all continuations that spell an option.
"""

from __future__ import annotations

import json
import math
import re
import string
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import ExpertError, InputError
from covote.panel import Name
from covote.votes import NONE_OF_MINE

NONE = "none of these"
PROMPT = """Which of these fits best?
{classes}

{item}

Answer with the name of one option, and nothing else."""
_AROUND = " \t\r\n\"'`*"  # what models and servers put around an answer
_BEHIND = re.compile(r"""(<[^<>]*>|[\s"'`*.])+$""")  # and behind it, with the marks that end a turn
_LAST = chr(0x10FFFF)  # sorts behind every other character
TokenProbabilities = dict[str, dict[str, float]]
"""The probabilities of what an answer goes on with (the beginning with a token more), by its beginning."""
_LEAST = 1e-30  # probability of an option: a server may return a log-probability of -9999


class Options:
    """The classes of an expert as a prompt offers them.

    Parameters
    ----------
    knows
        The classes; the option "none of these" is added as the last one.
    prompt
        The question, with ``{item}`` (all columns), ``{classes}`` and names of columns.
    describe
        What the classes mean.
    seed, shuffle
        Seeds the order of the options, which is another one for each item, or the same for all.
    """

    def __init__(
        self,
        knows: Sequence[Name],
        prompt: str = PROMPT,
        describe: Mapping[str, str] | None = None,
        seed: int = 0,
        *,
        shuffle: bool = True,
    ) -> None:
        self.names = (*map(str, knows), NONE)
        self._folded = [name.casefold() for name in self.names]
        if len(set(self._folded)) < len(self.names):
            raise InputError("two classes have names that are the same in an answer of a language model")
        self._sorted = sorted(self._folded)
        self._place = [self._sorted.index(name) for name in self._folded]
        self._prompt, self._fields = prompt, _fields(prompt)
        described = describe or {}
        self._lines = [
            f"- {name}: {described[name]}" if name in described else f"- {name}" for name in self.names
        ]
        self._seed, self._shuffle = seed, shuffle

    def question(self, row: Mapping[str, Any]) -> str:
        """Return the question about an item, given by its columns."""
        item = "\n".join(f"{name}: {value}" for name, value in row.items()) if len(row) > 1 else ""
        item = item or str(next(iter(row.values())))
        seeds = [self._seed, zlib.crc32(item.encode())] if self._shuffle else [self._seed]
        order = np.random.default_rng(seeds).permutation(len(self.names)).tolist()
        listed = "\n".join(self._lines[k] for k in order)
        fields = {**row, "item": item, "classes": listed}
        missing = [name for name in self._fields if name not in fields]
        if missing:
            raise ExpertError(
                f"has a prompt with {{{missing[0]}}}, which is not a column of the data (they have: "
                f"{', '.join(map(str, row))})"
            )
        return self._prompt.format_map(fields)

    @property
    def schema(self) -> dict[str, Any]:
        """A JSON schema that allows only the options."""
        return {"type": "string", "enum": list(self.names)}

    @property
    def grammar(self) -> str:
        """A grammar of llama.cpp that allows only the options, with or without a space in front."""
        names = " | ".join(json.dumps(name, ensure_ascii=False) for name in self.names)
        return f'root ::= " "? ({names})'

    @property
    def tokens(self) -> int:
        """How many tokens an answer may have: the longest name, with whatever a server puts around it."""
        return 8 + max(map(len, self.names)) // 2

    def chosen(self, text: str) -> int | None:
        """Return the option that an answer names, strictly: its name, in quotes or with a full stop."""
        bare = text.strip(_AROUND).rstrip(".").strip(_AROUND).casefold()
        return self._folded.index(bare) if bare in self._folded else None

    def continuations(self, tokens: Sequence[Mapping[str, Any]]) -> TokenProbabilities:
        """Return what could follow each beginning of an answer, and how probable each continuation was.

        `tokens` are as the protocol gives them: each with its `logprob` and the `top_logprobs` at its place.
        """
        found: TokenProbabilities = {}
        text = ""
        for token in tokens:
            spelled = _spell(text, token)
            tops = [top for top in token.get("top_logprobs") or () if top["logprob"] == top["logprob"]]
            if spelled != text and tops:  # a mark in front of the answer does not count
                following = found.setdefault(text, {spelled: math.exp(token["logprob"])})
                for top in tops:
                    other = _spell(text, top)
                    if other != text and top["token"] != token["token"]:
                        following[other] = following.get(other, 0.0) + math.exp(top["logprob"])
            text = spelled
        return found | {text: found.get(text, {})} if found else found

    def scores(self, continuations: TokenProbabilities) -> NDArray[np.float32]:
        """Return the log-probability of each option.

        All options have the probability 1 together. After each beginning that is known, the share of the
        options that are still possible is divided in proportion to the probabilities of the continuations
        that spell one. Where it is not known what follows, the options that begin so share alike. An option
        that is not among the continuations counts as the least probable of them. A piece of other
        continuations that spell the same options is left out, because no answer goes on from there.
        """
        found = [0.0] * len(self.names)

        def divide(text: str, first: int, last: int, share: float) -> None:
            following = continuations.get(text)
            if last - first == 1 or not following:
                ended = following is not None  # the answer ended here, which was likelier than going on
                for k in range(first, last):
                    found[k] += (1 + (ended and k == first)) * share / (last - first + ended)
                return
            places = _whole(self._places(following, first, last), continuations)
            missing = set(range(first, last)).difference(*(range(*place) for place in places.values()))
            least = min(following.values())
            weights = [(*place, other, following[other]) for other, place in places.items()]
            weights += [(k, k + 1, "", least) for k in missing]
            total = sum(weight for *_, weight in weights)
            for start, stop, other, weight in weights:
                divide(other, start, stop, share * weight / total)

        divide("", 0, len(found), 1.0)
        return np.array([math.log(max(found[k], _LEAST)) for k in self._place], dtype=np.float32)

    def _places(self, texts: Iterable[str], first: int, last: int) -> dict[str, tuple[int, int]]:
        """Return where the options are that begin with each of some texts, if there are any."""
        places = {text: self._beginning(text, first, last) for text in texts}
        return {text: (start, stop) for text, (start, stop) in places.items() if start < stop}

    def _beginning(self, text: str, first: int, last: int) -> tuple[int, int]:
        """Return where the options are that begin with a text, or are the text without marks behind it."""
        start, stop = (bisect_left(self._sorted, end, first, last) for end in (text, text + _LAST))
        if start == stop:
            bare = _BEHIND.sub("", text)
            start = bisect_left(self._sorted, bare, first, last)
            stop = start + (start < last and self._sorted[start] == bare)
        return start, stop


def _whole(
    places: dict[str, tuple[int, int]], continuations: TokenProbabilities
) -> dict[str, tuple[int, int]]:
    """Return texts and the options that begin so, less unheard pieces of others with the same options."""
    found = {}
    for text, (start, stop) in places.items():
        longer = [
            range(*place) for other, place in places.items() if other != text and other.startswith(text)
        ]
        if text in continuations or stop - start == 1 or set(range(start, stop)).difference(*longer):
            found[text] = start, stop
    return found


def _spell(text: str, token: Mapping[str, Any]) -> str:
    """Return a text and a token together; a token without text ends a turn, which reads as a quote."""
    piece = str(token["token"]).casefold() or '"'
    return (text + piece).lstrip(_AROUND)


def from_scores(scores: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return labels and probabilities (items x classes) from the scores of options, the last being "none"."""
    probability = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
    probability /= probability.sum(axis=1, keepdims=True)
    label = np.argmax(probability, axis=1)
    label[label == scores.shape[1] - 1] = NONE_OF_MINE
    return label, probability[:, :-1].astype(np.float32)


def calibrate_scores(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return log-probabilities (items x options) less those that each option has on average over the items.

    H. Zhou, X. Wan, L. Proleev, D. Mincu, J. Chen, K. Heller and S. Roy (2024), "Batch calibration", ICLR: a
    model likes some options whatever the item is, so each probability is divided by its mean over the items.

    >>> scores = np.log(np.array([[0.9, 0.1], [0.7, 0.3]], dtype=np.float32))
    >>> np.exp(calibrate_scores(scores)).round(3).tolist()
    [[1.125, 0.5], [0.875, 1.5]]
    """
    baseline = np.log(np.exp(scores, dtype=np.float64).mean(axis=0, keepdims=True))
    return np.asarray(scores - baseline, dtype=np.float32)


def _fields(prompt: str) -> list[str]:
    try:
        parts = list(string.Formatter().parse(prompt))
    except ValueError as error:
        raise InputError(
            f"prompt is not a template: {error}; write {{{{ for a bracket of the text"
        ) from error
    fields = [name for _, name, _, _ in parts if name is not None]
    odd = [name for name in fields if not name.isidentifier()]
    if odd or any(spec or form for _, _, spec, form in parts):
        raise InputError(
            f"prompt has {{{odd[0] if odd else '...'}}}; a template has names of columns, {{item}} "
            "and {classes}, and {{ for a bracket of the text"
        )
    if "classes" not in fields:
        raise InputError("prompt does not show the options; put {classes} where they should appear")
    return fields
