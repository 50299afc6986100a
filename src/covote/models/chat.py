"""Language models behind any server that speaks the OpenAI chat-completions protocol.

llama.cpp, vLLM, Ollama, LM Studio and hosted services do. What is asked and how answers are understood is in
:mod:`covote.models.prompts`.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Mapping
from functools import reduce
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from covote.errors import ExpertError, InputError
from covote.models.batches import Batch, size
from covote.models.connections import REQUESTS, Connections, RequestGroup, without_password
from covote.models.kind import NUMBER, SECONDS, SWITCH, TEXT, Kind, Option, Setting, whole
from covote.models.prompts import PROMPT, Options, TokenProbabilities, from_scores
from covote.models.understanding import NO_ANSWER, ModelAnswers
from covote.panel import Name
from covote.votes import NONE_OF_MINE

_LETTERS, _ANSWER = 4, 6  # letters of a token and tokens of an answer, about


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


class RateLimit:
    """A number of tokens per second that the calls of all threads together keep to."""

    def __init__(self, tokens: float) -> None:
        self._tokens, self._free, self._lock = tokens, 0.0, threading.Lock()

    def wait(self, group: RequestGroup, tokens: float) -> None:
        """Wait until a call with this many tokens may begin."""
        with self._lock:
            now = time.monotonic()
            start = max(now, self._free)
            self._free = start + tokens / self._tokens
        if start > now:
            group.pause(start - now)


class Chat:
    """One expert of a panel, asked item by item.

    Parameters
    ----------
    url
        Where the protocol begins: ``http://localhost:8080/v1``.
    knows, prompt, describe, seed, shuffle
        What is asked; see :class:`covote.models.prompts.Options`.
    name
        Which model the server shall use, if it has several.
    key_env
        The environment variable with the key; the key itself is never written or shown.
    constrain
        How the server is made to choose an option: ``"json"`` (a JSON schema), ``"grammar"`` (llama.cpp), or
        ``"none"``. A server that rejects a schema is asked without one.
    probabilities, top_logprobs, calibrate
        Whether log-probabilities are used, how many at each token, and whether the probability of an option
        is divided by its mean over all items: small models like some names whatever the item is.
    in_flight, tokens_per_minute, timeout, retries
        Requests that wait at a time, tokens that may be sent and received in a minute (about), seconds that
        one request may take, and how often it is tried again.
    extra
        What else goes into every request, as the server has it: ``{"reasoning_effort": "low"}``.
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
        seed: int = 0,
        shuffle: bool = True,
        key_env: str | None = None,
        constrain: str = "json",
        probabilities: bool = True,
        top_logprobs: int = 20,
        calibrate: bool = True,
        in_flight: int = 8,
        tokens_per_minute: int | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        input_price: float = 0.0,
        output_price: float = 0.0,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._path = _address(url).path.rstrip("/") + "/chat/completions"
        self._connections = Connections(url, timeout=timeout, retries=retries, key=_key(key_env))
        self.options = Options(knows, prompt, describe, seed, shuffle=shuffle)
        self._request: dict[str, Any] = {"temperature": 0}
        if name:
            self._request["model"] = name
        if probabilities:
            self._request |= {"logprobs": True, "top_logprobs": top_logprobs}
        self._request |= extra or {}
        self._rate = None if tokens_per_minute is None else RateLimit(tokens_per_minute / 60)
        self._constrain = constrain
        self._prices = input_price / 1e6, output_price / 1e6
        self.in_flight, self.calibrate = in_flight, calibrate

    def __call__(self, batch: Batch) -> ModelAnswers:
        """Ask about every item of a batch, one after another."""
        group = REQUESTS.get(None) or RequestGroup()
        return join_answers([self.ask_about(group, row) for row in rows_of(batch)])

    def request(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the call about an item as batch services take it: method, path and content."""
        body = self._body([{"role": "user", "content": self.options.question(row)}])
        return {"method": "POST", "url": self._path, "body": body}

    def read_response(self, found: Any) -> ModelAnswers:
        """Return what the chat completion to a request of :meth:`request` says."""
        text, continuations, used = self._read(found, True)
        option = self.options.chosen(text)
        if option is None:
            return self._unusable(" ".join(text.split())[:80], used)
        return self._answers(option, continuations, used)

    def estimated(self, row: Mapping[str, Any]) -> Usage:
        """Return about what the first call about an item costs."""
        tokens_in = round(len(self.options.question(row)) / _LETTERS)
        return Usage(1, tokens_in, _ANSWER, self.price(tokens_in, _ANSWER))

    def ask_about(self, group: RequestGroup, row: Mapping[str, Any]) -> ModelAnswers:
        """Ask about one item."""
        # If the answer is not an option, the mistake is quoted in one more call.
        messages = [{"role": "user", "content": self.options.question(row)}]
        used, wrong = Usage(), ""
        for _ in range(2):
            text, continuations, cost = self._send(group, messages)
            used = used.plus(cost)
            option = self.options.chosen(text)
            if option is not None:
                return self._answers(option, continuations, used)
            wrong = " ".join(text.split())[:80]
            again = (
                f"{wrong!r} is not one of the options. Answer with the name of one, as it is written above."
            )
            messages = [
                messages[0],
                {"role": "assistant", "content": text[:200]},
                {"role": "user", "content": again},
            ]
        return self._unusable(wrong, used)

    def _answers(self, option: int, continuations: TokenProbabilities, used: Usage) -> ModelAnswers:
        if continuations:
            scores = self.options.scores(continuations)[None]
            return ModelAnswers(*from_scores(scores), "", scores, used)
        label = option if option < len(self.options.names) - 1 else NONE_OF_MINE
        return ModelAnswers(np.array([label]), None, "", None, used)

    def _unusable(self, text: str, used: Usage) -> ModelAnswers:
        note = f"answered {self._connections.without_key(text)!r}, which is not one of its options"
        return ModelAnswers(np.array([NO_ANSWER]), None, note, None, used)

    def _body(self, messages: list[dict[str, str]]) -> dict[str, Any]:
        """Return a request in which only the options are allowed."""
        body = {"messages": messages, "max_tokens": self.options.tokens, **self._request}
        if self._constrain == "grammar":
            body["grammar"] = self.options.grammar
        elif self._constrain == "json":
            schema = {"name": "option", "strict": True, "schema": self.options.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _read(self, found: Any, logprobs: bool) -> tuple[str, TokenProbabilities, Usage]:
        """Return what a chat completion says: a text, its tokens, and what that cost."""
        try:
            choice = found["choices"][0]
            text = choice["message"]["content"] or ""
            if not isinstance(text, str):
                raise TypeError("the content is not text")
            usage = found.get("usage") or {}
            used = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
            tokens = (choice.get("logprobs") or {}).get("content") if logprobs else None
            continuations = self.options.continuations(tokens) if tokens else {}
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ExpertError(
                "answered something that is not a chat completion; does the address end in /v1?"
            ) from error
        return text, continuations, Usage(1, *used, self.price(*used))

    def _send(
        self, group: RequestGroup, messages: list[dict[str, str]]
    ) -> tuple[str, TokenProbabilities, Usage]:
        """Return what the server said: a text, its tokens, and what that cost."""
        body = self._body(messages)
        if self._rate is not None:
            letters = sum(len(message["content"]) for message in messages)
            self._rate.wait(group, letters / _LETTERS + _ANSWER)
        try:
            found = self._connections.json(group, "POST", self._path, body)
        except ExpertError as error:
            if "response_format" in body and "with status 400" in str(error):
                self._constrain = "none"  # it does not know schemas
                return self._send(group, messages)
            raise
        return self._read(found, "logprobs" in body)

    def price(self, tokens_in: int, tokens_out: int) -> float:
        """Return what these numbers of tokens cost."""
        return tokens_in * self._prices[0] + tokens_out * self._prices[1]


def rows_of(batch: Batch) -> list[dict[str, Any]]:
    """Return the items of a table as one mapping each, from columns to values."""
    if not isinstance(batch, Mapping):
        raise ExpertError("takes the columns of a table, but the data are an array or images")
    return [{name: column[n] for name, column in batch.items()} for n in range(size(batch))]


def join_answers(parts: list[ModelAnswers]) -> ModelAnswers:
    """Return the answers to several items as one."""
    if len(parts) == 1:
        return parts[0]
    soft = [part.probability for part in parts if part.probability is not None]
    scores = [part.scores for part in parts if part.scores is not None]
    used = [part.usage for part in parts if part.usage is not None]
    return ModelAnswers(
        np.concatenate([part.label for part in parts]),
        np.concatenate(soft) if len(soft) == len(parts) else None,
        next((part.note for part in parts if part.note), ""),
        np.concatenate(scores) if len(scores) == len(parts) else None,
        reduce(Usage.plus, used) if used else None,
    )


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
    if not re.fullmatch(r"[A-Za-z_]\w*", variable):
        raise InputError(
            "key_env must be the name of an environment variable, such as CHAT_KEY, and not the key itself; "
            "a key that was written to a file is no longer secret"
        )
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InputError(f"the environment variable {variable} (key_env) is not set; put the key there")
    if not (key.isascii() and key.isprintable()):  # the library would quote it whole
        raise InputError(
            f"the key in the environment variable {variable} (key_env) has a line break or another character "
            "that no key has; copy it again"
        )
    return key


def _open(place: str, setting: Setting, **options: Any) -> Chat:
    return Chat(place.removeprefix("chat:"), setting.knows, **options)


_PRICE = Option(lambda value: NUMBER.accepts(value) and value >= 0, "a price of a million tokens, 0 or more")
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
        "key_env": TEXT,
        "constrain": Option(lambda value: value in ("json", "grammar", "none"), "json, grammar or none"),
        "probabilities": SWITCH,
        "calibrate": SWITCH,
        "seed": whole(0),
        "shuffle": SWITCH,
        "top_logprobs": whole(1),
        "in_flight": whole(1),
        "tokens_per_minute": whole(1),
        "extra": Option(
            lambda value: isinstance(value, Mapping) and not {"messages", "logprobs"} & set(value),
            'a table of the server\'s own options, as extra = { reasoning_effort = "low" }, without messages '
            "and logprobs",
        ),
        "timeout": SECONDS,
        "retries": whole(0),
        "input_price": _PRICE,
        "output_price": _PRICE,
    },
    remote=True,
)
