"""Do labels depend on the order of items, experts or classes? ``python benchmarks/orders.py 1000``.

A case is a number: a panel, votes on it (half of them with probabilities), a method, and a permutation of
items, experts and classes. The labels of the permuted votes have to be those of the votes as they are, and
so have all numbers, up to rounding (a relative 1e-5). tests/property/test_orders.py runs a few dozen cases.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pages import replace_table

from covote import Labels, Panel, Votes, decode, simulate
from covote.decoding import DECODERS

CLOSE = 1e-5
RESULTS = Path(__file__).parent / "results" / "orders.md"


def case(number: int) -> tuple[str, Votes, np.random.Generator]:
    """Return a method, votes, and chance for the permutations."""
    rng = np.random.default_rng([2026, number])
    method = list(DECODERS)[number % len(DECODERS)]
    classes, experts = int(rng.integers(3, 9)), int(rng.integers(3, 10))
    knows = rng.random((experts, classes)) < rng.uniform(0.4, 0.9)
    knows[np.arange(experts), rng.integers(0, classes, experts)] = True
    knows[rng.integers(0, experts, classes), np.arange(classes)] = True
    panel = Panel([f"c{k}" for k in range(classes)], knows, [f"e{i}" for i in range(experts)])
    truth = rng.integers(0, classes, int(rng.integers(40, 300)))
    gaps = [0.0, 0.3]
    votes = simulate(
        panel, truth, accuracy=float(rng.uniform(0.5, 0.95)), missing=float(rng.choice(gaps)),
        none_rate=float(rng.choice(gaps)), seed=number,
    )  # fmt: skip
    if rng.random() < 0.5:
        soft = rng.dirichlet(np.ones(classes), size=(len(truth), experts)) * knows
        place = np.maximum(votes.dense, 0)[:, :, None]
        np.put_along_axis(soft, place, np.take_along_axis(soft, place, 2) + 1, 2)
        soft = soft * knows
        soft /= soft.sum(axis=2, keepdims=True)
        votes = Votes.from_dense(votes.dense, panel, probabilities=soft)
    return method, votes, rng


def permuted(votes: Votes, rng: np.random.Generator) -> Iterator[tuple[str, Votes, np.ndarray]]:
    """Yield the votes in other orders: what was permuted, the votes, and which item is where."""
    panel, rows = votes.panel, votes.dense
    soft = None
    if votes.class_probability is not None:
        soft = np.zeros((len(votes), *panel.knows.shape), dtype=np.float32)
        soft[:, *np.nonzero(panel.knows)] = votes.to_dense().class_probability.T
    same = (np.arange(len(votes)), np.arange(len(panel)), np.arange(len(panel.classes)))
    for what, axis in (("items", 0), ("experts", 1), ("classes", 2)):
        items, experts, classes = (rng.permutation(one) if n == axis else one for n, one in enumerate(same))
        moved = Panel(
            [panel.classes[k] for k in classes],
            panel.knows[np.ix_(experts, classes)],
            [panel.names[i] for i in experts],
        )
        place = np.append(np.argsort(classes), [-2, -1])
        dense = place[rows[np.ix_(items, experts)]]
        chances = None if soft is None else soft[np.ix_(items, experts, classes)]
        yield what, Votes.from_dense(dense, moved, items=votes.items[items], probabilities=chances), items


def differences(number: int) -> Iterator[str]:
    """Yield what differs in a case: "items: 3 labels", "classes: confidence by 0.002"."""
    method, votes, rng = case(number)
    before = decode(votes, method=method)
    for what, other, items in permuted(votes, rng):
        yield from (f"{what}: {text}" for text in _compared(before, decode(other, method=method), items))


def _compared(before: Labels, after: Labels, items: np.ndarray) -> Iterator[str]:
    for name in ("value", "status", "violations"):
        one, two = np.asarray(getattr(before, name))[items], np.asarray(getattr(after, name))
        wrong = np.count_nonzero(one.astype(str) != two.astype(str))
        if wrong:
            yield f"{name} of {wrong} of {len(items)} items"
    for name in ("confidence", "margin"):
        one, two = getattr(before, name)[items], getattr(after, name)
        if not np.allclose(one, two, rtol=CLOSE, atol=CLOSE, equal_nan=True):
            yield f"{name} by {np.nanmax(np.abs(one - two)):.2g}"


def main() -> None:
    """Run the cases, and write a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="?", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--method", choices=list(DECODERS), help="only cases of this method")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    ran: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    started = time.process_time()
    for number in range(options.first, options.first + options.cases):
        method = list(DECODERS)[number % len(DECODERS)]
        if options.method not in (None, method):
            continue
        ran[method] += 1
        found = list(differences(number))
        bad[method] += bool(found)
        for text in found:
            print(f"case {number} ({method}): {text}", file=sys.stderr, flush=True)
    lines = ["| method | cases | with a difference |", "|---|---|---|"]
    lines += [f"| {method} | {ran[method]} | {bad[method]} |" for method in DECODERS if ran[method]]
    print("\n".join(lines))
    print(f"{sum(ran.values())} cases, {sum(bad.values())} differ, {time.process_time() - started:.0f} CPU s")
    if options.method is None and options.cases >= 300:
        replace_table(RESULTS, lines)
    sys.exit(bool(sum(bad.values())))


if __name__ == "__main__":
    main()
