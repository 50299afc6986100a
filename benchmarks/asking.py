"""Asking one expert at a time: answers per item next to asking everybody, speed, and memory.

python benchmarks/asking.py --data ../shared/data [-o benchmarks/results/asking.md] [PART ...]

Parts: simulated, similar, kept, real, held_out, speed, exact. The real votes are made as for
accuracy.py and kept in the folder of --cache; the first time takes about four CPU minutes.
"""

from __future__ import annotations

import argparse
import datetime
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from real_votes import cases

from covote import Panel, Votes, decode, design, simulate
from covote.asking import Asker, Posterior
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
    for classes, size, items, asked, error in (
        (10, 4, 20_000, ("4.0", "5.2"), 0.02),
        (10, 2, 20_000, ("9", "19"), 0.01),
        (100, 12, 5000, ("14.4", "9.9"), 0.01),
        (1000, 40, 500, ("26", "24"), 0.01),
    ):
        panel = design(classes, size, effort="fast")
        truth = np.random.default_rng(0).integers(0, classes, items)
        for accuracy, rules in (
            (1.0, {"elimination": asked[0]}),
            (0.95, {"vote": asked[1] if classes == 10 else "", "posterior": asked[1]}),
        ):
            votes = simulate(panel, truth, accuracy=accuracy, seed=1)
            full = decode(votes, evidence=False).index
            for name, wanted in rules.items():
                rule = Posterior(error=error, accuracy=accuracy) if name == "posterior" else name
                asker = Asker(panel, items, rule)
                labels = replay(asker, votes)
                text = f"K={classes}, R={size}, {accuracy:.0%} right: {name}"
                text += f" at {error:.0%}" if name == "posterior" else ""
                lines.append(row(text, wanted, asker, labels, truth, full))
    return lines


def similar(given: argparse.Namespace) -> list[str]:
    """Experts that answer by similarity about what they do not know; an error of 1% is promised."""
    panel = design(100, 12, effort="fast")
    rng = np.random.default_rng(0)
    truth, gold = rng.integers(0, 100, 5000), np.repeat(np.arange(100), 20)
    near = rng.random((100, 2))
    alike = -np.linalg.norm(near[:, None] - near[None], axis=2)
    lines = ["| rule | asked for | answers per item | accuracy % | asking all % |", "|---|---|---|---|---|"]
    for accuracy, temperature in ((1.0, 0.0), (1.0, 0.05), (0.95, 0.0)):
        how = {"noise": Similar(alike, temperature), "accuracy": accuracy}
        votes = simulate(panel, truth, seed=1, **how)
        full = decode(votes, evidence=False).index
        shown = simulate(panel, gold, seed=2, **how)
        for name, rule, wanted in (
            ("elimination", "elimination", ">= 99%"),
            (
                "posterior, learned from 20 gold items a class",
                Posterior.learned(shown, gold, error=0.01),
                "<= 6",
            ),
            ("posterior, uniform model (the trap)", Posterior(error=0.01, accuracy=0.99), ""),
        ):
            asker = Asker(panel, len(truth), rule)
            labels = replay(asker, votes)
            text = f"{accuracy:.0%} right, temperature {temperature:g}: {name}"
            lines.append(row(text, wanted, asker, labels, truth, full))
    return lines


def kept(given: argparse.Namespace) -> list[str]:
    """Keep the promise of 1% on covers, similarities and noises that had no part in choosing the rule.

    Posterior, learned from 20 gold items a class; 3,000 items; three seeds each. Settled: the items whose
    error the rule promises to be at most 1%.
    """
    lines = [
        "| classes, size, similarity | right, temperature | answers per item | accuracy % | of settled % |",
        "|---|---|---|---|---|",
    ]
    for classes, size, dimensions in ((100, 12, 2), (100, 12, 5), (60, 8, 2), (30, 6, 2), (200, 20, 3)):
        panel = design(classes, size, effort="fast")
        gold = np.repeat(np.arange(classes), 20)
        for accuracy, temperature in ((1.0, 0.0), (1.0, 0.05), (1.0, 0.2), (0.95, 0.0), (0.95, 0.1)):
            answers, right, settled = [], [], []
            for seed in (11, 12, 13):
                rng = np.random.default_rng(seed)
                truth, near = rng.integers(0, classes, 3000), rng.random((classes, dimensions))
                alike = -np.linalg.norm(near[:, None] - near[None], axis=2)
                how = {"noise": Similar(alike, temperature), "accuracy": accuracy}
                votes = simulate(panel, truth, seed=seed, **how)
                shown = simulate(panel, gold, seed=seed + 100, **how)
                asker = Asker(panel, len(truth), Posterior.learned(shown, gold, error=0.01))
                labels = replay(asker, votes)
                answers.append(asker.answers / len(truth))
                right.append(100 * (labels == truth).mean())
                settled.append(100 * (labels == truth)[asker.done].mean())
            lines.append(
                f"| {classes}, {size}, {dimensions} dimensions | {accuracy:.0%}, {temperature:g} | "
                f"{np.mean(answers):.2f} of {len(panel)} | {np.mean(right):.2f} (least {min(right):.2f}) | "
                f"{np.mean(settled):.2f} (least {min(settled):.2f}) |"
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
        (1000, 40, 300, Posterior(error=0.01), ""),
    ):
        panel = design(classes, size, effort="fast")
        truth = np.random.default_rng(0).integers(0, classes, items)
        dense = simulate(panel, truth, seed=1).dense
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


PARTS: dict[str, Callable[[argparse.Namespace], list[str]]] = {
    "simulated": simulated,
    "similar": similar,
    "kept": kept,
    "real": real,
    "held_out": held_out,
    "speed": speed,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help="which parts to measure; all unless given")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/covote/votes")
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
