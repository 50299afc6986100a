"""Reports: answers of experts that may name several classes of an item."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.panel import Name, Panel
from covote.votes.names import arrow_table
from covote.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class Reports:
    """What experts said about items that may have several labels.

    Attributes
    ----------
    panel
        Who knows what.
    item, expert, label
        One entry for each class that an expert named.
    asked
        (items x experts) who was asked; who was, and named nothing, said "none of mine".
    ids
        The names of the items; their positions if there are none.
    """

    panel: Panel
    item: NDArray[np.int64]
    expert: NDArray[np.int64]
    label: NDArray[np.int64]
    asked: NDArray[np.bool_]
    ids: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.asked)

    @classmethod
    def from_lists(
        cls, rows: Sequence[Sequence[Iterable[Name] | None]], panel: Panel, items: Sequence[Any] | None = None
    ) -> Reports:
        """Take a row for each item, with the classes that each expert named, None if it was not asked.

        >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1]])
        >>> Reports.from_lists([[["cat", "dog"], ["dog"]], [None, []]], panel).asked.sum()
        np.int64(3)
        """
        ids = tuple(range(len(rows))) if items is None else tuple(items)
        if len(ids) != len(rows):
            raise InputError(f"{len(ids)} names for {len(rows)} items; give one for each")
        named: list[tuple[int, int, int]] = []
        asked = np.zeros((len(rows), len(panel)), dtype=np.bool_)
        for n, row in enumerate(rows):
            if len(row) != len(panel):
                raise InputError(
                    f"item {ids[n]!r} has {len(row)} reports of {len(panel)} experts; write None for those "
                    "that were not asked"
                )
            for i, classes in enumerate(row):
                if classes is not None:
                    asked[n, i] = True
                    named += [(n, i, _known(panel, ids[n], i, name)) for name in classes]
        table = np.array(sorted(set(named)), dtype=np.int64).reshape(-1, 3)
        return cls(panel, table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy(), asked, ids)

    @classmethod
    def from_table(cls, table: Any, panel: Panel, *, none: str = "none of mine") -> Reports:
        """Take a table with the columns ``item``, ``expert`` and ``label``: a class, or a list of classes.

        An expert may have several rows about an item; an empty list, or the label "none of mine", says
        that it knows none of the labels.

        >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1]], ["ann", "bob"])
        >>> len(Reports.from_table({"item": ["x", "x"], "expert": ["ann", "bob"],
        ...                         "label": [["cat", "dog"], ["dog"]]}, panel).label)
        3
        """
        found = arrow_table(table)
        missing = [name for name in ("item", "expert", "label") if name not in found.column_names]
        if missing:
            raise InputError(f"the table has no column {missing[0]!r}; it needs item, expert and label")
        said: dict[Any, list[list[Name] | None]] = {}
        columns = (found.column(name).to_pylist() for name in ("item", "expert", "label"))
        for item, expert, label in zip(*columns, strict=True):
            row = said.setdefault(item, [None] * len(panel))
            i = panel.expert_index(expert)
            if label is None:
                continue
            names = label if isinstance(label, list) else [] if label == none else [label]
            row[i] = [*(row[i] or []), *names]
        return cls.from_lists(list(said.values()), panel, list(said))

    @classmethod
    def from_votes(cls, votes: Votes) -> Reports:
        """Take votes: reports of one class, or "none of mine"."""
        runs = votes.ragged
        item = np.repeat(np.arange(len(votes)), np.diff(runs.indptr))
        asked = np.zeros((len(votes), len(votes.panel)), dtype=np.bool_)
        asked[item, runs.expert] = True
        named = runs.label >= 0
        triples = (item[named], runs.expert[named].astype(np.int64), runs.label[named].astype(np.int64))
        return cls(votes.panel, *triples, asked, tuple(votes.items))


def _known(panel: Panel, item: Any, i: int, name: Name) -> int:
    k = panel.class_index(name)
    if not panel.knows[i, k]:
        known = ", ".join(map(str, panel.blocks()[i]))
        raise InputError(
            f"expert {panel.names[i]!r} named {name!r} for item {item!r}, which it does not know (it knows: "
            f"{known}); add it to the panel, or drop the answer"
        )
    return k
