"""How right are labels from simulated people, and how many wrong ones does the default expect?

    python benchmarks/people.py [PART ...] [--seeds 2]

Parts, each a table of results/people.md:

everything  Experts who answer every item, and name the most similar class that they know about the others.
ecologist   23 volunteers who know some of 180 species, 40,000 photos with 4 answers each.
known       People who answer only items of classes that they know, or say "none of mine" about the others.
sizes       Nine experts and ten classes, from 20 to 5 million items (--largest): expected and real errors.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from pages import replace_table
from sparse import drawn_people, measured, people

from covote import Panel, Votes, decode, design, simulate
from covote.simulation import Similar

METHODS = ("learned", "majority", "em", "dawid-skene")
CASES = ((8, 4), (10, 4), (15, 5), (20, 7))
ACCURACIES = (0.95, 0.85, 0.75)
RESULT = Path(__file__).parent / "results" / "people.md"


def everything(given: argparse.Namespace) -> list[str]:
    """Return a table: accuracy of the default, and points of the other methods against it."""
    lines = [
        f"| accuracy of the experts, panel | learned | {' | '.join(METHODS[1:])} |",
        "|---|" + "---|" * len(METHODS),
    ]
    for accuracy in ACCURACIES:
        for removed, kind in ((0, "full cover"), (2, "2 removed")):
            found = defaultdict(list)
            for classes, size in CASES:
                for seed in range(given.seeds):
                    right = on_everything(classes, size, accuracy, removed, seed)
                    for method, share in right.items():
                        found[method].append(100 * (share - (method != "learned") * right["learned"]))
            cells = [f"{np.mean(found['learned']):.1f}%"]
            cells += [f"{np.mean(found[m]):+.1f} ({min(found[m]):+.1f})" for m in METHODS[1:]]
            lines.append(f"| {accuracy:.0%}, {kind} | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def on_everything(classes: int, size: int, accuracy: float, removed: int, seed: int) -> dict[str, float]:
    """Return the share of right labels of every method on one panel."""
    panel = design(classes, size, effort="fast", seed=seed)
    rng = np.random.default_rng(seed)
    panel = panel.without(*(panel.names[i] for i in rng.permutation(len(panel))[:removed]))
    truth = rng.integers(0, classes, 1000)
    votes = simulate(panel, truth, noise="similar", accuracy=accuracy, seed=seed)
    return {m: float(decode(votes, method=m, evidence=False).expected_score(truth).mean()) for m in METHODS}


def photos(
    noise: str | Similar = "uniform", sizes: str = "unequal", items: int = 40_000, seed: int = 0
) -> tuple[Votes, Votes, np.ndarray]:
    """Return (votes, what everybody would answer, truth): 4 of 23 volunteers answer about each photo.

    A volunteer knows 20 to 60% of 180 species and is right about these in about 9 of 10 cases. The k-th
    species has k to the power of -0.7 times as many photos as the first, or as many.
    """
    rng, species, experts = np.random.default_rng([180, seed]), 180, 23
    share = np.arange(1, species + 1) ** (-0.7 if sizes == "unequal" else 0.0)
    truth = rng.choice(species, items, p=share / share.sum())
    knows = rng.random((experts, species)) < rng.uniform(0.2, 0.6, (experts, 1))
    knows[rng.integers(0, experts, species), np.arange(species)] = True
    whole = simulate(Panel(species, knows), truth, noise=noise, accuracy=rng.beta(17, 2, experts), seed=seed)
    asked = rng.random((items, experts)).argsort(axis=1) < 4
    return Votes.from_dense(np.where(asked, whole.dense, -1), whole.panel), whole, truth


FIGURES = "right % | calibration error | expected / real errors | after review for 95%"


def figures(votes: Votes, truth: np.ndarray, method: str) -> tuple[float, str]:
    """Return the accuracy of a method in percent, and the cells of `FIGURES`."""
    found = measured(decode(votes, method=method), truth)
    rest = f"{found['ece']:.3f} | {found['expected'] / max(found['wrong'], 1):.2f}"
    review = f"{found['review']:.1f}" if "review" in found else ""
    cells = f"{found['right']:.1f} | {rest} | {review}"
    return found["right"], f"{found['right']:.1f} | | | " if method == "majority" else cells


def ecologist(given: argparse.Namespace) -> list[str]:
    """Return a table: the default, `em` and a majority vote on photos of 180 species."""
    lines = [f"| guesses, photos per species | method | {FIGURES} |", "|---" * 6 + "|"]
    for noise, guesses in ((Similar(temperature=0.1), "similar"), ("uniform", "uniform")):
        for sizes in ("unequal", "equal"):
            for seed in range(given.seeds):
                votes, _, truth = photos(noise, sizes, seed=seed)
                for method in ("learned", "em", "majority"):
                    cells = figures(votes, truth, method)[1]
                    lines.append(f"| {guesses}, {sizes}, draw {seed + 1} | {method} | {cells} |")
                    print(lines[-1], file=sys.stderr, flush=True)
    return lines


def known(given: argparse.Namespace) -> list[str]:
    """Return a table: means over panels of people who answer only what they know, or say "none of mine"."""
    methods = ("learned", "majority", "authority", "em")
    lines = [f"| people answer | {' | '.join(methods)} | learned - majority, worst panel |"]
    lines += ["|---" * (2 + len(methods)) + "|"]
    for odds, name in ((1e9, "only what they know"), (8.0, "mostly what they know"), (-1.0, "none of mine")):
        found = []
        for n in range(given.panels):
            rng = np.random.default_rng([77, n])
            how = dataclasses.replace(drawn_people(rng, "choose"), odds=odds)
            panel, votes, truth = people(how, 2000, rng)
            votes = Votes.from_dense(votes, panel)
            found.append([
                100 * float(decode(votes, method=m, evidence=False).expected_score(truth).mean())
                for m in methods
            ])  # fmt: skip
        table = np.array(found)
        means = " | ".join(f"{mean:.1f}" for mean in table.mean(axis=0))
        lines.append(f"| {name} | {means} | {(table[:, 0] - table[:, 1]).min():+.1f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def sizes(given: argparse.Namespace) -> list[str]:
    """Return a table: how many labels are expected to be wrong, and how many are, by the number of items."""
    lines = ["| items | guesses | expected wrong % | wrong % | expected / real | CPU s |", "|---" * 6 + "|"]
    panel = design(10, 4, effort="fast")
    for items in (20, 1000, 20_000, 400_000, 5_000_000, 20_000_000):
        if items > given.largest:
            continue
        for noise, accuracy in (("uniform", 0.9), ("similar", 0.85)):
            truth = np.random.default_rng(1).integers(0, 10, items, dtype=np.int8)
            votes = simulate(panel, truth, accuracy=accuracy, noise=noise, seed=3)
            began = time.process_time()
            labels = decode(votes)
            spent = time.process_time() - began
            has = labels.index >= 0
            expected = float((1 - labels.confidence[has].astype(float)).sum() / items)
            wrong = float((labels.index != truth)[has].sum() / items)
            ratio = f"{expected / wrong:.2f}" if wrong else ""
            row = f"{100 * expected:.2f} | {100 * wrong:.2f} | {ratio} | {spent:.1f}"
            lines.append(f"| {items:,} | {noise} | {row} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


PARTS: dict[str, Callable[[argparse.Namespace], list[str]]] = {
    "everything": everything,
    "ecologist": ecologist,
    "known": known,
    "sizes": sizes,
}


def main() -> None:
    """Measure some parts, and write their tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", help="which parts to measure (default: all)")
    parser.add_argument("--seeds", type=int, default=2, help="draws of each case")
    parser.add_argument("--panels", type=int, default=12, help="panels of the part 'known'")
    parser.add_argument("--largest", type=int, default=5_000_000, help="items of the part 'sizes', at most")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in given.parts or PARTS:
        replace_table(RESULT, PARTS[name](given), list(PARTS).index(name))


if __name__ == "__main__":
    main()
