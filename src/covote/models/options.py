"""The options of a prompt: how a language model is asked to choose one, and what its answer says about each.

An expert's classes are listed by name, in an order that is shuffled, and "none of these" is one of them.
Where the server returns log-probabilities, every option gets a score: the tokens of the answer are followed
as far as they spell the option, and where the option parts from them, the tokens that the model nearly chose
count.
"""

from __future__ import annotations

import json
import string
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import ExpertError, InputError
from covote.panel import Name
from covote.votes import NONE_OF_MINE

NONE = "none of these"
PROMPT = """Which of these fits best?
{classes}
{examples}
{item}

Answer with the name of one option, and nothing else."""
_AROUND = " \t\r\n\"'`*"  # what models and servers put around an answer


class Options:
    """The classes of an expert as a prompt offers them.

    Parameters
    ----------
    knows
        The classes; the option "none of these" is added as the last one.
    prompt
        The question, with ``{item}`` (all columns), ``{classes}``, ``{examples}`` and names of columns.
    describe, examples
        What the classes mean, and examples to show.
    seed, shuffle
        Seeds the order of the options, which is another one for each item, or the same for all.
    """

    def __init__(
        self,
        knows: Sequence[Name],
        prompt: str = PROMPT,
        describe: Mapping[str, str] | None = None,
        examples: str = "",
        seed: int = 0,
        *,
        shuffle: bool = True,
    ) -> None:
        self.names = (*map(str, knows), NONE)
        self._folded = [name.casefold() for name in self.names]
        if len(set(self._folded)) < len(self.names):
            raise InputError("two classes have names that are the same in an answer of a language model")
        self._prompt, self._fields = prompt, _fields(prompt)
        described = describe or {}
        self._lines = [
            f"- {name}: {described[name]}" if name in described else f"- {name}" for name in self.names
        ]
        self._examples, self._seed, self._shuffle = examples, seed, shuffle

    def question(self, row: Mapping[str, Any]) -> str:
        """Return the question about an item, given by its columns."""
        item = "\n".join(f"{name}: {value}" for name, value in row.items()) if len(row) > 1 else ""
        item = item or str(next(iter(row.values())))
        seeds = [self._seed, zlib.crc32(item.encode())] if self._shuffle else [self._seed]
        order = np.random.default_rng(seeds).permutation(len(self.names)).tolist()
        listed = "\n".join(self._lines[k] for k in order)
        given = {**row, "item": item, "classes": listed, "examples": self._examples}
        missing = [name for name in self._fields if name not in given]
        if missing:
            raise ExpertError(
                f"has a prompt with {{{missing[0]}}}, which is not a column of the data (they have: "
                f"{', '.join(map(str, row))})"
            )
        return self._prompt.format_map(given)

    @property
    def schema(self) -> dict[str, Any]:
        """A JSON schema that allows only an option."""
        return {"type": "string", "enum": list(self.names)}

    @property
    def grammar(self) -> str:
        """A grammar of llama.cpp that allows only an option."""
        return "root ::= " + " | ".join(json.dumps(name, ensure_ascii=False) for name in self.names)

    @property
    def tokens(self) -> int:
        """How many tokens an answer may have: the longest name, with whatever a server puts around it."""
        return 8 + max(map(len, self.names)) // 2

    def chosen(self, text: str) -> int | None:
        """Return the option that an answer names, strictly: its name, in quotes or with a full stop."""
        bare = text.strip(_AROUND).rstrip(".").strip(_AROUND).casefold()
        return self._folded.index(bare) if bare in self._folded else None

    def scores(self, tokens: Sequence[Mapping[str, Any]]) -> NDArray[np.float32] | None:
        """Return the log-probability of each option, from the tokens of an answer and their alternatives.

        `tokens` are as the protocol gives them: each with its `logprob` and the `top_logprobs` at its place.
        Of the alternatives that spell an option, the longest counts: a single letter spells many. An option
        that is not among them gets the smallest of them, which is more than it had.
        """
        found = np.zeros(len(self.names), dtype=np.float32)
        alive = list(range(len(self.names)))
        text = ""
        for token in tokens:
            tops = token.get("top_logprobs") or []
            said = (text + str(token["token"]).casefold()).lstrip(_AROUND)
            others = [
                ((text + str(one["token"]).casefold()).lstrip(_AROUND), float(one["logprob"])) for one in tops
            ]
            others = [(other, value) for other, value in others if other and value == value]
            if not others and said:
                return None
            staying = []
            for k in alive:
                if _spells(self._folded[k], said):
                    found[k] += float(token["logprob"])
                    staying.append(k)
                    continue
                near = [(len(other), value) for other, value in others if _spells(self._folded[k], other)]
                longest = max(near, default=(0, 0.0))[0]
                same = [value for length, value in near if length == longest]
                found[k] += np.logaddexp.reduce(same) if same else min(value for _, value in others)
            alive, text = staying, said
        return found if text else None


def _spells(name: str, text: str) -> bool:
    """Whether a text is the beginning of a name, or the name with marks behind it."""
    rest = text[len(name) :].strip()
    return name.startswith(text) or (text.startswith(name) and not rest[:1].isalnum())


def from_scores(scores: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return labels and probabilities (items x classes) from the scores of options, the last being "none"."""
    chance = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
    chance /= chance.sum(axis=1, keepdims=True)
    label = np.argmax(chance, axis=1)
    label[label == scores.shape[1] - 1] = NONE_OF_MINE
    return label, chance[:, :-1].astype(np.float32)


def calibrated(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return scores (items x options) without the median of each option: what it gets whatever the item is.

    Z. Zhao, E. Wallace, S. Feng, D. Klein and S. Singh (2021), "Calibrate before use", with the items
    themselves in place of an empty one. It is the median because the score of an option whose tokens were
    followed to their end can be far below its other scores.

    >>> calibrated(np.array([[0.0, -2.0], [0.0, -4.0]], dtype=np.float32)).tolist()
    [[0.0, 1.0], [0.0, -1.0]]
    """
    return np.asarray(scores - np.median(scores, axis=0, keepdims=True), dtype=np.float32)


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
            f"prompt has {{{odd[0] if odd else '...'}}}; a template has names of columns, {{item}}, "
            "{classes} and {examples}, and {{ for a bracket of the text"
        )
    if "classes" not in fields:
        raise InputError("prompt does not show the options; put {classes} where they shall stand")
    return fields
