"""Which decoder suits people who answer whatever they are shown?

    python benchmarks/people.py

Every expert knows a part of the classes, errs on its own, and names the most similar class that it knows when
it is shown another one: similar noise with independent errors, as of doctors in their own fields. Accuracy of
the decoders on simulated votes, in points against the default, mean over panels and seeds.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

import covote

METHODS = ("learned", "majority", "em", "dawid-skene")
CASES = ((8, 4), (10, 4), (15, 5), (20, 7))
ACCURACIES = (0.95, 0.85, 0.75)


def measured(
    classes: int, size: int, accuracy: float, removed: int, items: int, seed: int
) -> dict[str, float]:
    """Return the share of right labels of every method on one panel."""
    panel = covote.design(classes, size, effort="fast", seed=seed)
    rng = np.random.default_rng(seed)
    panel = panel.without(*(panel.names[i] for i in rng.permutation(len(panel))[:removed]))
    truth = rng.integers(0, classes, items)
    votes = covote.simulate(panel, truth, noise="similar", accuracy=accuracy, seed=seed)
    return {
        m: float(covote.decode(votes, method=m, evidence=False).expected_score(truth).mean()) for m in METHODS
    }


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    here = Path(__file__).resolve().parent
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=here / "results/people.md")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*of the answers seem")
    lines = [
        "# Which method suits people who answer whatever they are shown?",
        "",
        "Accuracy of the default, and points of the other methods against it (worst panel):",
        "",
        f"| accuracy of the experts, panel | learned | {' | '.join(METHODS[1:])} |",
        "|---|" + "---|" * len(METHODS),
    ]
    for accuracy in ACCURACIES:
        for removed, kind in ((0, "full cover"), (2, "2 removed")):
            found = defaultdict(list)
            for classes, size in CASES:
                for seed in range(given.seeds):
                    right = measured(classes, size, accuracy, removed, given.items, seed)
                    for method, share in right.items():
                        found[method].append(100 * (share - (method != "learned") * right["learned"]))
            cells = [f"{np.mean(found['learned']):.1f}%"]
            cells += [f"{np.mean(found[m]):+.1f} ({min(found[m]):+.1f})" for m in METHODS[1:]]
            lines.append(f"| {accuracy:.0%}, {kind} | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    lines += [
        "",
        "## How it was measured",
        "",
        f"`python benchmarks/people.py --seeds {given.seeds}`: simulated people, whose mistakes are "
        "independent. They guess by similarity about what they do not know, and every expert answers every "
        f"item; {given.items} items a panel. An open item counts for a fair draw.",
        "",
        "## Where it falls short",
        "",
        "Everyone answers everything here. With few answers per item, another method can be ahead.",
    ]
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
