"""How many wrong labels stand at the top of the review list, and whether as many are wrong as it expects.

    python benchmarks/review.py --data ../shared/data [--kinds 'full cover' ...] [--old]

The panels are those of `accuracy.py`. An item is wrong if its label is not the truth, or if it has none. With
`--old` the list is the one that only has items on which not all agree; run it with the source of that time
(PYTHONPATH) to measure its labels, too.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from accuracy import panels, votes_of
from real_votes import HALVES, MIXED, cases

from covote import Labels, decode

FIRST = (0.05, 0.1, 0.2)


def order(labels: Labels, old: bool) -> np.ndarray:
    """Return the items of the list, in its order."""
    evidence = labels.evidence
    confidence = evidence.confidence.astype(float)
    margin = np.nan_to_num(evidence.margin.astype(float))
    doubt = 2.0 * (labels.index < 0) + 1 - np.nan_to_num(confidence, nan=0.5)
    ranked = np.lexsort((-evidence.violations, margin, -doubt))
    if old:
        return ranked[~np.isin(labels.status[ranked], ("agreed", "given"))][:10_000]
    return ranked


def counted(labels: Labels, truth: np.ndarray, old: bool) -> list[float]:
    """Return (panels, wrong items, wrong ones among the first, expected wrong labels, wrong labels)."""
    wrong, has = labels.index != truth, labels.index >= 0
    ranked = order(labels, old)
    top = [float(wrong[ranked[: round(share * len(wrong))]].sum()) for share in FIRST]
    expected = float(np.nansum(1 - labels.confidence[has].astype(float)))
    return [1, float(wrong.sum()), *top, expected, float((wrong & has).sum())]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/covote/votes").expanduser())
    parser.add_argument("--kinds", nargs="*", help="only these kinds of panels")
    parser.add_argument("--every", type=int, default=1, help="one case of this many")
    parser.add_argument("--old", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[tuple[str, str], np.ndarray] = defaultdict(lambda: np.zeros(7))
    plain = [(name, False) for names in HALVES.values() for name in names]
    for name, mixed in plain + [(name, True) for name in MIXED]:
        for number, case in enumerate(cases(given.data, given.cache, (name,), mixed=mixed)):
            if number % given.every:
                continue
            kinds = set()
            for kind, experts in panels(case, 1):
                if kind in kinds or (given.kinds and kind not in given.kinds):
                    continue  # one panel of each kind
                kinds.add(kind)
                for what, votes in zip(("plain", "probabilities"), votes_of(case, experts), strict=True):
                    found[f"{name}{', mixed' * mixed}", what] += counted(decode(votes), case.truth, given.old)
    print("| data | votes | panels | wrong | first 5% | first 10% | first 20% | expected errors / real |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in ("plain", "probabilities"):
        rows = {data: counts for (data, some), counts in found.items() if some == kind}
        rows["**all**"] = np.sum(list(rows.values()), axis=0)
        for data, (number, wrong, *top, expected, real) in rows.items():
            shares = " | ".join(f"{100 * some / max(wrong, 1):.1f}%" for some in top)
            print(
                f"| {data} | {kind} | {number:.0f} | {wrong:,.0f} | {shares} "
                f"| {expected / max(real, 1):.2f} |"
            )


if __name__ == "__main__":
    main()
