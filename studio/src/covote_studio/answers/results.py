"""Results: which answers are votes, and the labels, which are `decode` of them and nothing else."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sqlalchemy import Connection, bindparam, func, select

from covote.decoding import ExpertReport, decode, expert_report, wilson
from covote.labels import STATUSES, Labels
from covote.panel import Panel
from covote.votes import NONE_OF_MINE, Votes
from covote_studio.people.roster import Roster, RosterKeeper, project_row
from covote_studio.rules import answer_counts, speaks_against_retired
from covote_studio.storage.database import Database
from covote_studio.storage.schema import CHOICE, NONE, answer, item, options

AT_ONCE = 20_000
"""Most answers for which the first page waits for the results."""
PATIENCE = 0.1
"""Seconds that the last results may have taken for a page to wait for newer ones; otherwise it shows the
last ones."""
AFTER_PAGE = 0.2
"""Seconds before newer results are computed: the page that asked for them comes first."""
REST = 4.0
"""No newer results are computed for this many times as long as the last ones took."""
_OVERLAP = 10_000
"""Answers that are read again: in PostgreSQL a lower id may become visible after a higher one."""


class AnswerTable:
    """The rows of the table of answers, as arrays; read once, then only what is new."""

    def __init__(self) -> None:
        self._rows = np.zeros((0, 5), dtype=np.int64)

    def read(self, connection: Connection) -> NDArray[np.int64]:
        """Return all answers: (id, item, person, class, options), in the order in which they came."""
        rows = self._rows
        after = int(rows[-1, 0]) if len(rows) else 0
        if connection.dialect.name == "postgresql":
            after -= _OVERLAP
        columns = (answer.c.id, answer.c.item_id, answer.c.person_id, CHOICE, answer.c.options_id)
        found = connection.execute(select(*columns).where(answer.c.id > after).order_by(answer.c.id))
        # An iterator, because np.array asks every row for attributes that it does not have.
        numbers = (np.fromiter(chain.from_iterable(part), np.int64) for part in found.partitions(100_000))
        new = [flat.reshape(-1, len(columns)) for flat in numbers]
        kept = rows[: np.searchsorted(rows[:, 0], after, side="right")]
        self._rows = np.concatenate([kept, *new]) if new else kept
        return self._rows


_ABOUT = (
    select(answer.c.id, answer.c.item_id, answer.c.person_id, CHOICE, answer.c.options_id, options.c.classes)
    .join(options, options.c.id == answer.c.options_id)
    .where(answer.c.item_id.in_(bindparam("items", expanding=True)))
    .order_by(answer.c.id)
)


def shown_lists(connection: Connection, roster: Roster) -> dict[int, frozenset[int]]:
    """Return every list of classes that was ever shown, by id; merged classes are replaced."""
    return {
        row.id: _shown(row.classes, roster)
        for row in connection.execute(select(options.c.id, options.c.classes))
    }


def shown_names(connection: Connection, roster: Roster) -> dict[int, list[str]]:
    """Return the names of the classes in every list that was ever shown, by its id."""
    return {
        one: [roster.classes_by_id[k].name for k in sorted(ids)]
        for one, ids in shown_lists(connection, roster).items()
    }


def _shown(listed: str, roster: Roster) -> frozenset[int]:
    return frozenset(roster.canonical_class[one] for one in json.loads(listed))


def counted_answers(
    connection: Connection, roster: Roster, item_ids: Sequence[int]
) -> dict[int, dict[int, int]]:
    """Return, for some items, each person's last answer if it counts: person id -> class id."""
    found: dict[int, dict[int, int]] = {one: {} for one in item_ids}
    rows = connection.execute(_ABOUT, {"items": item_ids}).all() if item_ids else []
    if rows:
        shown = {row.options_id: _shown(row.classes, roster) for row in rows}
        numbers = np.array([tuple(row)[:5] for row in rows], dtype=np.int64)
        for _, item_id, who, choice, _ in _counted(numbers, roster, shown).tolist():
            found[item_id][who] = choice
    return found


@dataclass(frozen=True)
class Skill:
    """How many items of a class that a person is said to know were answered right, with a 95% interval."""

    expert: str
    name: str
    right: int
    asked: int
    low: float
    high: float

    @property
    def suggestion(self) -> str:
        """What the owner may do about it: keep the tick, take it away, or test more."""
        return "keep" if self.low >= 0.5 else "untick" if self.high < 0.5 else "test more"


@dataclass(frozen=True)
class Results:
    """Votes and labels at one moment.

    `items` are the ids of the items that have votes, ascending; votes and labels have one entry for each.
    """

    roster: Roster
    votes: Votes
    labels: Labels
    gold: dict[int, str]

    def __len__(self) -> int:
        return len(self.items)

    @property
    def items(self) -> NDArray[np.int64]:
        """The ids of the items that have votes."""
        return self.votes.items

    @property
    def panel(self) -> Panel:
        """The panel of the votes."""
        return self.votes.panel

    @cached_property
    def by_doubt(self) -> NDArray[np.int64]:
        """Positions, the most doubtful first: no label, then an answer is wrong, then low confidence."""
        evidence = self.labels.evidence
        confidence = np.nan_to_num(evidence.confidence, nan=1.0)
        return np.lexsort((confidence, -evidence.violations, self.labels.index >= 0))

    @cached_property
    def report(self) -> ExpertReport:
        """How reliable each person seems, compared with gold items and labels."""
        return expert_report(self.votes, gold=self._gold_with_votes or None)

    @cached_property
    def _gold_with_votes(self) -> dict[int, str]:
        return {one: name for one, name in self.gold.items() if self.position(one) is not None}

    def _counted(self, truth: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (experts x classes) how many items of a known class were answered, and how many right."""
        ragged = self.votes.ragged
        of_vote = np.repeat(truth, np.diff(ragged.indptr))
        inside = (of_vote >= 0) & self.panel.knows[ragged.expert, of_vote]
        shape = self.panel.knows.shape
        asked, right = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        np.add.at(asked, (ragged.expert[inside], of_vote[inside]), 1)
        hit = inside & (ragged.label == of_vote)
        np.add.at(right, (ragged.expert[hit], of_vote[hit]), 1)
        return asked, right

    def _with_gold(self, truth: NDArray[np.int64]) -> NDArray[np.int64]:
        for item_id, name in self._gold_with_votes.items():
            truth[self.position(item_id)] = self.panel.classes.index(name)
        return truth

    @cached_property
    def doubtful_claims(self) -> list[Skill]:
        """Classes that a person is said to know but misses more often than not, the surest first."""
        found = self._skills(self.labels.index.astype(np.int64), below=0.5)
        return sorted(found, key=lambda one: one.high)

    @cached_property
    def skills(self) -> list[Skill]:
        """What people showed on gold items of each class that they are said to know."""
        return self._skills(np.full(len(self.items), -1, dtype=np.int64))

    def _skills(self, truth: NDArray[np.int64], below: float = np.inf) -> list[Skill]:
        """Compare answers with gold and, elsewhere, with `truth`; keep intervals that end `below` a share."""
        asked, right = self._counted(self._with_gold(truth))
        low, high = wilson(right, asked)
        return [
            Skill(
                str(self.panel.names[i]), str(self.panel.classes[k]), int(right[i, k]), int(asked[i, k]),
                float(low[i, k]), float(high[i, k]),
            )
            for i, k in np.argwhere((asked > 0) & (high < below))
        ]  # fmt: skip

    @cached_property
    def agreement(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """How often others who know a class also named it when a person did: (share, low, high) per person.

        For every item about which a person named a class: the share of those who named it as well, among the
        others who know this class and answered. A person's value is the mean of these, NaN where there is
        none. Wilson's interval counts items; shares between 0 and 1 vary no more than yes and no do.
        """
        ragged, knows = self.votes.ragged, self.panel.knows
        item_of = np.repeat(np.arange(len(self.items)), np.diff(ragged.indptr))
        answered_by = csr_array(
            (np.ones(len(ragged.expert), np.int32), ragged.expert, ragged.indptr), (len(self), len(knows))
        )
        judges = (answered_by @ csr_array(knows.astype(np.int32))).sorted_indices()
        judged = np.repeat(np.arange(len(self)), np.diff(judges.indptr)) * knows.shape[1] + judges.indices
        votes = ragged.label >= 0
        cell, expert = item_of[votes] * knows.shape[1] + ragged.label[votes], ragged.expert[votes]
        _, inverse, named = np.unique(cell, return_inverse=True, return_counts=True)
        others = judges.data[np.searchsorted(judged, cell)] - 1
        counted = others > 0
        share = (named[inverse] - 1)[counted] / others[counted]
        items = np.bincount(expert[counted], minlength=len(knows))
        total = np.bincount(expert[counted], share, len(knows))
        low, high = wilson(total, items)
        return np.where(items > 0, total / np.maximum(items, 1), np.nan), low, high

    def verdict(self, position: int) -> dict[str, Any]:
        """Return the label at a position and its evidence."""
        labels = self.labels
        return {
            "label": labels.value[position], "confidence": float(labels.confidence[position]),
            "margin": float(labels.margin[position]), "runner_up": labels.runner_up[position],
            "violations": int(labels.violations[position]), "status": str(labels.status[position]),
        }  # fmt: skip

    def position(self, item_id: int) -> int | None:
        """Return the position of an item; None if it has no votes."""
        at = int(np.searchsorted(self.items, item_id))
        return at if at < len(self.items) and self.items[at] == item_id else None


def votes_of(rows: NDArray[np.int64], roster: Roster, shown: dict[int, frozenset[int]]) -> Votes | None:
    """Return the votes among the answers; None if there are none. Items are called by their ids."""
    panel = roster.panel
    if panel is None or not len(rows) or not len(panel):
        return None
    now = _counted(rows, roster, shown)
    if not len(now):
        return None
    row_of = _table(roster.row)
    column_of = _table(roster.column)
    label = np.where(now[:, 3] == NONE, NONE_OF_MINE, column_of[np.maximum(now[:, 3], 0)])
    items, first = np.unique(now[:, 1], return_index=True)
    # The panel's order of experts is the order of their ids, as in `now`.
    return Votes.from_ragged(np.append(first, len(now)), row_of[now[:, 2]], label, panel, items)


def _counted(rows: NDArray[np.int64], roster: Roster, shown: dict[int, frozenset[int]]) -> NDArray[np.int64]:
    """Return the last answer of every person about every item if it counts, sorted by item and person."""
    order = np.lexsort((rows[:, 0], rows[:, 2], rows[:, 1]))
    ordered = rows[order]
    last = np.append(np.any(np.diff(ordered[:, 1:3], axis=0) != 0, axis=1), True)
    now: NDArray[np.int64] = ordered[last]
    merged = {one: into for one, into in roster.canonical_class.items() if one != into}
    if merged:
        now[:, 3] = [merged.get(choice, choice) for choice in now[:, 3].tolist()]
    now = now[_counting(now, roster, shown)]
    if len(roster.voting_classes) > len(roster.classes):
        now = now[~_against_retired(now, roster, shown)]
    return now


def _table(index: dict[int, int]) -> NDArray[np.int64]:
    table = np.full(max(index, default=0) + 2, -1, dtype=np.int64)
    for key, value in index.items():
        table[key] = value
    return table


def _counting(now: NDArray[np.int64], roster: Roster, shown: dict[int, frozenset[int]]) -> NDArray[np.bool_]:
    """Return which answers count, by the rule of :func:`covote_studio.rules.answer_counts`."""
    kinds, inverse = np.unique(now[:, [2, 3, 4]], axis=0, return_inverse=True)
    verdict = []
    for who, choice, listed in kinds.tolist():
        member = roster.member_by_id[who]
        counts = answer_counts(choice, shown[listed], member.known, member.former)
        verdict.append(who in roster.row and counts)
    return np.array(verdict, dtype=bool)[inverse.reshape(-1)]


def _against_retired(
    now: NDArray[np.int64], roster: Roster, shown: dict[int, frozenset[int]]
) -> NDArray[np.bool_]:
    """Return which answers would count against a retired class that was not in view; see rules."""
    of_item: dict[int, set[int]] = {}
    for item_id, choice in now[:, [1, 3]].tolist():
        if choice > 0 and choice not in roster.class_by_id:
            of_item.setdefault(item_id, set()).add(choice)
    found = np.zeros(len(now), dtype=bool)
    for n in np.flatnonzero(np.isin(now[:, 1], list(of_item))):
        _, item_id, who, _, listed = now[n].tolist()
        former = roster.member_by_id[who].former
        found[n] = speaks_against_retired(of_item[item_id], shown[listed], former)
    return found


def compute(connection: Connection, answered: AnswerTable, rosters: RosterKeeper) -> Results | None:
    """Read the answers and decode them."""
    roster = rosters.get(connection, project_row(connection).panel_version)
    rows = answered.read(connection)
    gone = list(connection.execute(select(item.c.id).where(item.c.retired.is_(True))).scalars())
    if gone:
        rows = rows[~np.isin(rows[:, 1], gone)]
    votes = votes_of(rows, roster, shown_lists(connection, roster))
    if votes is None:
        return None
    return Results(roster, votes, decode(votes), gold_of(connection, roster))


def gold_of(connection: Connection, roster: Roster) -> dict[int, str]:
    """Return the known classes of gold items, by the items' ids."""
    known = {one.id: one.name for one in roster.voting_classes}
    rows = connection.execute(
        select(item.c.id, item.c.gold).where(item.c.gold.is_not(None), item.c.retired.is_(False))
    )
    right = ((int(row.id), roster.canonical_class[row.gold]) for row in rows)
    return {one: known[class_id] for one, class_id in right if class_id in known}


@dataclass(frozen=True)
class MergeEffect:
    """What a merge of two classes would change."""

    renamed: int
    """Items whose label would be the other class."""
    changed: int
    """Items whose label would change in another way."""
    conflicts: list[int]
    """Ids of the items that are agreed and would be in conflict or tied."""
    resolved: int
    """Items in conflict or tied that would be agreed."""


def merge_effect(connection: Connection, results: Results, class_id: int, into: int) -> MergeEffect:
    """Decode the answers as if a class were merged into another, and compare."""
    roster = results.roster.merged(class_id, into)
    rows = AnswerTable().read(connection)
    gone = list(connection.execute(select(item.c.id).where(item.c.retired.is_(True))).scalars())
    votes = votes_of(rows[~np.isin(rows[:, 1], gone)], roster, shown_lists(connection, roster))
    if votes is None:
        return MergeEffect(0, 0, [], 0)
    before, labels = results.labels, decode(votes)
    _, old, new = np.intersect1d(results.items, votes.items, assume_unique=True, return_indices=True)
    source, target = (results.roster.classes_by_id[one].name for one in (class_id, into))
    was, now = before.value[old], labels.value[new]
    renamed = (was == source) & (now == target)
    agreed = STATUSES.index("agreed")
    fine, well = before.evidence.status[old] == agreed, labels.evidence.status[new] == agreed
    doubtful = np.isin(labels.evidence.status[new], [STATUSES.index(one) for one in ("conflict", "tied")])
    return MergeEffect(
        int(renamed.sum()), int(((was != now) & ~renamed).sum()),
        [int(one) for one in votes.items[new][fine & doubtful]], int((~fine & well).sum()),
    )  # fmt: skip


class ResultsKeeper:
    """Keeps the newest results, and computes new ones after new answers or changes of the panel."""

    def __init__(self, database: Database, rosters: RosterKeeper) -> None:
        self._database, self._rosters = database, rosters
        self._answered = AnswerTable()
        self._lock = threading.Lock()
        self._newest: Results | None = None
        self._of: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        self._took = self._not_before = 0.0

    def get(self) -> tuple[Results | None, bool]:
        """Return the newest results, and whether newer ones are being computed."""
        with self._database.read() as connection:
            state = _state(connection)
        if state == self._of:
            return self._newest, False
        quick = state[1] <= AT_ONCE if self._of is None else self._took <= PATIENCE
        if quick and not self._busy():
            self.refresh()
            return self._newest, False
        self._start()
        return self._newest, True

    def refresh(self) -> Results | None:
        """Compute new results now, and return them."""
        with self._lock, self._database.read() as connection:
            state = _state(connection)
            if state != self._of:
                began = time.monotonic()
                self._newest = compute(connection, self._answered, self._rosters)
                if self._newest is not None:
                    _ = self._newest.by_doubt, self._newest.report, self._newest.doubtful_claims
                self._of = state
                self._took = time.monotonic() - began
                self._not_before = time.monotonic() + REST * self._took
            return self._newest

    def _busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _start(self) -> None:
        if not self._busy() and time.monotonic() >= self._not_before:
            self._thread = threading.Timer(AFTER_PAGE, self.refresh)
            self._thread.daemon = True
            self._thread.start()


def _state(connection: Connection) -> tuple[int, int]:
    last = connection.execute(select(func.coalesce(func.max(answer.c.id), 0))).scalar_one()
    return project_row(connection).panel_version, int(last)


@dataclass(frozen=True)
class Opinion:
    """One person's answer about an item, and what it means if the label is right."""

    name: str
    answer: str
    role: str


def opinions(results: Results, position: int, label: int) -> list[Opinion]:
    """Return who agrees with a class, who must be wrong if it is right, and who does not know it."""
    ragged = results.votes.ragged
    start, stop = ragged.indptr[position], ragged.indptr[position + 1]
    found = []
    for expert, choice in zip(ragged.expert[start:stop], ragged.label[start:stop], strict=True):
        word = "none of mine" if choice < 0 else str(results.panel.classes[choice])
        if choice == label:
            role = "agrees"
        elif results.panel.knows[expert, label]:
            role = "must be wrong"
        else:
            role = "does not know this class"
        found.append(Opinion(str(results.panel.names[expert]), word, role))
    return found
