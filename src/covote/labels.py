"""Labels: what the votes say about every item, and how firmly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.errors import InputError
from covote.panel import Name, Panel
from covote.votes import item_ids, names, vote_checks

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

STATUSES = ("sure", "tied", "conflict", "unheard")
SURE, TIED, CONFLICT, UNHEARD = range(4)
NO_LABEL = -1


@dataclass(frozen=True)
class Evidence:
    """What stands behind the labels, one entry per item; see :class:`Labels` for the meaning."""

    confidence: NDArray[np.float32]
    margin: NDArray[np.float32]
    runner_up: NDArray[Any]
    violations: NDArray[np.int32]
    status: NDArray[np.uint8]


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """One label per item, with what speaks for and against it.

    Attributes
    ----------
    panel
        The panel whose classes the labels are.
    index
        The class of every item as an index into ``panel.classes``; -1 where the votes leave several classes
        equally good or where nobody was heard. A tie is never broken by the order of the classes: such an
        item has no label, and :meth:`tied_classes` says between which classes it lies.
    tied
        Where several classes share the best score. If a tie rule decided, `index` has its choice.

    The evidence (`confidence`, `margin`, `runner_up`, `violations`, `status`) is computed from the votes when
    it is first asked for; until then the labels keep a reference to the votes.
    """

    panel: Panel
    index: NDArray[Any]
    tied: NDArray[np.bool_]
    _evidence: Callable[[], Evidence]
    _tied_classes: Callable[[NDArray[np.int64]], list[NDArray[np.int64]]]
    _ids: Any = field(default=None)
    _start: int = 0

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def items(self) -> NDArray[Any]:
        """The id of every item."""
        return vote_checks.plain_ids(self._ids, self._start, self._start + len(self))

    @cached_property
    def value(self) -> NDArray[np.object_]:
        """The class name of every item, None where there is no label."""
        return self._names(self.index)

    @cached_property
    def evidence(self) -> Evidence:
        """All that stands behind the labels, computed once."""
        return self._evidence()

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The probability that the label is right; NaN where the method cannot say."""
        return self.evidence.confidence

    @property
    def margin(self) -> NDArray[np.float32]:
        """Score of the best class minus score of the next, 0 in a tie; NaN with a single candidate."""
        return self.evidence.margin

    @cached_property
    def runner_up(self) -> NDArray[np.object_]:
        """The name of the next best class; None where there is none or where several share the place."""
        return self._names(self.evidence.runner_up)

    @property
    def runner_up_index(self) -> NDArray[Any]:
        """The next best class as an index, -1 where `runner_up` is None."""
        return self.evidence.runner_up

    @property
    def violations(self) -> NDArray[np.int32]:
        """The least number of wrong answers that explains the votes: > 0 means that somebody erred."""
        return self.evidence.violations

    @cached_property
    def status(self) -> NDArray[np.str_]:
        """What the votes prove, for every item.

        ``sure``: if nobody erred, no other class is possible. ``tied``: several classes are equally good (a
        label here is the choice of a tie rule). ``conflict``: somebody erred. ``unheard``: nobody who knows
        some class answered, so that class is still possible.
        """
        return np.array(STATUSES)[self.evidence.status]

    def count(self) -> dict[str, int]:
        """Return how many items have each status."""
        counts = np.bincount(self.evidence.status, minlength=len(STATUSES))
        return {name: int(count) for name, count in zip(STATUSES, counts, strict=True)}

    def tied_classes(self, position: int) -> tuple[Name, ...]:
        """Return the classes that share the best score at a position; one class if there is no tie."""
        if not 0 <= position < len(self):
            raise InputError(f"no item at position {position}; there are {len(self)}")
        (best,) = self.tied_indices([position])
        return tuple(self.panel.classes[k] for k in best)

    def tied_indices(self, positions: ArrayLike) -> list[NDArray[np.int64]]:
        """Return, for each of several positions, the indices of the classes that share the best score."""
        return self._tied_classes(np.asarray(positions, dtype=np.int64))

    def _names(self, index: NDArray[Any]) -> NDArray[np.object_]:
        classes = np.empty(len(self.panel.classes) + 1, dtype=object)
        classes[:-1] = self.panel.classes
        found: NDArray[np.object_] = classes[index]
        return found

    def to_arrow(self) -> pa.Table:
        """Return a table: item, label, confidence, margin, runner_up, violations, status.

        Names that are text are dictionary-encoded.
        """
        import pyarrow as pa

        evidence, classes = self.evidence, names.name_array(self.panel.classes)
        status = pa.DictionaryArray.from_arrays(
            pa.array(evidence.status.view(np.int8)), pa.array(STATUSES, pa.string())
        )
        return pa.table(
            {
                "item": item_ids.id_array(self._ids, self._start, self._start + len(self)),
                "label": names.coded(self.index, classes),
                "confidence": evidence.confidence,
                "margin": evidence.margin,
                "runner_up": names.coded(evidence.runner_up, classes),
                "violations": evidence.violations,
                "status": status,
            }
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the same table as :meth:`to_arrow`, as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(
            {
                "item": self.items,
                "label": self._column(self.index),
                "confidence": self.confidence,
                "margin": self.margin,
                "runner_up": self._column(self.runner_up_index),
                "violations": self.violations,
                "status": self.status,
            }
        )

    def _column(self, index: NDArray[Any]) -> Any:
        """Return class names as pandas likes them: integers with gaps stay integers."""
        import pandas as pd

        values = self._names(index)
        if names.all_whole(self.panel.classes):
            return pd.array(values.tolist(), dtype="Int64")
        return values

    def __repr__(self) -> str:
        return f"Labels({len(self)} items, {int((self.index < 0).sum())} without a label)"


def joined(parts: Sequence[Labels]) -> Labels:
    """Return the labels of consecutive parts as one."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0] + [len(part) for part in parts])

    def evidence() -> Evidence:
        all_parts = [part.evidence for part in parts]
        return Evidence(
            *(np.concatenate([getattr(e, f) for e in all_parts]) for f in Evidence.__annotations__)
        )

    def tied_classes(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        where = np.searchsorted(starts, rows, side="right") - 1
        return [
            parts[w]._tied_classes(np.array([row - starts[w]]))[0] for w, row in zip(where, rows, strict=True)
        ]

    return replace(
        parts[0],
        index=np.concatenate([part.index for part in parts]),
        tied=np.concatenate([part.tied for part in parts]),
        _evidence=evidence,
        _tied_classes=tied_classes,
    )


def chances(labels: Labels, truth: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return how likely each label is right: 0 or 1, or the chance of a fair draw where an item is tied."""
    right: NDArray[np.float64] = (labels.index == truth).astype(np.float64)
    left = np.flatnonzero(labels.index < 0)
    if len(left):
        among = labels.tied_indices(left)
        sizes = np.array([len(classes) for classes in among])
        owner = np.repeat(left, sizes)
        hit = np.concatenate(among) == truth[owner]
        np.add.at(right, owner[hit], 1 / np.repeat(sizes, sizes)[hit])
    return right
