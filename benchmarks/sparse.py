"""How right are labels, and their confidence, where each item has few answers?

    python benchmarks/sparse.py --data ../shared/data [--half choose confirm last] [--keep numbers.json]

Three kinds of panels: simulated people; real models, with and without their probabilities; and simulated
people together with one or two real models that answer every item with probabilities. A rule is chosen on
the panels of one half (seeds and data sets), confirmed on those of the other, and looked at once on the last:
other ways of guessing and other data sets.

An item that is left open counts for a random choice among its tied classes. *Calibration error* and *AUC* are
of the confidence of labels. *Expected errors* are the sum of 1 - confidence, against the real ones. *Review*:
the labels are corrected in the order of the review list until the expected share of right ones is 95%; the
figure is the share that is then right (only where fewer were right before).
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import calibration_error, discrimination, votes_of
from accuracy import right as share_right
from crowd import crowd_kit
from real_votes import TRAINED, Case, cases, model

from covote import Panel, Votes, decode

METHODS = ("learned", "majority", "authority", "em", "dawid-skene")
HALVES = ("choose", "confirm", "last")
MODELS = {
    "choose": ("digits", "soybean", "letter"),
    "confirm": ("mnist", "banking77", "fashion"),
    "last": ("imagenet", "clinc150"),
}
FULL_MODELS = {
    "choose": ("digits", "soybean"),
    "confirm": ("mnist", "letter"),
    "last": ("fashion", "banking77"),
}
MOST_FOR_PEERS = 40  # classes; beyond, crowd-kit takes minutes on a panel
WEAK_ITEMS = 4  # items of each class from which a weak model of a mixed panel learns


@dataclass(frozen=True)
class Answers:
    """A panel, its votes and the truth; `kind` is the row of the table in which it counts."""

    name: str
    kind: str
    votes: Votes
    truth: np.ndarray
    best_model: float | None = None  # how many percent the best model alone has right, if it answers all


# Simulated people


@dataclass(frozen=True)
class People:
    """How people answer; every field is drawn for each panel."""

    classes: int
    experts: int
    answers: int  # per item, on average
    known: float  # the share of the classes that a person knows
    guess: str  # what they say about other classes: "uniform", "similar", "class"; or "own" (last half)
    sizes: str  # "equal" or "zipf"
    accuracy: tuple[float, float]  # the parameters of a beta distribution
    bad: float  # the share of people who answer at random
    odds: float  # how much more often people answer items that they know; "none of mine" instead if below 0

    @property
    def name(self) -> str:
        """The case in one line."""
        chosen = "everything" if self.odds == 1 else "known" if self.odds > 0 else "none of mine"
        bad = f", {self.bad:.0%} bad" if self.bad else ""
        who = f"{self.answers} of {self.experts}, {self.guess}, {self.sizes}, {chosen}"
        return f"{self.classes} classes, {who}{bad}"


def drawn_people(rng: np.random.Generator, half: str) -> People:
    """Draw how people answer."""
    pick: Callable[..., Any] = lambda *some: some[rng.integers(len(some))]  # noqa: E731
    own = half == "last"
    return People(
        classes=pick(10, 20, 40, 100, 180),
        experts=int(rng.integers(20, 51)),
        answers=int(rng.integers(2, 9)),
        known=float(rng.uniform(0.08, 0.5)),
        guess=pick("own", "own", "similar") if own else pick("uniform", "similar", "class"),
        sizes=pick("equal", "zipf"),
        accuracy=pick((18.0, 2.0), (17.0, 3.0), (8.0, 2.0)),
        bad=pick(0.0, 0.0, 0.2),
        odds=pick(1.0, 1.0, 8.0, 100.0, -0.8),
    )


def people(how: People, items: int, rng: np.random.Generator) -> tuple[Panel, np.ndarray, np.ndarray]:
    """Return (panel, votes as items x experts with -1 and -2, truth)."""
    size = 1.0 / np.arange(1, how.classes + 1) if how.sizes == "zipf" else np.ones(how.classes)
    truth = rng.choice(how.classes, items, p=rng.permutation(size / size.sum()))
    return (*answers_of_people(how, truth, rng), truth)


def answers_of_people(how: People, truth: np.ndarray, rng: np.random.Generator) -> tuple[Panel, np.ndarray]:
    """Return (panel, votes) of people who answer some items each."""
    classes, experts = how.classes, how.experts
    knows = rng.random((experts, classes)) < np.clip(rng.normal(how.known, 0.1, (experts, 1)), 0.05, 0.95)
    for i in range(experts):  # at least two classes each, and everything known by two people
        knows[i, rng.permutation(classes)[:2]] = True
    for k in range(classes):
        knows[rng.permutation(experts)[:2], k] = True
    weight = guesses(how, rng)
    accuracy = rng.beta(*how.accuracy, experts)
    bad = rng.random(experts) < how.bad
    votes = np.full((len(truth), experts), -1)
    number = np.clip(rng.poisson(how.answers - 1, len(truth)) + 1, 1, experts)
    # Gumbel's trick: the people with the largest numbers are a draw with odds, without replacement.
    lots = rng.gumbel(size=votes.shape) + np.log(max(how.odds, 1.0)) * knows[:, truth].T
    asked = np.argsort(np.argsort(-lots, axis=1), axis=1) < number[:, None]
    for i in range(experts):
        mine = np.flatnonzero(asked[:, i])
        k = truth[mine]
        p = np.where(knows[i], weight[i][k] if weight.ndim == 3 else weight[k], 0.0)
        if bad[i]:
            p = np.broadcast_to(knows[i] * 1.0, p.shape).copy()
        p[np.arange(len(mine)), k] = 0
        p /= p.sum(axis=1, keepdims=True)
        said = (p.cumsum(axis=1) > rng.random((len(mine), 1)) * (1 - 1e-9)).argmax(axis=1)
        sure = knows[i, k] & (rng.random(len(mine)) < accuracy[i]) & ~bad[i]
        said = np.where(sure, k, said)
        if how.odds < 0 and not bad[i]:
            none = ~knows[i, k] & (rng.random(len(mine)) < -how.odds)
            said = np.where(none | (knows[i, k] & (rng.random(len(mine)) < 0.03)), -2, said)
        votes[mine, i] = said
    return Panel(classes, knows), votes


def guesses(how: People, rng: np.random.Generator) -> np.ndarray:
    """Return how likely a wrong answer is for each class (classes x answers; experts first if their own)."""
    shape = how.classes, how.classes
    if how.guess == "uniform":
        return np.ones(shape)
    if how.guess == "similar":
        place = rng.normal(size=(how.classes, 3))
        far = np.linalg.norm(place[:, None] - place[None], axis=2)
        return np.exp(-8 * far) + 1e-9
    if how.guess == "class":  # the same few names for what one does not know
        return rng.dirichlet(np.full(how.classes, 0.15), how.classes) + 1e-6
    return rng.dirichlet(np.full(how.classes, 0.3), (how.experts, how.classes)) + 1e-6


def people_panels(half: str, number: int, items: int) -> Iterator[Answers]:
    """Yield panels of simulated people."""
    for n in range(number):
        rng = np.random.default_rng([HALVES.index(half), n])
        how = drawn_people(rng, half)
        panel, votes, truth = people(how, items, rng)
        yield Answers(f"people {n}: {how.name}", "people", Votes.from_dense(votes, panel), truth)


# Real models


def fewer(case: Case, experts: np.ndarray, answers: int, rng: np.random.Generator) -> tuple[Votes, Votes]:
    """Return the votes of some experts, without and with probabilities, with few answers per item."""
    plain, soft = votes_of(case, experts)
    dense = plain.dense.copy()
    asked = np.argsort(np.argsort(rng.random(dense.shape), axis=1), axis=1) < answers
    dense = np.where(asked, dense, -1)
    chances = soft.class_probability
    assert chances is not None
    return Votes.from_dense(dense, plain.panel), Votes.from_dense(
        dense, plain.panel, probabilities=chances.T.copy()
    )


def model_panels(data: Path, cache: Path, half: str, every: int) -> Iterator[Answers]:
    """Yield panels of real models with 3, 5 and 8 answers per item: covers and random panels."""
    number = 0
    for case in cases(data, cache, MODELS[half]):
        for kind, first in (("cover", 0), ("random", 1)):
            experts = np.arange(first * case.cover, (first + 1) * case.cover)
            for answers in (3, 5, 8):
                number += 1
                if number % every or answers >= case.cover:
                    continue
                rng = np.random.default_rng([number, HALVES.index(half)])
                for what, votes in zip(("plain", "soft"), fewer(case, experts, answers, rng), strict=True):
                    name = f"{case.name}, {kind}, {answers} answers"
                    yield Answers(name, f"models, {what}", votes, case.truth)


def mixed_panels(data: Path, half: str, number: int, items: int) -> Iterator[Answers]:
    """Yield panels of simulated people, and one or two real models that answer everything."""
    for name in FULL_MODELS[half]:
        load, families, _ = TRAINED[name]
        x, y, held, truth = load(data)
        held, truth = held[:items], truth[:items]
        classes = int(max(y.max(), truth.max())) + 1
        few = np.concatenate([np.flatnonzero(y == k)[:WEAK_ITEMS] for k in range(classes)])
        for n in range(number):
            rng = np.random.default_rng([HALVES.index(half), n, len(name)])
            how = drawn_people(rng, "choose")
            how = People(**{**vars(how), "classes": classes, "experts": 10, "answers": 3 + n % 2})
            panel, votes = answers_of_people(how, truth, rng)
            knows, chances = [panel.knows], []
            for family in rng.permutation(families)[: 1 + n % 2]:
                some = few if n % 3 else np.arange(len(y))
                fitted = model(str(family)).fit(x[some], y[some])
                p = np.zeros((len(held), classes))
                p[:, fitted.classes_] = fitted.predict_proba(held)
                chances.append(p)
                votes = np.column_stack([votes, p.argmax(axis=1)])
                knows.append(np.ones((1, classes), bool))
            panel = Panel(classes, np.concatenate(knows))
            given = np.full((len(truth), int(panel.sizes.sum())), np.nan)
            given[:, -classes * len(chances) :] = np.concatenate(chances, axis=1)
            text = f"{name} {n}: people {how.name} and {len(chances)} models"
            best = max(100 * float((p.argmax(axis=1) == truth).mean()) for p in chances)
            both = Votes.from_dense(votes, panel, probabilities=given)
            yield Answers(text, "people and models", both, truth, best)


# Measuring


def measured(labels: Any, truth: np.ndarray) -> dict[str, float]:
    """Return what is in the table, for one method on one panel."""
    found = {"right": 100 * share_right(labels, truth), "open": 100 * float((labels.index < 0).mean())}
    if labels.evidence is None:
        return found
    has = labels.index >= 0
    confidence, correct = np.nan_to_num(labels.confidence[has].astype(float)), (labels.index == truth)[has]
    found["ece"] = calibration_error(confidence, correct)
    found["auc"] = discrimination(confidence, correct)
    found["expected"], found["wrong"] = float((1 - confidence).sum()), float((~correct).sum())
    doubt = np.sort(1 - np.nan_to_num(labels.confidence.astype(float), nan=0.0))[::-1]
    order = np.argsort(np.nan_to_num(labels.confidence.astype(float), nan=0.0), kind="stable")
    left = doubt.sum() - np.concatenate([[0], doubt.cumsum()])
    reviewed = int((left > 0.05 * len(truth)).sum())
    good = labels.index == truth
    if good.mean() < 0.95:
        good[order[:reviewed]] = True
        found["review"] = 100 * float(good.mean())
    return found


def by_crowd_kit(votes: Votes, truth: np.ndarray) -> dict[str, dict[str, float]]:
    """Return the accuracy of crowd-kit's methods, if it is installed; it knows no panel."""
    import pandas as pd

    ragged = votes.ragged
    item = np.repeat(np.arange(len(votes)), np.diff(ragged.indptr))
    named = ragged.label >= 0
    frame = pd.DataFrame({"task": item[named], "worker": ragged.expert[named], "label": ragged.label[named]})
    found = {}
    for name, method in crowd_kit().items():
        index = method(frame).reindex(np.arange(len(votes))).to_numpy()
        found[name] = {"right": 100 * float((index == truth).mean())}
    return found


Figures = dict[str, dict[str, float]]


def compared(panel: Answers, methods: tuple[str, ...], peers: bool) -> Figures:
    """Return the figures of every method on one panel."""
    found = {method: measured(decode(panel.votes, method=method), panel.truth) for method in methods}
    if panel.best_model is not None:
        found["best model alone"] = {"right": panel.best_model}
    return found | (by_crowd_kit(panel.votes, panel.truth) if peers else {})


def panels_of(given: argparse.Namespace, half: str) -> Iterator[Answers]:
    """Yield the panels of a half."""
    if "people" in given.kinds:
        yield from people_panels(half, given.people, given.items)
    if "models" in given.kinds:
        yield from model_panels(given.data, given.cache, half, given.every)
    if "mixed" in given.kinds:
        yield from mixed_panels(given.data, half, given.mixed, given.items)


Rows = list[dict[str, Any]]


def table(rows: Rows, kind: str) -> list[str]:
    """Return a Markdown table of one kind of panels: means, the worst panel against the best simple rule."""
    names = list(dict.fromkeys([*METHODS, *(method for row in rows for method in row["figures"])]))
    names = [name for name in names if all(name in row["figures"] for row in rows)]
    lines = [
        f"| {kind} ({len(rows)} panels) | right % | worst against majority | calibration error | AUC | "
        "open % | expected / real errors | after review for 95% |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        figures = [row["figures"][name] for row in rows]
        column = {key: np.array([one.get(key, np.nan) for one in figures]) for key in (
            "right", "ece", "auc", "open", "expected", "wrong", "review")}  # fmt: skip
        simple = np.array([row["figures"].get("majority", {}).get("right", np.nan) for row in rows])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cells = [
                f"{np.nanmean(column['right']):.1f}", f"{np.nanmin(column['right'] - simple):+.1f}",
                f"{np.nanmean(column['ece']):.3f}", f"{np.nanmean(column['auc']):.3f}",
                f"{np.nanmean(column['open']):.1f}",
                f"{np.nansum(column['expected']) / np.nansum(column['wrong']):.2f}",
                f"{np.nanmean(column['review']):.1f}",
            ]  # fmt: skip
        lines.append(f"| {name} | {' | '.join(cell.replace('nan', '') for cell in cells)} |")
    return lines


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    here = Path(__file__).resolve().parent
    parser.add_argument("--data", type=Path, default=here.parent.parent / "shared/data", help="data folder")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/covote/votes")
    parser.add_argument("--half", nargs="*", default=["choose", "confirm"], choices=HALVES)
    parser.add_argument("--kinds", nargs="*", default=["people", "models", "mixed"])
    parser.add_argument("--people", type=int, default=30, help="panels of people in each half")
    parser.add_argument("--mixed", type=int, default=6, help="mixed panels of each data set")
    parser.add_argument("--every", type=int, default=3, help="one model panel of this many")
    parser.add_argument("--items", type=int, default=2000, help="items of a simulated panel")
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--peers", action="store_true", help="crowd-kit's methods, too; few classes only")
    parser.add_argument("--keep", type=Path, help="add the figures of every panel to those in this file")
    parser.add_argument("-o", "--output", type=Path, help="write the tables here")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[tuple[str, str], Rows] = defaultdict(list)
    kept: dict[str, Figures] = {}
    if given.keep and given.keep.exists():
        kept = json.loads(given.keep.read_text())
    began = time.process_time()
    for half in given.half:
        for panel in panels_of(given, half):
            if given.peers and len(panel.votes.panel.classes) > MOST_FOR_PEERS:
                continue
            new = compared(panel, tuple(given.methods), given.peers)
            key = f"{half}, {panel.kind}, {panel.name}"
            figures = kept[key] = kept.get(key, {}) | new
            found[half, panel.kind].append({"name": panel.name, "half": half, "figures": figures})
            if given.keep:
                given.keep.write_text(json.dumps(kept))
            shown = ", ".join(f"{name} {one['right']:.1f}" for name, one in figures.items())
            print(f"{panel.name}: {shown}", file=sys.stderr, flush=True)
    lines = [
        f"`python {' '.join(sys.argv)}`, {datetime.date.today()}, {time.process_time() - began:.0f} CPU s."
    ]
    for (half, kind), rows in found.items():
        lines += ["", *table(rows, f"{half}: {kind}")]
    print("\n".join(lines))
    if given.output:
        given.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
