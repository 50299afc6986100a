"""How many wrong labels stand at the top of the review list, and whether as many are wrong as it expects.

    python benchmarks/review.py --data ../shared/data [--kinds 'full cover' ...]

The panels are those of `accuracy.py`. Items without a label come first in the list, so they are counted
apart. The table goes into results/review.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from accuracy import panels, votes_of
from pages import replace_table
from real_votes import HALVES, MIXED, cases

from covote import Labels, decode

FIRST = (0.05, 0.1, 0.2)
RESULT = Path(__file__).parent / "results" / "review.md"


def order(labels: Labels) -> np.ndarray:
    """Return the items of the list, in its order."""
    evidence = labels.evidence
    confidence = evidence.confidence.astype(float)
    margin = np.nan_to_num(evidence.margin.astype(float))
    doubt = 2.0 * (labels.index < 0) + 1 - np.nan_to_num(confidence, nan=0.5)
    return np.lexsort((-evidence.violations, margin, -doubt))


def counted(labels: Labels, truth: np.ndarray) -> list[float]:
    """Return (panels, wrong labels, items without one, either among the first, expected wrong labels)."""
    has = labels.index >= 0
    wrong = labels.index != truth
    ranked = order(labels)
    top = [float(wrong[ranked[: round(share * len(wrong))]].sum()) for share in FIRST]
    expected = float(np.nansum(1 - labels.confidence[has].astype(float)))
    return [1, float((wrong & has).sum()), float((~has).sum()), *top, expected]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/covote/votes").expanduser())
    parser.add_argument("--kinds", nargs="*", help="only these kinds of panels")
    parser.add_argument("--every", type=int, default=1, help="one case of this many")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[tuple[str, str], np.ndarray] = defaultdict(lambda: np.zeros(4 + len(FIRST)))
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
                for what, votes in zip(("no", "yes"), votes_of(case, experts), strict=True):
                    found[f"{name}{', mixed' * mixed}", what] += counted(decode(votes), case.truth)
    lines = [
        "| data | probabilities | panels | wrong labels | open "
        "| first 5% | first 10% | first 20% | expected / real |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for kind in ("no", "yes"):
        rows = {data: counts for (data, some), counts in found.items() if some == kind}
        rows["**all**"] = np.sum(list(rows.values()), axis=0)
        for data, (number, wrong, undecided, *top, expected) in rows.items():
            shares = " | ".join(f"{100 * some / max(wrong + undecided, 1):.1f}%" for some in top)
            lines.append(
                f"| {data} | {kind} | {number:.0f} | {wrong:,.0f} | {undecided:,.0f} | {shares} "
                f"| {expected / max(wrong, 1):.2f} |"
            )
    replace_table(RESULT, lines)


if __name__ == "__main__":
    main()
