"""A language model that sees the likely classes of an item first, and others only while doubt remains.

How likely the classes of each item are is a table that something cheaper has made: embeddings, a small
classifier, frequencies. What the model says is added to it as if both were independent: the probability of a
class is multiplied by that of its option, and those of all classes that are not shown by that of "none of
these". The model is not asked where the table is sure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.arguments import some_of
from covote.errors import ExpertError, InputError
from covote.models.chat import Chat, Usage
from covote.models.connections import Patience
from covote.models.kind import NUMBER, SECONDS, SWITCH, TEXT, Kind, Option, Setting, whole
from covote.models.options import Options
from covote.models.understanding import NO_ANSWER, Answers
from covote.panel import Name, Panel
from covote.tables.batches import Source

SHOWN, DOUBT = 8, 0.05
_LEAST = 1e-6  # of the probability is spread over all classes: no table is that sure
_TRUSTED = 0.8  # the probability of an answer from a server that returns none


class Prior:
    """How likely the classes of each item are: a table with the items and a column for each class.

    It is what ``--proba`` of `covote decode` and `covote label` writes.
    """

    def __init__(self, path: Path) -> None:
        source = Source(path)
        names = [name for name in ("item", "task", "id") if name in source.names]
        if not names:
            raise InputError(f"{path} has no column item, task or id that names the items")
        table = source.table()
        self.path, self.classes = path, [name for name in source.names if name != names[0]]
        self._columns = {name: k for k, name in enumerate(self.classes)}
        self._rows = {str(item): row for row, item in enumerate(table.column(names[0]).to_pylist())}
        try:
            columns = [table.column(name).cast("float64").to_numpy() for name in self.classes]
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{path} has something else than numbers; it has one column per class"
            ) from error
        self._chances = np.stack(columns, axis=1) if columns else np.empty((len(table), 0))
        sums = self._chances.sum(axis=1)
        wrong = np.flatnonzero(~(np.isfinite(sums) & (sums > 0) & (self._chances >= 0).all(axis=1)))
        if len(self.classes) < 2 or len(wrong):
            where = f"row {wrong[0] + 1}" if len(wrong) else "it"
            raise InputError(f"{path}: {where} does not give the probabilities of two or more classes")

    def of(self, item: str, classes: Sequence[Name]) -> NDArray[np.float64]:
        """Return the probabilities of some classes for an item."""
        if item not in self._rows:
            raise ExpertError(f"finds no item {item!r} in {self.path}")
        row = self._chances[self._rows[item], [self._columns[str(name)] for name in classes]]
        spread: NDArray[np.float64] = (1 - _LEAST) * row / max(row.sum(), 1e-300) + _LEAST / len(row)
        return spread

    def check(self, classes: Sequence[Name]) -> None:
        """Reject classes that the table does not have."""
        missing = [name for name in classes if str(name) not in self._columns]
        if missing:
            raise InputError(f"{self.path} has no column for {some_of(missing)}")


class Chooser(Chat):
    """One expert of a panel: a language model behind a table of probabilities.

    Parameters
    ----------
    url, knows, options
        As for :class:`covote.models.chat.Chat`.
    prior
        The table.
    shown
        How many classes a prompt shows.
    doubt
        An item is settled when all other classes together are at most this likely; further classes are
        shown while those that were not shown yet are more likely than this.
    item
        The column of the data that names the items; it is not shown.
    """

    def __init__(
        self,
        url: str,
        knows: tuple[Name, ...],
        prior: Path,
        *,
        shown: int = SHOWN,
        doubt: float = DOUBT,
        item: str = "item",
        **options: Any,
    ) -> None:
        super().__init__(url, knows, **{**options, "calibrate": False})
        look = ("prompt", "describe", "examples", "seed", "shuffle")
        self._look = {name: value for name, value in options.items() if name in look}
        self._knows, self._prior = knows, Prior(prior)
        self._prior.check(knows)
        self._shown, self._doubt, self._item = shown, doubt, item

    def _known(self, row: Mapping[str, Any]) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Return the prior of an item, and what the model sees of it."""
        if self._item not in row:
            raise ExpertError(f"needs the column {self._item!r}, which names the items in the prior")
        rest = {name: value for name, value in row.items() if name != self._item}
        return self._prior.of(str(row[self._item]), self._knows), rest

    def _next(self, chance: NDArray[np.float64], seen: NDArray[np.bool_]) -> list[int]:
        """Return the classes to show next, the likely ones first; none if there is no doubt left."""
        if 1 - chance.max() <= self._doubt or (seen.any() and chance[~seen].sum() <= self._doubt):
            return []
        order = np.argsort(-chance, kind="stable")
        return [int(k) for k in order if not seen[k]][: self._shown]

    def _options(self, shown: Sequence[int]) -> Options:
        return Options([self._knows[k] for k in shown], **self._look)

    def first_prompt(self, row: Mapping[str, Any]) -> str:
        """Return what is asked first about an item."""
        chance, rest = self._known(row)
        shown = self._next(chance, np.zeros(len(chance), dtype=np.bool_))
        return self._options(shown).question(rest) if shown else "(not asked: the prior is sure)"

    def estimated(self, row: Mapping[str, Any]) -> Usage:
        """Return about what the first call about an item costs; nothing where the prior is sure."""
        chance, _ = self._known(row)
        is_asked = self._next(chance, np.zeros(len(chance), dtype=np.bool_))
        return super().estimated(row) if is_asked else Usage()

    def asked(self, patience: Patience, row: Mapping[str, Any]) -> Answers:
        """Ask about one item, with further classes as long as there is doubt."""
        chance, rest = self._known(row)
        seen, used = np.zeros(len(chance), dtype=np.bool_), Usage()
        while shown := self._next(chance, seen):
            option, scores, cost, note = self.choose(patience, rest, self._options(shown))
            used = used.plus(cost)
            if option is None:
                return Answers(np.array([NO_ANSWER]), None, note, None, used)
            said = np.full(len(shown) + 1, (1 - _TRUSTED) / len(shown))
            said[option] = _TRUSTED
            if scores is not None:
                said = np.exp(scores - scores.max(), dtype=np.float64)
            weight = np.full(len(chance), said[-1])
            weight[shown] = said[:-1]
            chance = chance * np.maximum(weight / said.sum(), _LEAST)
            chance /= chance.sum()
            seen[shown] = True
        label = np.array([int(chance.argmax())])
        return Answers(label, chance[None].astype(np.float32), "", None, used)


def chooser_panel(model: Any, prior: str | Path, *, shown: int = SHOWN, item: str = "item") -> Panel:
    """Return a panel of one expert that knows all classes of a prior and chooses among them.

    Parameters
    ----------
    model
        As a panel file has it: ``chat:http://localhost:8080/v1``, or a mapping with `use` and options.
    prior
        A table with the items and the probabilities of their classes.
    shown
        How many classes a prompt shows.
    item
        The column of the data that names the items.
    """
    options = dict(model) if isinstance(model, Mapping) else {"use": model}
    if not str(options.get("use")).startswith("chat:"):
        raise InputError(
            f"{model!r} cannot choose; a chooser is a language model, as chat:http://localhost:8080/v1"
        )
    place = Path(prior).resolve()
    classes = Prior(place).classes
    options |= {"prior": str(place), "shown": shown, "item": item}
    return Panel(classes, [[True] * len(classes)], ["chooser"], models=[options])


def _open(place: str, setting: Setting, prior: str | None = None, **options: Any) -> Chat:
    url = place.removeprefix("chat:")
    if prior is None:
        missing = [name for name in ("shown", "doubt", "item") if name in options]
        if missing:
            raise InputError(f'{missing[0]} is for a model that chooses after a prior; add prior = "FILE"')
        return Chat(url, setting.knows, **options)
    return Chooser(url, setting.knows, setting.folder / prior, **options)


_PRICE = Option(lambda value: NUMBER.accepts(value) and value >= 0, "a price of a million tokens, 0 or more")
CHAT = Kind(
    "chat",
    _open,
    {
        "prior": TEXT,
        "shown": whole(1),
        "doubt": Option(lambda value: NUMBER.accepts(value) and 0 <= value < 1, "a share from 0 to below 1"),
        "item": TEXT,
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
        "follow": whole(1),
        "seed": whole(0),
        "shuffle": SWITCH,
        "top_logprobs": whole(1),
        "in_flight": whole(1),
        "timeout": SECONDS,
        "retries": whole(0),
        "input_price": _PRICE,
        "output_price": _PRICE,
    },
    remote=True,
)
