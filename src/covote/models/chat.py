"""Language models behind any server that speaks the OpenAI chat-completions protocol.

llama.cpp, vLLM, Ollama, LM Studio and hosted services do. An expert's classes are shown as lettered options
in an order that is shuffled for each item, so that a liking for the first or the last option averages out.
Where the server returns log-probabilities, those of the letters become the expert's probabilities.
"""

from __future__ import annotations

import math
import os
import string
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from covote.errors import ExpertError, InputError
from covote.models.batches import Batch, size
from covote.models.connections import PATIENCE, Connections, Patience, without_password
from covote.models.kind import NUMBER, SECONDS, SWITCH, TEXT, Kind, Option, Setting, whole
from covote.models.understanding import NO_ANSWER, Answers
from covote.panel import Name
from covote.votes import NONE_OF_MINE

LETTERS = string.ascii_uppercase + string.ascii_lowercase
NONE = "none of these"
PROMPT = """{item}

Which of these fits best?
{classes}
{examples}
Answer with the letter of one option, and nothing else."""
_TOP = 20  # log-probabilities that are asked for: the most that hosted services give
_FLOOR = -12.0  # the log-probability of an option that is not among them
_TOKENS = 12  # of an answer: a letter, with whatever a server puts around it


class Usage(NamedTuple):
    """What calls have cost: their number, tokens in and out, and money."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

    def plus(self, other: Usage) -> Usage:
        """Return both together."""
        return Usage(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cost + other.cost,
        )


@dataclass(frozen=True)
class Said:
    """What the server said to one request: a text, and log-probabilities of letters where it chose one."""

    text: str
    scores: Mapping[str, float]
    usage: Usage


class Chat:
    """One expert of a panel, asked item by item.

    Parameters
    ----------
    url
        Where the protocol begins: ``http://localhost:8080/v1``.
    knows
        The classes to choose from; the option "none of these" is added.
    name
        Which model the server shall use, if it has several.
    prompt
        The question, with ``{item}`` (all columns), ``{classes}``, ``{examples}`` and names of columns.
    describe, examples
        What the classes mean, and examples to show.
    key_env
        The environment variable with the key; the key itself is never written or shown.
    constrain
        How the server is made to choose an option: ``"json"`` (a JSON schema), ``"grammar"`` (llama.cpp), or
        ``"none"``. A server that rejects a schema is asked without one.
    probabilities, calibrate
        Whether log-probabilities are used, and whether the mean score of each option over all items is taken
        away from them: small models like some names whatever the item is.
    seed
        Seeds the orders of the options.
    in_flight, timeout, retries
        Requests that wait at a time, seconds that one may take, and how often it is tried again.
    input_price, output_price
        Of a million tokens.
    """

    classes: tuple[Any, ...] = ()

    def __init__(
        self,
        url: str,
        knows: tuple[Name, ...],
        *,
        name: str = "",
        prompt: str = PROMPT,
        describe: Mapping[str, str] | None = None,
        examples: str = "",
        key_env: str | None = None,
        constrain: str = "json",
        probabilities: bool = True,
        calibrate: bool = True,
        seed: int = 0,
        in_flight: int = 8,
        timeout: float = 60.0,
        retries: int = 3,
        input_price: float = 0.0,
        output_price: float = 0.0,
    ) -> None:
        if len(knows) >= len(LETTERS):
            raise InputError(
                f"a prompt can offer {len(LETTERS) - 1} classes, not {len(knows)}; design a panel whose "
                "experts know fewer classes each"
            )
        self._path = _address(url).path.rstrip("/") + "/chat/completions"
        self._connections = Connections(url, timeout=timeout, retries=retries, key=_key(key_env))
        self._knows, self._name, self._prompt = knows, name, prompt
        self._fields = _fields(prompt)
        self._describe, self._examples = dict(describe or {}), examples
        self._constrain, self._soft, self._seed = constrain, probabilities, seed
        self._prices = input_price / 1e6, output_price / 1e6
        self.in_flight, self.calibrate = in_flight, calibrate

    def __call__(self, batch: Batch) -> Answers:
        """Ask about every item of a batch, one after another."""
        patience = PATIENCE.get(None) or Patience()
        return joined([self._asked(patience, row) for row in rows_of(batch)])

    def prompt(self, row: Mapping[str, Any]) -> tuple[str, list[int]]:
        """Return the question about an item, and which class each option is; the last class is "none"."""
        item = "\n".join(f"{name}: {value}" for name, value in row.items()) if len(row) > 1 else ""
        item = item or str(next(iter(row.values())))
        order = np.random.default_rng([self._seed, zlib.crc32(item.encode())]).permutation(
            len(self._knows) + 1
        )
        lines = [f"{LETTERS[n]}) {self._option(k)}" for n, k in enumerate(order.tolist())]
        given = {**row, "item": item, "classes": "\n".join(lines), "examples": self._examples}
        missing = [name for name in self._fields if name not in given]
        if missing:
            raise ExpertError(
                f"has a prompt with {{{missing[0]}}}, which is not a column of the data (they have: "
                f"{', '.join(map(str, row))})"
            )
        return self._prompt.format_map(given), order.tolist()

    def _option(self, k: int) -> str:
        if k == len(self._knows):
            return NONE
        name = str(self._knows[k])
        return f"{name}: {self._describe[name]}" if name in self._describe else name

    def _asked(self, patience: Patience, row: Mapping[str, Any]) -> Answers:
        """Ask about an item, and once more if the answer is not an option; the mistake is quoted then."""
        question, order = self.prompt(row)
        letters = LETTERS[: len(order)]
        messages = [{"role": "user", "content": question}]
        used = Usage()
        for _ in range(2):
            said = self._sent(patience, messages, letters)
            used = used.plus(said.usage)
            letter = _letter(said.text, letters)
            if letter is not None:
                scores = None
                if said.scores:
                    scores = np.full((1, len(order)), _FLOOR, dtype=np.float32)
                    for n, k in enumerate(order):
                        scores[0, k] = max(said.scores.get(letters[n], _FLOOR), _FLOOR)
                return chosen(order[letters.index(letter)], scores, len(self._knows), used)
            wrong = " ".join(said.text.split())[:80]
            again = f"{wrong!r} is not one of the options. Answer with one letter: {', '.join(letters)}."
            messages = [
                messages[0],
                {"role": "assistant", "content": said.text[:200]},
                {"role": "user", "content": again},
            ]
        note = f"answered {self._connections.without_key(wrong)!r}, which is not one of its options"
        return Answers(np.array([NO_ANSWER]), None, note, None, used)

    def _sent(self, patience: Patience, messages: list[dict[str, str]], letters: str) -> Said:
        body: dict[str, Any] = {"messages": messages, "max_tokens": _TOKENS, "temperature": 0}
        if self._name:
            body["model"] = self._name
        if self._soft:
            body |= {"logprobs": True, "top_logprobs": _TOP}
        if self._constrain == "grammar":
            body["grammar"] = f"root ::= [{letters}]"
        elif self._constrain == "json":
            schema = {"type": "string", "enum": list(letters)}
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "option", "strict": True, "schema": schema},
            }
        try:
            found = self._connections.json(patience, "POST", self._path, body)
        except ExpertError as error:
            if self._constrain == "json" and "with status 400" in str(error):
                self._constrain = "none"  # it does not know schemas
                return self._sent(patience, messages, letters)
            raise
        return self._read(found, letters)

    def _read(self, found: Any, letters: str) -> Said:
        try:
            choice = found["choices"][0]
            text = choice["message"]["content"] or ""
            usage = found.get("usage") or {}
            used = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
            tokens = (choice.get("logprobs") or {}).get("content") or []
            scores = _scores(tokens, letters) if self._soft else {}
            if not isinstance(text, str):
                raise TypeError("the content is not text")
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ExpertError(
                "answered something that is not a chat completion; does the address end in /v1?"
            ) from error
        return Said(text, scores, Usage(1, *used, self.price(*used)))

    def price(self, tokens_in: int, tokens_out: int) -> float:
        """Return what these numbers of tokens cost."""
        return tokens_in * self._prices[0] + tokens_out * self._prices[1]


def rows_of(batch: Batch) -> list[dict[str, Any]]:
    """Return the items of a table as one mapping each, from columns to values."""
    if not isinstance(batch, Mapping):
        raise ExpertError("takes the columns of a table, but the data are an array or images")
    return [{name: column[n] for name, column in batch.items()} for n in range(size(batch))]


def chosen(option: int, scores: NDArray[np.float32] | None, known: int, used: Usage) -> Answers:
    """Return the answer to one item: a class, or "none of mine" for the last option."""
    label = np.array([option if option < known else NONE_OF_MINE])
    if scores is None:
        return Answers(label, None, "", None, used)
    return Answers(*from_scores(scores), "", scores, used)


def from_scores(scores: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return labels and probabilities (items x classes) from the scores of options, the last being "none"."""
    chance = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
    chance /= chance.sum(axis=1, keepdims=True)
    label = np.argmax(chance, axis=1)
    label[label == scores.shape[1] - 1] = NONE_OF_MINE
    return label, chance[:, :-1].astype(np.float32)


def calibrated(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return scores (items x options) without the mean of each option: what it gets whatever the item is.

    Z. Zhao, E. Wallace, S. Feng, D. Klein and S. Singh (2021), "Calibrate before use", with the items
    themselves in place of an empty one.

    >>> calibrated(np.array([[0.0, -2.0], [0.0, -4.0]], dtype=np.float32)).tolist()
    [[0.0, 1.0], [0.0, -1.0]]
    """
    return np.asarray(scores - scores.mean(axis=0, keepdims=True), dtype=np.float32)


def joined(parts: list[Answers]) -> Answers:
    """Return the answers to several items as one."""
    if len(parts) == 1:
        return parts[0]
    soft = [part.probability for part in parts if part.probability is not None]
    scores = [part.scores for part in parts if part.scores is not None]
    used = [part.usage for part in parts if part.usage is not None]
    return Answers(
        np.concatenate([part.label for part in parts]),
        np.concatenate(soft) if len(soft) == len(parts) else None,
        next((part.note for part in parts if part.note), ""),
        np.concatenate(scores) if len(scores) == len(parts) else None,
        reduce(Usage.plus, used) if used else None,
    )


def _letter(text: str, letters: str) -> str | None:
    """Return the option that an answer names, strictly: the letter alone, in quotes, or with a bracket."""
    bare = text.strip().strip("\"'`*").strip()
    bare = bare.rstrip(").:").lstrip("(")
    return bare if len(bare) == 1 and bare in letters else None


def _scores(tokens: Any, letters: str) -> dict[str, float]:
    """Return the log-probability of each letter at the first token that is one."""
    for token in tokens:
        if _letter(str(token["token"]), letters) is None:
            continue
        found: dict[str, float] = {}
        for one in token.get("top_logprobs") or []:
            letter = _letter(str(one["token"]), letters)
            value = float(one["logprob"])
            if letter is not None and value == value:
                found[letter] = float(np.logaddexp(found.get(letter, -math.inf), value))
        return found
    return {}


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


def _address(url: str) -> Any:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:
        pass
    raise InputError(
        f'model "chat:{without_password(url)}" is not understood; the address of a chat server looks like '
        "chat:http://localhost:8080/v1"
    )


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InputError(f"the environment variable {variable} (key_env) is not set; put the key there")
    return key


def _open(place: str, setting: Setting, **options: Any) -> Chat:
    return Chat(place.removeprefix("chat:"), setting.knows, **options)


PRICE = Option(lambda value: NUMBER.accepts(value) and value >= 0, "a price of a million tokens, 0 or more")
CHAT = Kind(
    "chat",
    _open,
    {
        "name": TEXT,
        "prompt": TEXT,
        "describe": Option(
            lambda value: isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values()),
            'a table, as describe = { class = "what it means" }',
        ),
        "examples": TEXT,
        "key_env": TEXT,
        "constrain": Option(lambda value: value in ("json", "grammar", "none"), "json, grammar or none"),
        "probabilities": SWITCH,
        "calibrate": SWITCH,
        "seed": whole(0),
        "in_flight": whole(1),
        "timeout": SECONDS,
        "retries": whole(0),
        "input_price": PRICE,
        "output_price": PRICE,
    },
    remote=True,
)
