"""How right the decoders are on real votes.

    python benchmarks/accuracy.py --data ../shared/data

Points of accuracy against the paper's decoder (its expectation over random ties), mean over panels of eight
data sets, several families of experts and sizes of experts; on full covers, with experts removed, and on
random panels; then on panels whose experts are of several families, and of weak ones. What was chosen (the
weight of I in the tie score, the power of the probabilities) was chosen on one half of the data sets and is
confirmed on the other; both are shown. The first run trains the experts (about ten CPU minutes) and keeps
their votes in --cache.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from real_votes import HALVES, MIXED, Case, cases
from scipy.stats import rankdata

import covote
from covote import Panel, Votes, decode

KINDS = ("full cover", "1 removed", "2 removed", "30% removed", "random panel")
HARD = ("learned", "anchored", "likelihood", "em", "dawid-skene")
SOFT = ("learned", "coupling", "mean")
"""The default is measured on all panels; the others, which take longer, on the first of each kind of every
case, and beyond 50 classes only on full covers and random panels."""


def panels(case: Case, repeats: int = 3) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (kind, experts) of every panel of a case, each once."""
    m, rng, seen = case.cover, np.random.default_rng(7), set()
    wanted = [("full cover", np.arange(m))]
    for _ in range(repeats):
        for kind, gone in (("1 removed", 1), ("2 removed", 2), ("30% removed", max(1, round(0.3 * m)))):
            wanted.append((kind, np.sort(rng.permutation(m)[gone:])))
    wanted += [("random panel", np.arange(r * m, (r + 1) * m)) for r in range(1, 4)]
    for kind, experts in wanted:
        if (kind, experts.tobytes()) not in seen:
            seen.add((kind, experts.tobytes()))
            yield kind, experts


def votes_of(case: Case, experts: np.ndarray) -> tuple[Votes, Votes]:
    """Return the votes of some experts, without and with their probabilities."""
    sizes = case.knows.sum(axis=1)
    start = np.cumsum(sizes) - sizes
    columns = np.concatenate([np.arange(start[i], start[i] + sizes[i]) for i in experts])
    panel = Panel(case.knows.shape[1], case.knows[experts])
    hard = Votes.from_dense(case.votes[:, experts], panel)
    soft = Votes.from_dense(
        case.votes[:, experts], panel, probabilities=np.minimum(case.probabilities[:, columns], 1)
    )
    return hard, soft


def paper(case: Case, experts: np.ndarray) -> float:
    """Return the accuracy of the paper's decoder, ties broken by chance (expectation)."""
    knows, votes = case.knows[experts], case.votes[:, experts]
    authorities = knows.sum(axis=0)
    count = np.stack([(votes == k).sum(axis=1) for k in range(knows.shape[1])], axis=1)
    common = np.lcm.reduce(np.maximum(authorities, 1).astype(object))
    weight = np.array([int(common) // max(int(d), 1) for d in authorities], dtype=object)
    score = np.where(authorities > 0, count * weight, -1)
    best = score == score.max(axis=1, keepdims=True)
    return float((best[np.arange(len(votes)), case.truth] / best.sum(axis=1)).mean())


def right(labels: covote.Labels, truth: np.ndarray) -> float:
    """Return the share of right labels; an item left tied counts for what a random choice would give."""
    found = float((labels.index == truth).sum())
    for n in np.flatnonzero((labels.index < 0) & labels.tied):
        best = labels.tied_classes(int(n))
        found += (truth[n] in best) / len(best)
    return found / len(truth)


def calibration_error(confidence: np.ndarray, correct: np.ndarray, bins: int = 15) -> float:
    """Return the expected calibration error: mean gap between confidence and accuracy over equal bins."""
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    gap = np.bincount(bin_of, weights=confidence - correct, minlength=bins)
    return float(np.abs(gap).sum() / len(confidence))


def labelled(truth: np.ndarray, per_class: int) -> np.ndarray:
    """Choose labelled items: `per_class` of each class; -1 elsewhere."""
    rng = np.random.default_rng(3)
    gold = np.full(len(truth), -1)
    for k in np.unique(truth):
        rows = rng.permutation(np.flatnonzero(truth == k))[:per_class]
        gold[rows] = k
    return gold


def discrimination(confidence: np.ndarray, correct: np.ndarray) -> float:
    """Return the AUC: how often a right label has more confidence than a wrong one; NaN without both."""
    rank, many = rankdata(confidence), int(correct.sum())
    pairs = many * (len(correct) - many)
    return float((rank[correct].sum() - many * (many + 1) / 2) / pairs) if pairs else float("nan")


def share_among_ties(labels: covote.Labels) -> np.ndarray:
    """Return 1 over the number of classes with the best authority score, the simplest confidence."""
    share = np.ones(len(labels))
    share[labels.tied] = 1 / np.diff(labels.ties.start)
    return share


Table = dict[str, dict[str, list[float]]]

TRUST = ("AUC, 1 / ties", "AUC", "ECE, 1 / ties", "ECE")


def trusted(data: str, votes: Votes, truth: np.ndarray, labels: covote.Labels, trust: Table) -> None:
    """Add how well the confidence tells right labels from wrong, beside 1 over the number of ties."""
    has = labels.index >= 0
    correct = (labels.index == truth)[has]
    for name, confidence in (
        (", 1 / ties", share_among_ties(decode(votes, method="authority"))[has]),
        ("", labels.confidence[has]),
    ):
        row = trust[f"{data}, {'soft' if votes.soft else 'hard'}"]
        row[f"AUC{name}"].append(discrimination(confidence, correct))
        row[f"ECE{name}"].append(calibration_error(confidence, correct))


def trust_table(trust: Table) -> list[str]:
    """Return a Markdown table: mean over the panels of each data set."""
    lines = [f"| | {' | '.join(TRUST)} |", "|---|" + "---|" * len(TRUST)]
    for name, row in trust.items():
        lines.append(f"| {name} | {' | '.join(f'{np.nanmean(row[what]):.3f}' for what in TRUST)} |")
    return lines


def measure(case: Case, gains: Table, errors: Table, trust: Table, repeats: int, only_default: bool) -> None:
    """Add the numbers of all panels of a case."""
    done = {"1 removed", "2 removed", "30% removed"} if case.knows.shape[1] > 50 else set()
    for kind, experts in panels(case, repeats):
        base = paper(case, experts)
        hard, soft = votes_of(case, experts)
        for votes, form, methods in ((hard, "hard", HARD), (soft, "soft", SOFT)):
            for method in methods[:1] if only_default or kind in done else methods:
                labels = decode(votes, method=method)
                gains[f"{method}, {form}"][kind].append(100 * (right(labels, case.truth) - base))
                if method == "learned":
                    has = labels.index >= 0
                    miss = calibration_error(labels.confidence[has], (labels.index == case.truth)[has])
                    errors[f"no labels, {form}"][kind].append(miss)
                    trusted(case.data, votes, case.truth, labels, trust)
            if kind not in done:
                supervise(case, kind, votes, form, gains, errors, base)
        done.add(kind)


def supervise(
    case: Case, kind: str, votes: Votes, form: str, gains: Table, errors: Table, base: float
) -> None:
    """Add the numbers of the supervised decoder, on the items that were not labelled."""
    for per_class in (5, 20, 50):
        what = f"{per_class} labelled per class"
        gold = labelled(case.truth, per_class)
        rest = gold < 0
        if np.bincount(gold[gold >= 0]).mean() < per_class - 1 or rest.sum() < 100:
            continue
        labels = decode(votes, method="supervised", gold=gold)
        correct = (labels.index == case.truth)[rest]
        errors[f"{what}, {form}"][kind].append(calibration_error(labels.confidence[rest], correct))
        if per_class >= 20:
            plain = decode(votes, method="authority")
            before = right(plain, case.truth)  # the paper's, on all items
            default = (decode(votes, gold=gold).index == case.truth)[rest]
            gains[f"supervised ({what}), {form}"][kind].append(100 * (correct.mean() - before))
            # Fewer panels have so many items: what the default gains on the same ones.
            gains[f"learned beside it ({per_class}), {form}"][kind].append(100 * (default.mean() - before))


def table(rows: Table, form: str, worst: str) -> list[str]:
    """Return a Markdown table: mean over panels of each kind, and the worst panel."""
    lines = [f"| | {' | '.join(KINDS)} | {worst} |", "|---|" + "---|" * (len(KINDS) + 1)]
    for name, by_kind in rows.items():
        cells = [format(np.mean(by_kind[k]), form) if by_kind[k] else "" for k in KINDS]
        every = [value for k in KINDS for value in by_kind[k]]
        if not every:
            continue
        extreme = min(every) if worst == "worst panel" else np.mean(every)
        lines.append(f"| {name} | {' | '.join(cells)} | {format(extreme, form)} |")
    return lines


def merged(halves: list[Table]) -> Table:
    """Return the numbers of both halves together."""
    both: Table = defaultdict(lambda: defaultdict(list))
    for half in halves:
        for name, by_kind in half.items():
            for kind, values in by_kind.items():
                both[name][kind] += values
    return both


def main() -> None:
    """Measure everything and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    here = Path(__file__).resolve().parent
    parser.add_argument("--data", type=Path, default=here.parent.parent / "shared/data", help="data folder")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/covote/votes")
    parser.add_argument("--sets", nargs="*", help="only these data sets")
    parser.add_argument("--repeats", type=int, default=3, help="panels with experts removed, of each kind")
    parser.add_argument("--progress", type=Path, help="write the tables here after every case, too")
    parser.add_argument("--only-default", action="store_true", help="leave out the other methods")
    parser.add_argument("--only-mixed", action="store_true", help="measure experts of several families only")
    parser.add_argument("-o", "--output", type=Path, default=here / "results/accuracy.md")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*of the answers seem")
    began = time.process_time()
    gains: dict[str, Table] = {}
    errors: dict[str, Table] = {}
    trust: Table = defaultdict(lambda: defaultdict(list))
    for half in HALVES:
        gains[half], errors[half] = (defaultdict(lambda: defaultdict(list)) for _ in range(2))
    for half, names in HALVES.items() if not given.only_mixed else ():
        for case in cases(given.data, given.cache, tuple(n for n in names if n in (given.sets or names))):
            measure(case, gains[half], errors[half], trust, given.repeats, given.only_default)
            print(f"{case.name}: {time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
            if given.progress:
                given.progress.write_text("\n".join(report(gains, errors, trust)))
    lines = report(gains, errors, trust) if not given.only_mixed else heading()
    lines += ["", *mixed_tables(given)]
    if given.only_mixed:
        given.output.write_text("\n".join(lines) + "\n")
        print("\n".join(lines))
        return
    from crowd import crowd_table

    lines += ["", *crowd_table(given.data), ""]
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text("\n".join(lines))
    print("\n".join(lines))


def mixed_tables(given: argparse.Namespace) -> list[str]:
    """Measure the default on experts of several families, and on experts that saw few items."""
    kinds = ("of several families", "of several families that saw 12 items of each of their classes")
    gains: dict[str, Table] = {name: defaultdict(lambda: defaultdict(list)) for name in kinds}
    trust: Table = defaultdict(lambda: defaultdict(list))
    names = tuple(name for name in MIXED if name in (given.sets or MIXED))
    for case in cases(given.data, given.cache, names, mixed=True):
        rows = gains[kinds[case.family == "weak"]]
        for kind, experts in panels(case, given.repeats):
            base = paper(case, experts)
            for votes, form in zip(votes_of(case, experts), ("hard", "soft"), strict=True):
                labels = decode(votes)
                rows[f"learned, {form}"][kind].append(100 * (right(labels, case.truth) - base))
                trusted(f"{case.data}, mixed", votes, case.truth, labels, trust)
        print(case.name, file=sys.stderr, flush=True)
    lines = []
    for name, rows in gains.items():
        number = sum(len(values) for values in rows["learned, hard"].values())
        lines += [
            f"Experts {name} ({', '.join(names)}; {number} panels):",
            "",
            *table(rows, "+.2f", "worst panel"),
            "",
        ]
    return [*lines, "Confidence on these panels:", "", *trust_table(trust)]


def heading() -> list[str]:
    """Return the head of the tables: how they were made."""
    return [
        "# Accuracy on real votes",
        "",
        f"`python {' '.join(sys.argv)}`, {datetime.date.today()}, covote {covote.__version__}, "
        f"Python {platform.python_version()}, numpy {np.__version__}.",
    ]


def report(gains: dict[str, Table], errors: dict[str, Table], trust: Table) -> list[str]:
    """Return the tables as lines of Markdown."""
    counts = {half: sum(len(v) for v in gains[half]["learned, hard"].values()) for half in gains}
    lines = [
        *heading(),
        "",
        f"Points of accuracy against the paper's decoder, {sum(counts.values())} panels:",
        "",
        *table(merged(list(gains.values())), "+.2f", "worst panel"),
    ]
    for half, names in HALVES.items():
        lines += ["", f"The half to {half} on ({', '.join(names)}; {counts[half]} panels):", ""]
        lines += table(gains[half], "+.2f", "worst panel")
    lines += ["", "Expected calibration error of the confidence (15 bins, mean over panels):", ""]
    lines += table(merged(list(errors.values())), ".3f", "all panels")
    lines += ["", "How well the default's confidence tells right labels from wrong ones (AUC), and its"]
    lines += ["calibration error (ECE), beside 1 over the number of tied classes; mean over panels:", ""]
    return lines + trust_table(trust)


if __name__ == "__main__":
    main()
