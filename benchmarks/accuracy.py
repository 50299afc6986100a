"""How right the decoders are on real votes.

    python benchmarks/accuracy.py --data ../shared/data [--every 3 --sets digits ... --keep numbers.json]

Points of accuracy against the paper's decoder (its expectation over random ties), mean over panels of eight
data sets, several families of experts and sizes of experts; on full covers, with experts removed, and on
random panels; then on panels whose experts are of several families, and of weak ones. The constants of the
default were chosen on one half of the data sets and are confirmed on the other; both are shown. The first run
trains the experts (about ten CPU minutes) and keeps their votes in --cache. With --keep, data sets can be
measured one after another: numbers are added to those in the file.
"""

from __future__ import annotations

import argparse
import json
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
HARD = ("learned", "likelihood", "em", "dawid-skene")
SOFT = ("learned",)
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


def proved(case: Case, experts: np.ndarray) -> np.ndarray:
    """Return the items whose label follows from Corollary 1 of the paper.

    Everyone who knows the class of the item names it, and these experts together know all classes.
    """
    knows, votes = case.knows[experts], case.votes[:, experts]
    authority = knows[:, case.truth].T  # items x experts
    unanimous = authority.any(axis=1) & ((votes == case.truth[:, None]) | ~authority).all(axis=1)
    covered = ((knows.T.astype(int) @ knows) > 0).all(axis=1)
    return unanimous & covered[case.truth]


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
Numbers = dict[str, Table]

FORMS = "plain votes", "probabilities"
GOLD_KINDS = "full cover", "30% removed"
MIXTURES = "of several families", "of several families that saw 12 items of each of their classes"

TRUST = ("AUC, 1 / ties", "AUC", "ECE, 1 / ties", "ECE")


def trusted(data: str, votes: Votes, truth: np.ndarray, labels: covote.Labels, trust: Table) -> None:
    """Add how well the confidence tells right labels from wrong, next to 1 over the number of ties."""
    has = labels.index >= 0
    correct = (labels.index == truth)[has]
    for name, confidence in (
        (", 1 / ties", share_among_ties(decode(votes, method="authority"))[has]),
        ("", labels.confidence[has]),
    ):
        row = trust[f"{data}, {FORMS[votes.soft]}"]
        row[f"AUC{name}"].append(discrimination(confidence, correct))
        row[f"ECE{name}"].append(calibration_error(confidence, correct))


def trust_table(trust: Table) -> list[str]:
    """Return a Markdown table: mean over the panels of each data set."""
    lines = [f"| | {' | '.join(TRUST)} |", "|---|" + "---|" * len(TRUST)]
    for name, row in trust.items():
        lines.append(f"| {name} | {' | '.join(f'{np.nanmean(row[what]):.3f}' for what in TRUST)} |")
    return lines


def measure(case: Case, numbers: Numbers, half: str, repeats: int, only_default: bool) -> None:
    """Add the numbers of all panels of a case."""
    gains, errors = numbers[f"{half} gains"], numbers["errors"]
    many = case.knows.shape[1] > 50
    done = {"1 removed", "2 removed", "30% removed"} if many else set()
    for kind, experts in panels(case, repeats):
        base = paper(case, experts)
        for votes, form, methods in zip(votes_of(case, experts), FORMS, (HARD, SOFT), strict=True):
            for method in methods[:1] if only_default or kind in done else methods:
                labels = decode(votes, method=method)
                gains[f"{method}, {form}"][kind].append(100 * (right(labels, case.truth) - base))
                if method == "learned":
                    count_proved(case, experts, kind, labels, form, numbers)
                    errors[f"no gold, {form}"][kind].append(calibration(labels, case.truth))
                    trusted(case.data, votes, case.truth, labels, numbers["trust"])
            if kind in GOLD_KINDS and kind not in done and not many:
                measure_gold(case, kind, votes, form, numbers)
        done.add(kind)


def count_proved(
    case: Case, experts: np.ndarray, kind: str, labels: covote.Labels, form: str, numbers: Numbers
) -> None:
    """Count the items whose label follows from Corollary 1, and those of them with another label."""
    items = proved(case, experts)
    numbers["proved"][f"items, {form}"][kind].append(int(items.sum()))
    numbers["proved"][f"other label, {form}"][kind].append(int((labels.index != case.truth)[items].sum()))


def calibration(labels: covote.Labels, truth: np.ndarray, among: np.ndarray | None = None) -> float:
    """Return the calibration error of the labels there are, among some items."""
    has = (labels.index >= 0) & (True if among is None else among)
    return calibration_error(labels.confidence[has], (labels.index == truth)[has])


def measure_gold(case: Case, kind: str, votes: Votes, form: str, numbers: Numbers) -> None:
    """Add the numbers of the default with gold items, on all other items."""
    for per_class in (5, 20, 50):
        gold = labelled(case.truth, per_class)
        rest = gold < 0
        if np.bincount(gold[gold >= 0]).mean() < per_class - 1 or rest.sum() < 100:
            continue
        base = decode(votes, method="authority").expected_score(case.truth)[rest].mean()
        labels = decode(votes, gold=gold)
        what = f"learned, {per_class} gold items per class, {form}"
        numbers["errors"][what][kind].append(calibration(labels, case.truth, rest))
        numbers["gold"][what][kind].append(100 * (labels.expected_score(case.truth)[rest].mean() - base))


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


def measure_mixed(case: Case, numbers: Numbers, repeats: int) -> None:
    """Measure the default on experts of several families, and on experts that saw few items."""
    rows = numbers[MIXTURES[case.family == "weak"]]
    for kind, experts in panels(case, repeats):
        base = paper(case, experts)
        for votes, form in zip(votes_of(case, experts), FORMS, strict=True):
            labels = decode(votes)
            count_proved(case, experts, kind, labels, form, numbers)
            rows[f"learned, {form}"][kind].append(100 * (right(labels, case.truth) - base))
            trusted(f"{case.data}, several families", votes, case.truth, labels, numbers["trust"])


def read(path: Path | None) -> Numbers:
    """Return the numbers that were kept, or none."""
    found: Numbers = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    if path is not None and path.exists():
        for name, rows in json.loads(path.read_text()).items():
            for row, by_kind in rows.items():
                found[name][row].update(by_kind)
    return found


def main() -> None:
    """Measure everything and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    here = Path(__file__).resolve().parent
    parser.add_argument("--data", type=Path, default=here.parent.parent / "shared/data", help="data folder")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/covote/votes")
    parser.add_argument("--sets", nargs="*", help="only these data sets")
    parser.add_argument("--repeats", type=int, default=3, help="panels with experts removed, of each kind")
    parser.add_argument("--every", type=int, default=1, help="one case of this many, of each data set")
    parser.add_argument("--keep", type=Path, help="add to the numbers in this file")
    parser.add_argument("--only-default", action="store_true", help="leave out the other methods")
    parser.add_argument("-o", "--output", type=Path, default=here / "results/accuracy.md")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*of the answers seem")
    began = time.process_time()
    numbers = read(given.keep)
    for half, names in {**HALVES, "": tuple(MIXED)}.items():
        wanted = tuple(n for n in names if n in (given.sets or names))
        for number, case in enumerate(cases(given.data, given.cache, wanted, mixed=not half)):
            if number % given.every:
                continue
            if half:
                measure(case, numbers, half, given.repeats, given.only_default)
            else:
                measure_mixed(case, numbers, given.repeats)
            print(f"{case.name}: {time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
    if given.keep:
        given.keep.write_text(json.dumps(numbers))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    command = f"python {' '.join(sys.argv)}"
    given.output.write_text("\n".join(report(numbers, command)) + "\n")


def report(numbers: Numbers, command: str) -> list[str]:
    """Return the page as lines of Markdown."""

    def panels_of(rows: Table) -> int:
        return sum(len(values) for values in rows[f"learned, {FORMS[0]}"].values())

    def gains(rows: Table, kind: str) -> str:
        means = [f"{np.mean(rows[f'learned, {form}'][kind]):.1f}" for form in FORMS]
        return f"{means[0]} points, {means[1]} with probabilities"

    def worst(rows: Table) -> str:
        return " and ".join(
            f"{min(value for values in rows[f'learned, {form}'].values() for value in values):+.1f}"
            for form in FORMS
        )

    def total(what: str) -> int:
        return sum(sum(values) for values in numbers["proved"][what].values())

    halves = [numbers[f"{half} gains"] for half in HALVES]
    both = merged(halves)
    plain, soft = (tuple(total(f"{what}, {form}") for what in ("items", "other label")) for form in FORMS)
    lines = [
        "# How good are the labels of trained models?",
        "",
        "If two experts of a panel are missing, the default is ahead of the paper's vote by "
        f"{gains(both, KINDS[2])}; the worst of all {panels_of(both)} panels of one family changes by "
        f"{worst(both)}. The paper's Corollary 1 proves a label where everyone who knows the class of an "
        f"item names it, and these experts together know all classes: {plain[0]:,} items, of which "
        f"{plain[1]} got another label ({soft[0]:,} and {soft[1]} with probabilities).",
        "",
        "## Points above the paper's vote",
        "",
        f"All {panels_of(both)} panels of experts of one family:",
        "",
        *table(both, "+.2f", "worst panel"),
    ]
    for (half, names), rows in zip(HALVES.items(), halves, strict=True):
        if panels_of(rows):
            lines += ["", f"The half to {half} on ({', '.join(names)}; {panels_of(rows)} panels):", ""]
            lines += table(rows, "+.2f", "worst panel")
    for name in MIXTURES:
        rows = numbers[name]
        if panels_of(rows):
            lines += ["", f"Experts {name} ({', '.join(MIXED)}; {panels_of(rows)} panels):", ""]
            lines += table(rows, "+.2f", "worst panel")
    if numbers["gold"]:
        lines += ["", "With gold items, on all other items (up to 50 classes):", ""]
        lines += table(numbers["gold"], "+.2f", "worst panel")
    lines += ["", "## Is the confidence right?", ""]
    lines += ["Expected calibration error (15 bins, mean over panels):", ""]
    lines += table(numbers["errors"], ".3f", "all panels")
    lines += [
        "",
        "How well the default's confidence tells right labels from wrong ones (AUC), and its calibration "
        "error (ECE), compared with 1 over the number of tied classes; mean over panels:",
        "",
        *trust_table(numbers["trust"]),
    ]
    return [
        *lines,
        "",
        "## How it was measured",
        "",
        f"`{command}`: trained classifiers, every expert answers every item. *Full cover*: every pair of "
        "classes has a common expert; then experts are removed. An open item counts for a random choice "
        "among its tied classes.",
        "",
        "## Where it falls short",
        "",
        "On panels that cover every pair there is little to gain. The worst panels are random ones of weak "
        "experts. On single datasets the confidence is far off: too high where experts make the same "
        "mistakes, and too low on some with many classes. Gold items mend both.",
    ]


if __name__ == "__main__":
    main()
