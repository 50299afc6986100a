"""Asking one expert at a time: answers per item next to asking everybody, speed, and memory.

python benchmarks/asking.py --data ../shared/data [-o benchmarks/results/asking.md] [PART ...]

Parts: simulated, promises, promises_simulated, real, held_out, further, speed. The real votes are made as for
accuracy.py and kept in the folder of --cache; the first time takes about four CPU minutes.
"""

from __future__ import annotations

import argparse
import datetime
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from people import photos
from real_votes import cases

from covote import Panel, Votes, decode, design, simulate
from covote.asking import Asker, Posterior
from covote.asking.answer_model import answer_table
from covote.errors import InputError
from covote.simulation import Similar

REAL = ("mnist", "banking77", "clinc150", "letter", "soybean")
HELD_OUT = ("fashion", "digits", "imagenet")
"""Data sets that had no part in choosing the rules."""


def replay(asker: Asker, votes: Votes) -> np.ndarray:
    """Answer every question from the votes; return labels, tied ones by the default decoder."""
    dense = votes.dense
    while len(asked := asker.next()):
        asker.tell_all(asked, dense[asked.item, asked.expert].astype(np.int64))
    labels = asker.labels().index
    left = labels < 0
    if left.any():
        labels = np.where(left, decode(asker.votes()).index, labels)
    return labels


def row(name: str, asked: str, asker: Asker, labels: np.ndarray, truth: np.ndarray, full: np.ndarray) -> str:
    per_item = asker.answers / len(asker)
    right, everybody = 100 * (labels == truth).mean(), 100 * (full == truth).mean()
    return f"| {name} | {asked} | {per_item:.2f} of {len(asker.panel)} | {right:.2f} | {everybody:.2f} |"


def simulated(given: argparse.Namespace) -> list[str]:
    """Perfect experts and experts that are 95% right, with uniform noise."""
    lines = [
        "| panel, rule | asked for | answers per item | accuracy % | asking all % |",
        "|---|---|---|---|---|",
    ]
    for classes, size, items, asked in (
        (10, 4, 20_000, "4.0"),
        (10, 2, 20_000, "9"),
        (100, 12, 5000, "14.4"),
        (1000, 40, 500, "26"),
    ):
        panel = design(classes, size, effort="fast")
        truth = np.random.default_rng(0).integers(0, classes, items)
        for accuracy, rule in ((1.0, "elimination"), (0.95, "vote")):
            votes = simulate(panel, truth, accuracy=accuracy, seed=1)
            full = decode(votes, evidence=False).index
            asker = Asker(panel, items, rule)
            labels = replay(asker, votes)
            text = f"K={classes}, R={size}, {accuracy:.0%} right: {rule}"
            lines.append(row(text, asked if accuracy == 1 else "", asker, labels, truth, full))
    return lines


PROMISED = (0.01, 0.02, 0.05, 0.1, 0.2)


def promise(
    gold: Votes, known: np.ndarray, votes: Votes, truth: np.ndarray, error: float
) -> tuple[str, bool]:
    """Return what a promise comes to: refused, or how many are settled and wrong; and whether it was kept."""
    try:
        rule = Posterior.learned(gold, known, error=error)
    except InputError:
        return "refused", True
    asker = Asker(votes.panel, len(votes), rule)
    replay(asker, votes)
    done = asker.done
    wrong = float((asker.labels().index != truth)[done].mean()) if done.any() else 0.0
    within = wrong <= error + 2 * (error * (1 - error) / max(int(done.sum()), 1)) ** 0.5
    share = asker.answers / len(votes) / len(votes.panel)
    return f"{wrong:.1%} of {done.mean():.0%} settled, {share:.0%} of the answers", within


def promises(given: argparse.Namespace) -> list[str]:
    """Keep promises on trained models: half of the items are gold, the others are asked about.

    The covers of all data sets, or one of this many (--every). A promise is kept if the share of wrong labels
    among the settled items is at most the promised one plus two standard errors.
    """
    lines = ["| data/family/size | " + " | ".join(f"at most {error:.0%}" for error in PROMISED) + " |"]
    lines += ["|---" * (1 + len(PROMISED)) + "|"]
    kept, broken, refused = [dict.fromkeys(PROMISED, 0) for _ in range(3)]
    for number, case in enumerate(cases(given.data, given.cache, REAL + HELD_OUT)):
        if number % given.every:
            continue
        panel = Panel(case.knows.shape[1], case.knows[: case.cover])
        votes = Votes.from_dense(case.votes[:, : case.cover], panel)
        half = np.array_split(np.random.default_rng(0).permutation(len(votes)), 2)
        gold, asked = (votes.subset(rows) for rows in half)
        cells = []
        for error in PROMISED:
            text, fine = promise(gold, case.truth[half[0]], asked, case.truth[half[1]], error)
            (refused if text == "refused" else kept if fine else broken)[error] += 1
            cells.append(text if fine else f"**{text}**")
        lines.append(f"| {case.name} | {' | '.join(cells)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    sums = [f"{kept[e]} kept, {broken[e]} broken, {refused[e]} refused" for e in PROMISED]
    return [*lines, f"| **all** | {' | '.join(sums)} |"]


def promises_simulated(given: argparse.Namespace) -> list[str]:
    """Keep a promise of 1% on simulated experts who answer by similarity; 2,000 gold items at random.

    3,000 items; three seeds each.
    """
    lines = ["| classes, size, similarity | right, temperature | three seeds |", "|---|---|---|"]
    for classes, size, dimensions in ((100, 12, 2), (60, 8, 2), (30, 6, 2), (200, 20, 3)):
        panel = design(classes, size, effort="fast")
        for accuracy, temperature in ((1.0, 0.0), (1.0, 0.2), (0.95, 0.0), (0.95, 0.1)):
            cells = []
            for seed in (11, 12, 13):
                rng = np.random.default_rng(seed)
                truth, gold = rng.integers(0, classes, 3000), rng.integers(0, classes, 2000)
                near = rng.random((classes, dimensions))
                alike = -np.linalg.norm(near[:, None] - near[None], axis=2)
                how = {"noise": Similar(alike, temperature), "accuracy": accuracy}
                votes = simulate(panel, truth, seed=seed, **how)
                shown = simulate(panel, gold, seed=seed + 100, **how)
                text, fine = promise(shown, gold, votes, truth, 0.01)
                cells.append(text if fine else f"**{text}**")
            lines.append(
                f"| {classes}, {size}, {dimensions} dimensions | {accuracy:.0%}, {temperature:g} | "
                f"{'; '.join(cells)} |"
            )
    return lines


def real(given: argparse.Namespace) -> list[str]:
    """Replay the votes of trained models: the covers of all data sets, families and sizes."""
    return replayed(given, REAL)


def held_out(given: argparse.Namespace) -> list[str]:
    """Replay votes on data sets that had no part in choosing the rules."""
    return replayed(given, HELD_OUT)


def replayed(given: argparse.Namespace, names: tuple[str, ...]) -> list[str]:
    lines = ["| data/family/size | experts | asking all % | " + " | ".join(("elimination", "vote")) + " |"]
    lines += ["|---|---|---|---|---|"]
    found: dict[str, list[tuple[float, float]]] = {"elimination": [], "vote": []}
    for case in cases(given.data, given.cache, names):
        panel = Panel(case.knows.shape[1], case.knows[: case.cover])
        votes = Votes.from_dense(case.votes[:, : case.cover], panel)
        everybody = 100 * (decode(votes, evidence=False).index == case.truth).mean()
        cells = []
        for rule, so_far in found.items():
            asker = Asker(panel, len(votes), rule)
            labels = replay(asker, votes)
            share = 100 * asker.answers / len(votes) / case.cover
            lost = everybody - 100 * (labels == case.truth).mean()
            so_far.append((share, lost))
            cells.append(f"{share:.1f}% of the answers, {-lost:+.2f}")
        lines.append(f"| {case.name} | {case.cover} | {everybody:.2f} | {' | '.join(cells)} |")
    means = {rule: np.mean(so_far, axis=0) for rule, so_far in found.items()}
    cells = [f"{share:.1f}% of the answers, {-lost:+.2f}" for share, lost in means.values()]
    lines.append(f"| **mean of {len(found['vote'])}** | | | {' | '.join(cells)} |")
    lines += [
        "",
        f"Asked for: at most 38% at 0.4 points lost (elimination: {means['elimination'][0]:.1f}% at "
        f"{means['elimination'][1]:.2f}), at most 60% at 0.15 (vote: {means['vote'][0]:.1f}% at "
        f"{means['vote'][1]:.2f}).",
    ]
    return lines


def speed(given: argparse.Namespace) -> list[str]:
    """Decisions (a question chosen, its answer taken) a CPU second, and a million items in flight."""
    lines = [
        "| panel, items in flight, rule | asked for | decisions a CPU second | memory |",
        "|---|---|---|---|",
    ]
    for classes, size, items, rule, wanted in (
        (10, 4, 1_000_000, "elimination", "1e6, 2 GB"),
        (10, 4, 1_000_000, "vote", ""),
        (1000, 40, 1000, "elimination", "1e4"),
        (1000, 40, 300, "posterior", ""),
    ):
        panel = design(classes, size, effort="fast")
        truth = np.random.default_rng(0).integers(0, classes, items)
        dense = simulate(panel, truth, seed=1).dense
        if rule == "posterior":
            gold = np.arange(3000) % classes
            rule = Posterior(answer_table(simulate(panel, gold, seed=2), gold))
        warm = Asker(panel, 200, rule)
        while len(asked := warm.next()):
            warm.tell_all(asked, dense[asked.item, asked.expert].astype(np.int64))
        asker, spent = Asker(panel, items, rule), 0.0
        begin = time.process_time()
        while len(asked := asker.next()):
            spent += time.process_time() - begin
            answers = dense[asked.item, asked.expert].astype(np.int64)
            begin = time.process_time()
            asker.tell_all(asked, answers)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        name = rule if isinstance(rule, str) else rule.name
        lines.append(
            f"| K={classes}, R={size}, {items:,} items: {name} | {wanted} | {asker.answers / spent:,.0f} | "
            f"{peak:.2f} GB (whole process) |"
        )
    return lines


def further(given: argparse.Namespace) -> list[str]:
    """Ask on: the 40,000 photos of people.py with 4 answers of 23 volunteers each, and 4,000 more answers."""
    votes, everybody, truth = photos()
    whole, panel, more, rng = everybody.dense, votes.panel, 4000, np.random.default_rng(0)
    given_ = votes.dense != -1

    def right(item: np.ndarray, expert: np.ndarray) -> str:
        dense = votes.dense.copy()
        dense[item, expert] = whole[item, expert]
        return f"{100 * (decode(Votes.from_dense(dense, panel)).index == truth).mean():.1f}"

    begin = time.process_time()
    best = Asker.from_votes(votes, partial=True).best(more)
    spent = time.process_time() - begin
    free = np.argwhere(~given_)
    drawn = free[rng.choice(len(free), more, replace=False)].T
    doubtful = np.argsort(decode(votes).confidence)[:more]
    anybody = np.array([rng.choice(np.flatnonzero(~given_[n])) for n in doubtful])
    lines = [
        "| further answers | labels right % | CPU s |",
        "|---|---|---|",
        f"| none | {right(*drawn[:, :0])} | |",
    ]
    lines += [f"| drawn at random | {right(*drawn)} | |"]
    lines += [f"| the least confident items, anybody | {right(doubtful, anybody)} | |"]
    return [
        *lines,
        f"| `Asker.from_votes(votes).best({more})` | {right(best.item, best.expert)} | {spent:.1f} |",
    ]


PARTS: dict[str, Callable[[argparse.Namespace], list[str]]] = {
    "simulated": simulated,
    "promises": promises,
    "promises_simulated": promises_simulated,
    "real": real,
    "held_out": held_out,
    "further": further,
    "speed": speed,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help="which parts to measure; all unless given")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/covote/votes")
    parser.add_argument("--every", type=int, default=1, help="promises: one cover of this many")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    lines = ["# Asking fewer experts", "", f"`python benchmarks/asking.py`, {datetime.date.today()}."]
    for name in given.parts or PARTS:
        lines += [
            "",
            f"## {name}",
            "",
            (PARTS[name].__doc__ or "").split("\n\n")[0].replace("\n    ", " "),
            "",
        ]
        lines += PARTS[name](given)
        print("\n".join(lines[-30:]), flush=True)
    if given.output:
        given.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
