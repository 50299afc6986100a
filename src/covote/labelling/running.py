"""The labelling run: asks the models of a panel about data, and can be interrupted and resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import ExpertError, InputError
from covote.files import Outcome
from covote.labelling.answers_file import AnswersFile
from covote.labelling.batch_files import RequestCount, read_responses, write_requests
from covote.labelling.batch_questions import BatchQuestion, Reply, ask, side_by_side
from covote.labelling.data import DataPlace, Table
from covote.labelling.preparing import join_problems, prepare
from covote.labelling.previewing import SAMPLE
from covote.labelling.strategy import Asking, by_cost, doubtful
from covote.models import ModelExpert
from covote.models.batches import select
from covote.models.chat import Chat, Usage, rows_of
from covote.models.entries import entry
from covote.models.prompts import calibrate_scores, from_scores
from covote.panel import Name, Panel
from covote.votes import NONE_OF_MINE, NOT_ASKED, Votes
from covote.votes.arrays import smallest_int

CALIBRATED = 10
"""Scored items from which on a language model's scores are calibrated; 30 give most of what it gains."""
MOST_FAILURES = 3
"""Failed batches in a row after which an expert is no longer asked."""
Progress = Callable[[Name, int, int], None]


@dataclass
class ExpertRun:
    """What came of asking one expert.

    Attributes
    ----------
    name
        The expert.
    wanted
        Items it should answer.
    asked
        Items it was asked about in this run.
    before
        Items that it had answered before this run.
    calls, failed
        Batches asked in this run, and how many of them failed.
    missing
        Wanted items without an answer from it.
    reason
        The first failure, or why the first unusable answer could not be used.
    lost
        Whether it gave no usable answer, or was given up after failing too often in a row.
    failures
        How often each failure occurred.
    usage
        What a language model's calls have cost, in this run and earlier ones.
    """

    name: Name
    wanted: int = 0
    asked: int = 0
    before: int = 0
    calls: int = 0
    failed: int = 0
    missing: int = 0
    reason: str = ""
    lost: bool = False
    failures: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Labelling:
    """What came of a run.

    Attributes
    ----------
    outcome
        As of :func:`covote.files.decode_file`.
    experts
        What came of asking each expert.
    questions
        How many questions (expert and item) all experts about all items would have been.
    soft
        Whether some experts gave probabilities, which are used.
    without_probabilities
        The experts that gave none while others did.
    answers
        The file in which the answers are kept.
    over_budget
        Whether language models were not asked everything because of the budget.
    by_position
        Whether the items of a table are named by their positions, because no column names them.
    """

    outcome: Outcome
    experts: list[ExpertRun]
    questions: int
    soft: bool
    answers: Path
    remaining_panel: Panel | None = None
    without_probabilities: tuple[Name, ...] = ()
    over_budget: bool = False
    by_position: bool = False

    @property
    def uncovered(self) -> list[tuple[Name, Name]]:
        """The pairs of classes that no expert covers where those with missing answers are away."""
        return [] if self.remaining_panel is None else self.remaining_panel.uncovered()


class Run:
    """One run: asks the experts of a panel what has not been answered yet, and keeps count."""

    def __init__(
        self,
        place: DataPlace,
        panel: Panel,
        models: Path,
        file: AnswersFile,
        how: Asking,
        trust: bool,
        progress: Progress | None,
    ) -> None:
        self._priced = any(map(_is_priced, panel.models))
        if how.budget is not None and not self._priced:
            raise InputError(
                "a budget is for language models with prices: write input_price and output_price next to one"
            )
        self._panel, self._file, self._how = panel, file, how
        self._progress = progress
        self._ready = prepare(place, panel, models, file, how.batch, refresh=how.refresh, trust=trust)
        self._items = self._ready.data.items
        self.experts = [ExpertRun(name) for name in panel.names]
        for run in self.experts:
            run.usage = Usage._make(file.usage(run.name) or Usage())
        self.over_budget = False
        # The cost of the most expensive answer so far, of an average call in earlier runs, or an estimate.
        self._highest_cost = max(
            (run.usage.cost / max(1, run.usage.calls) for run in self.experts), default=0.0
        )
        if self._priced and how.budget is not None and not self._highest_cost:
            self._highest_cost = max(map(self._estimated, self._ready.experts.values()), default=0.0)
        self._sent = 0  # questions; those without a noted reply are on their way
        self._failures_in_a_row = [0] * len(panel)
        self._answered = [0] * len(panel)
        self._wanted: list[NDArray[np.bool_] | None] = [None] * len(panel)

    def votes(self, experts: Sequence[int] | None = None) -> Votes:
        """Return all answers, or those of some experts, as votes in the order of the data.

        Where some experts give probabilities, they are NaN in the answers of the others. Answers of another
        run with the same file to items that this run does not ask about do not count.
        """
        panel, file = self._panel, self._file
        # Laid out as votes are stored, so that they are not copied.
        columns = np.full((len(panel), self._items), NOT_ASKED, dtype=smallest_int(len(panel.classes)))
        ends = np.cumsum(panel.sizes)
        soft = (
            np.zeros((self._items, int(ends[-1])), dtype=np.float32) if self._with_probabilities() else None
        )
        for i in range(len(panel)) if experts is None else experts:
            # Behind the classes, the codes of "none of mine" (-2) and of no answer (-1).
            codes = np.append(np.flatnonzero(panel.knows[i]), [NONE_OF_MINE, NOT_ASKED])
            columns[i] = codes[self._labels(i)]
            if soft is not None:
                size = int(panel.sizes[i])
                mine = file.probabilities(panel.names[i], 0, self._items, size)
                soft[:, ends[i] - size : ends[i]] = mine
        return Votes.from_dense(columns.T, panel, items=self._ready.ids, probabilities=soft)

    def _labels(self, i: int) -> NDArray[np.int32]:
        """Return an expert's answers as positions in what it knows, -2 or -1 where none can be used."""
        label, wanted = self._file.labels(self._panel.names[i], 0, self._items), self._wanted[i]
        label[label < NONE_OF_MINE] = NOT_ASKED
        return label if wanted is None else np.where(wanted, label, NOT_ASKED)

    def _with_probabilities(self) -> list[Name]:
        return [name for name in self._panel.names if self._file.has_probabilities(name)]

    def ask(self) -> Run:
        """Ask every expert about everything, by cost where doubt remains, or as the asker chooses."""
        if self._how.responses is not None:
            self._store_responses(Path(self._how.responses))
        if self._how.ask == "doubtful":
            self._ask_in_rounds()
        else:
            self._ask(range(len(self._panel)))
        self._check_answered()
        return self

    def write_requests(self, path: Path) -> RequestCount:
        """Write what language models have not answered yet as requests of a batch service."""
        if self._ready.unopened:
            raise InputError(join_problems([*self._ready.unopened.values()]))
        chats = [i for i in range(len(self._panel)) if self._chat(i) is not None]
        if not chats:
            raise InputError(
                "no language model of the panel has anything left to answer; nothing was written"
            )
        return write_requests(self._ready, {i: self._missing(i) for i in chats}, path)

    def _store_responses(self, path: Path) -> None:
        """Keep the answers that a batch service has returned."""
        with self._file.transaction():
            for reply in read_responses(self._ready, path):
                i = reply.question.expert
                self._count(reply)
                self._store(reply)
                self._failures_in_a_row[i] = 0
            for i in self._ready.experts:
                self._store_usage(i)
        for i in self._ready.experts:
            self._calibrate(i)

    def _ask_in_rounds(self) -> None:
        """Ask the cheapest about everything, then the next about what is doubtful, and so on."""
        asked: list[int] = []
        for group in by_cost(self._panel):
            if asked:
                doubt = doubtful(self.votes(asked))
                for i in group:
                    self._wanted[i] = doubt
            self._ask(group)
            asked += group

    def _ask(self, experts: Sequence[int]) -> None:
        """Ask some experts what they should answer and have not answered yet."""
        unopened = self._ready.unopened
        todo = {i: self._missing(i) for i in experts if i not in unopened}
        new = [i for i in todo if todo[i] and not self._file.has_answers(self._panel.names[i])]
        first = {i: todo[i][:1] for i in new}
        rest = {i: todo[i][len(first.get(i, ())) :] for i in todo}
        done = dict.fromkeys(todo, 0)
        problems = [*unopened.values(), *self._ask_and_store(first, done, rest)]
        if unopened:
            raise InputError(join_problems(problems))
        if problems and any(rest.values()) and self._how.strict:
            raise ExpertError(
                f"{join_problems(problems)}. The rest was not asked; what was answered is kept. Correct the "
                "panel and run again, or continue without these answers with --no-strict (strict=False)"
            )
        self._ask_and_store(rest, done)
        for i in todo:
            self._calibrate(i)

    def _ask_and_store(
        self,
        todo: Mapping[int, Sequence[BatchQuestion]],
        done: dict[int, int],
        later: Mapping[int, Sequence[BatchQuestion]] | None = None,
    ) -> list[str]:
        """Ask, keep the replies, and return what is wrong; `done` counts them, `later` is asked after."""
        problems: list[str] = []
        total = {i: done[i] + len(todo[i]) + len(later[i] if later else ()) for i in todo}
        with closing(self._replies(todo)) as groups:
            for group in groups:
                with self._file.transaction():
                    for reply in group:
                        self._store(reply)
                    for i in {reply.question.expert for reply in group}:
                        self._store_usage(i)
                for reply in group:
                    i = reply.question.expert
                    done[i] += 1
                    if self._progress is not None:
                        self._progress(self._panel.names[i], done[i], total[i])
                problems += filter(None, map(self._problem, group))
        return problems

    def _problem(self, reply: Reply) -> str:
        """Return why a batch has no usable answer; empty if it has, or if that may pass."""
        i, answers = reply.question.expert, reply.answers
        if answers is None:
            return "" if reply.may_pass else reply.failure
        usable = (answers.label >= NONE_OF_MINE) & (answers.label != NOT_ASKED)
        if usable.any() or self._chat(i) is not None:
            return ""
        return f"expert {self._panel.names[i]!r} {answers.note}"

    def _store_usage(self, i: int) -> None:
        """Keep what the calls of a language model have cost, in a transaction."""
        if self._chat(i) is not None:
            self._file.write_usage(self._panel.names[i], self.experts[i].usage)

    def _missing(self, i: int) -> list[BatchQuestion]:
        """Return what an expert should answer and has not answered yet, batch by batch."""
        if self._how.responses is not None and self._chat(i) is not None:
            return []
        there, wanted = self._file.asked(self._panel.names[i], self._items), self._wanted[i]
        due = ~there
        if wanted is not None:
            due &= wanted
            there &= wanted
        self.experts[i].before = int(np.count_nonzero(there)) - self._answered[i]
        found, batch = [], self._how.batch
        for start in range(0, self._items, batch):
            rows, digest = due[start : start + batch], self._ready.stat_digests[start]
            if self._chat(i) is not None:  # every call is paid for, so each is kept by itself
                found += [
                    BatchQuestion(i, start + n, start + n + 1, None, digest)
                    for n in np.flatnonzero(rows).tolist()
                ]
            elif rows.any():
                found.append(BatchQuestion(i, start, start + len(rows), None if rows.all() else rows, digest))
        return found

    def _chat(self, i: int) -> Chat | None:
        """Return the language model of an expert, if it is one."""
        expert = self._ready.experts.get(i)
        return expert.model if expert is not None and isinstance(expert.model, Chat) else None

    def _estimated(self, expert: ModelExpert) -> float:
        """Return about what a question to an expert costs at most, 0 if it is not a language model."""
        if not isinstance(expert.model, Chat):
            return 0.0
        first = self._ready.data.read(0, min(SAMPLE, self._items))
        return max(expert.model.estimated(row).cost for row in rows_of(select(first, expert.columns)))

    def _calibrate(self, i: int) -> None:
        """Let a language model's labels follow from its scores, less what each option gets in general."""
        model = self._chat(i)
        if model is None or not model.calibrate:
            return
        items, scores = self._file.scores(self._panel.names[i])
        if len(items) >= CALIBRATED:
            self._file.replace(self._panel.names[i], items, *from_scores(calibrate_scores(scores)))

    def _store(self, reply: Reply) -> None:
        """Keep answers, in a transaction; from then on they are not asked for again."""
        question, answers = reply.question, reply.answers
        if answers is None:
            return
        name = self._panel.names[question.expert]
        label, soft, rows = answers.label, answers.probability, question.rows
        if rows is not None:
            label = np.full(len(rows), NOT_ASKED, dtype=np.int64)
            label[rows] = answers.label
            if soft is not None:
                soft = np.zeros((len(rows), soft.shape[1]), dtype=np.float32)
                soft[rows] = answers.probability
        self._file.insert(name, question.start, label, soft, answers.note)
        self._answered[question.expert] += question.items
        if answers.scores is not None:
            self._file.insert_scores(name, question.start, answers.scores)

    def _replies(self, todo: Mapping[int, Sequence[BatchQuestion]]) -> Generator[list[Reply], None, None]:
        """Ask experts on servers side by side, then the others one by one."""
        remote = {i: entry(self._panel.models[i]).kind.remote for i in todo}
        streams = []
        for i in filter(remote.get, todo):
            streams += [self._questions(i, todo[i])] * self._in_flight(i)
        yield from side_by_side(self._ask_one, streams, self._count)
        for question in chain.from_iterable(self._questions(i, todo[i]) for i in todo if not remote[i]):
            reply = self._ask_one(question)
            self._count(reply)
            yield [reply]

    def _ask_one(self, question: BatchQuestion) -> Reply:
        return ask(self._ready.experts[question.expert], self._ready.data, question)

    def _in_flight(self, i: int) -> int:
        """Return how many questions an expert is asked at a time."""
        return getattr(self._ready.experts[i].model, "in_flight", 1) if i in self._ready.experts else 1

    def _questions(self, i: int, todo: Sequence[BatchQuestion]) -> Iterator[BatchQuestion]:
        """Yield questions as long as the expert answers, and the budget lasts if it is paid by the call."""
        most_failures = self._most_failures(i)
        paid = self._chat(i) is not None and self._priced
        for question in todo:
            if self._failures_in_a_row[i] >= most_failures:
                return
            if paid and self._how.budget is not None:
                spent = sum(run.usage.cost for run in self.experts)
                on_their_way = self._sent - sum(run.calls for run in self.experts)
                if spent + (on_their_way + 1) * self._highest_cost > self._how.budget:
                    self.over_budget = True
                    return
            self._sent += 1
            yield question

    def _most_failures(self, i: int) -> int:
        """Return after how many failures in a row an expert is given up."""
        return MOST_FAILURES * self._in_flight(i)

    def _count(self, reply: Reply) -> None:
        """Count a reply, and what it cost."""
        i, failure = reply.question.expert, reply.failure
        run = self.experts[i]
        run.calls += 1
        run.asked += reply.question.items
        if reply.answers is not None and reply.answers.usage is not None:
            run.usage = run.usage.plus(reply.answers.usage)
            self._highest_cost = max(self._highest_cost, reply.answers.usage.cost)
        if not failure:
            self._failures_in_a_row[i] = 0
            return
        run.failed += 1
        run.failures[failure] += 1
        self._failures_in_a_row[i] += 1
        run.reason = run.reason or failure

    def _check_answered(self) -> None:
        """Reject a run without a single answer."""
        failures = [run.reason for run in self.experts if run.reason]
        if failures and not any(map(self._file.has_answers, self._panel.names)):
            raise ExpertError(
                f"no expert answered anything, so there is nothing to label with: {failures[0]}"
            )

    def ended(self) -> list[ExpertRun]:
        """Return what came of asking each expert."""
        for i, run in enumerate(self.experts):
            due = self._wanted[i]
            run.wanted = self._items if due is None else int(np.count_nonzero(due))
            run.missing = run.wanted - int(np.count_nonzero(self._labels(i) != NOT_ASKED))
            run.lost = 0 < run.wanted == run.missing or self._failures_in_a_row[i] >= self._most_failures(i)
            note = self._file.note(run.name)
            if not run.reason and note:
                run.reason = f"expert {run.name!r} {note}"
        return self.experts

    def result(self, outcome: Outcome) -> Labelling:
        """Return the result of the run, whose votes have been decoded."""
        away = [run.name for run in self.ended() if run.missing]
        soft = self._with_probabilities()
        plain = tuple(name for name in self._panel.names if name not in soft)
        return Labelling(
            outcome,
            self.experts,
            self._items * len(self._panel),
            bool(soft),
            self._file.path or Path(),
            self._panel.without(*away) if away else None,
            plain if soft else (),
            self.over_budget,
            self._ready.place.id is None and isinstance(self._ready.data, Table),
        )


def _is_priced(model: Any) -> bool:
    """Whether calls of a model cost money."""
    return isinstance(model, Mapping) and any(model.get(f"{side}_price") for side in ("input", "output"))
