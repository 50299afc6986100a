"""Speed and memory of the decoders next to crowd-kit, snorkel and cleanlab, in one process tree.

    make bench                   (installs the peers)
    python benchmarks/decoding.py [--quick] [-o benchmarks/results/decoding.md]

CPU time (user and system, all threads), the best of several runs for covote, one run for the slow peers.
Peers that need too much memory or time for a million items run on fewer, and the times per item are
compared: this favours them, since their cost per item grows with the table. What is timed for covote is a
call of ``decode`` on a `Votes` object. Rows of the bare vote use ``method="authority", evidence=False``,
which finds what the peers find, the labels. The default finds the evidence as well (confidence, margin,
runner-up, violations, status) and has rows of its own.
"""

from __future__ import annotations

import argparse
import functools
import gc
import platform
import subprocess
import sys
import time
import tracemalloc
import warnings
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from covote import Panel, Votes, decode

COVER_10_4 = [
    [0, 1, 2, 3], [0, 4, 5, 6], [0, 7, 8, 9], [1, 4, 7, 8], [1, 5, 6, 9],
    [2, 4, 8, 9], [2, 5, 6, 7], [3, 4, 7, 9], [3, 5, 6, 8],
]  # fmt: skip
ROWS: list[tuple[str, str, str, str]] = []
bare = functools.partial(decode, method="authority", evidence=False)


def report(what, asked, measured, note=""):
    ROWS.append((what, asked, measured, note))
    print(f"{what:58} {asked:>18} {measured:>14}  {note}", flush=True)


def fresh(votes):
    """Return the votes as a new object, which keeps nothing of what an earlier run found out about them."""
    return votes.part(0, len(votes))


def cpu(task, repeats=1):
    """Return the least CPU time of the task, in seconds."""
    times = []
    for _ in range(repeats):
        gc.collect()
        begin = time.process_time()
        task()
        times.append(time.process_time() - begin)
    return min(times)


def wall(task, repeats):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        task()
        times.append(time.perf_counter() - begin)
    return min(times)


def memory(task):
    """Return the peak of numpy's allocations during the task, in MB."""
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def simulated(panel, items, seed=0, accuracy=1.0):
    """Answers under the paper's uniform noise: (votes, truth)."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(panel.classes), size=items).astype(np.int16)
    kind = np.int8 if len(panel.classes) <= 128 else np.int16
    array = np.empty((items, len(panel)), dtype=kind, order="F")
    for i, known in enumerate(panel.knows):
        members = np.flatnonzero(known).astype(kind)
        answers = members[rng.integers(len(members), size=items)]
        right = known[truth] & (rng.random(items) < accuracy)
        array[:, i] = np.where(right, truth, answers)
    return Votes.from_dense(array, panel), truth


def long_frame(votes):
    """The votes as crowd-kit wants them."""
    import pandas as pd

    ragged = votes.ragged
    item = np.repeat(np.arange(len(votes)), np.diff(ragged.indptr))
    return pd.DataFrame(
        {"task": item, "worker": ragged.expert.astype(np.int64), "label": ragged.label.astype(np.int64)}
    )


def few_classes(items):
    from crowdkit.aggregation import MajorityVote

    panel = Panel.from_blocks(10, COVER_10_4)
    votes, truth = simulated(panel, items)
    assert (decode(votes).index == truth).all()
    ours = cpu(lambda: bare(fresh(votes)), 20)
    frame = long_frame(votes)
    theirs = cpu(lambda: MajorityVote().fit_predict(frame))
    case = f"authority, {items:,} x 9, K=10, int8, evidence=False"
    report(
        case,
        ">= 5,000 x",
        f"{theirs / ours:,.0f} x",
        f"crowd-kit MajorityVote {theirs:.2f} s, covote {ours * 1e3:.2f} ms",
    )
    report("  votes per CPU-second and core", ">= 4e9", f"{votes.answers / ours:.2e}")
    report(
        "  memory above the votes",
        "<= 20 MB",
        f"{memory(lambda: bare(fresh(votes))):.1f} MB",
        "numpy's allocations at their peak",
    )
    other_peers(votes, ours / items)
    evidence = cpu(lambda: decode(fresh(votes)), 5)
    report(
        "  with all evidence, the default",
        "",
        f"{theirs / evidence:,.0f} x",
        f"{evidence * 1e3:.0f} ms",
    )
    report("  memory with all evidence", "", f"{memory(lambda: decode(fresh(votes))):.1f} MB")
    gaps = np.asfortranarray(
        np.where(np.random.default_rng(1).random(votes.dense.shape) < 0.1, np.int8(-1), votes.dense)
    )
    partial = Votes.from_dense(gaps, panel)
    seconds = cpu(lambda: bare(fresh(partial)), 20)
    some = min(items, 100_000)
    frame = long_frame(partial.part(0, some))
    theirs = cpu(lambda: MajorityVote().fit_predict(frame)) / some
    report(
        "  a tenth of the answers missing, evidence=False",
        ">= 1,500 x",
        f"{theirs / (seconds / items):,.0f} x",
        f"{partial.answers / seconds:.2e} votes per CPU-second; crowd-kit on {some:,} items",
    )
    building = cpu(lambda: Votes.from_dense(votes.dense, panel), 5)
    report(
        "  Votes.from_dense, checking every vote",
        "",
        f"{votes.answers / building:.2e}",
        "votes per CPU-second",
    )


def other_peers(votes, ours):
    """Compare the time of an item with those of snorkel and cleanlab, where they are installed."""
    dense = np.ascontiguousarray(votes.part(0, min(len(votes), 100_000)).dense)
    if find_spec("snorkel"):
        from snorkel.labeling.model import MajorityLabelVoter

        peer = cpu(lambda: MajorityLabelVoter(cardinality=10).predict(dense)) / len(dense)
        report("  snorkel MajorityLabelVoter", "", f"{peer / ours:,.0f} x", f"{len(dense):,} items")
    if find_spec("cleanlab"):
        from cleanlab.multiannotator import get_majority_vote_label

        some = dense[:20_000].astype(float)
        peer = cpu(lambda: get_majority_vote_label(some)) / len(some)
        report("  cleanlab get_majority_vote_label", "", f"{peer / ours:,.0f} x", "20,000 items")


def two_threads(items):
    panel = Panel.from_blocks(10, COVER_10_4)
    votes, _ = simulated(panel, items)
    one = wall(lambda: bare(fresh(votes), workers=1), 9)
    two = wall(lambda: bare(fresh(votes), workers=2), 9)
    report(
        f"authority, {items:,} x 9, evidence=False: two threads",
        ">= 1.7 x one",
        f"{one / two:.2f} x",
        "wall time; needs two free cores",
    )


def many_classes(items):
    from crowdkit.aggregation import MajorityVote

    rng = np.random.default_rng(0)
    panel = Panel.from_blocks(100, [rng.choice(100, 12, replace=False).tolist() for _ in range(115)])
    votes, truth = simulated(panel, items)
    labels = decode(votes, method="authority")
    assert (labels.index[~labels.tied] == truth[~labels.tied]).all()
    ours = cpu(lambda: bare(fresh(votes)), 5) / items
    some = min(items, 50_000)
    frame = long_frame(votes.part(0, some))
    theirs = cpu(lambda: MajorityVote().fit_predict(frame)) / some
    report(
        f"authority, {items:,} x 115, K=100, R=12, evidence=False",
        ">= 1,000 x", f"{theirs / ours:,.0f} x",
        f"{ours * 1e9:.0f} ns an item; crowd-kit MajorityVote {theirs * 1e6:.0f} us on {some:,} items",
    )  # fmt: skip
    ours = cpu(lambda: decode(fresh(votes), evidence=False), 3) / items
    report(
        "  by the default, evidence=False",
        "",
        f"{theirs / ours:,.0f} x",
        f"{labels.tied.mean():.2%} of the items tie",
    )


def ragged(items, answers=20):
    from crowdkit.aggregation import MajorityVote

    rng = np.random.default_rng(0)
    panel = Panel.from_blocks(1000, [rng.choice(1000, 40, replace=False).tolist() for _ in range(757)])
    members = np.array([np.flatnonzero(known) for known in panel.knows])
    experts = np.sort(rng.integers(757, size=(items, answers)), axis=1)
    experts = (experts + np.arange(answers)) % 757  # sorted with distinct steps: no expert twice
    experts.sort(axis=1)
    distinct = (np.diff(experts, axis=1) > 0).all(axis=1)
    experts = experts[distinct]
    truth = rng.integers(1000, size=len(experts))
    label = members[experts, rng.integers(40, size=experts.shape)]
    label = np.where(panel.knows[experts, truth[:, None]], truth[:, None], label)
    indptr = np.arange(len(experts) + 1) * answers
    votes = Votes.from_ragged(indptr, experts.ravel(), label.ravel(), panel)
    seconds = cpu(lambda: bare(fresh(votes)), 5)
    frame = long_frame(votes.part(0, 20_000))
    theirs = cpu(lambda: MajorityVote().fit_predict(frame)) / 20_000
    report(
        f"authority ragged, K=1000, {answers} answers, {len(votes):,} items, evidence=False",
        "",
        f"{theirs / (seconds / len(votes)):,.0f} x",
        f"crowd-kit MajorityVote {theirs * 1e6:.0f} us an item, on 20,000 items",
    )
    report("  items per CPU-second", ">= 3e6", f"{len(votes) / seconds:.2e}")


def estimating(items):
    """The cover of 10 classes, as above; and nine people who all know four classes, where the start is equal.

    crowd-kit knows no panel and starts from N_k / 9; covote starts from N_k / d_k, which is the same where
    everybody knows everything.
    """
    from crowdkit.aggregation import DawidSkene, OneCoinDawidSkene

    warnings.simplefilter("ignore")
    options = {"smoothing": 0, "iterations": 10, "tolerance": 0}
    crowd = Panel.from_blocks(4, [range(4)] * 9)
    for panel, name in ((Panel.from_blocks(10, COVER_10_4), "cover, K=10"), (crowd, "crowd, K=4")):
        votes, _ = simulated(panel, items, accuracy=0.9 if panel is not crowd else 0.5)
        some = votes.part(0, min(items, 100_000))
        frame = long_frame(some)
        whole = functools.partial(fresh, votes)
        ours = cpu(lambda: decode(whole(), method="dawid-skene", **options), 3) / items  # noqa: B023
        peer = DawidSkene(n_iter=10, tol=0)
        theirs = cpu(lambda: peer.fit(frame)) / len(some)  # noqa: B023
        same = decode(some, method="dawid-skene", **options).index == peer.labels_.sort_index().to_numpy()
        report(
            f"dawid-skene, {items:,} x 9, 10 rounds, {name}", ">= 60 x", f"{theirs / ours:,.0f} x",
            f"{ours * 1e9:.0f} ns an item; {same.mean():.4%} equal labels on {len(some):,} items",
        )  # fmt: skip
        space = memory(lambda: decode(whole(), method="dawid-skene", **options))  # noqa: B023
        report("  memory above the votes", "<= 100 MB", f"{space:.0f} MB")
        coin = {"iterations": 10, "tolerance": 0}
        ours = cpu(lambda: decode(whole(), method="em", **coin), 3) / items  # noqa: B023
        theirs = cpu(lambda: OneCoinDawidSkene(n_iter=10, tol=0).fit(frame)) / len(some)  # noqa: B023
        report(
            f"em, {items:,} x 9, 10 rounds, {name}", ">= 100 x", f"{theirs / ours:,.0f} x",
            f"{ours * 1e9:.0f} ns an item",
        )  # fmt: skip


def growth(sizes):
    panel = Panel.from_blocks(10, COVER_10_4)
    times = []
    for size in sizes:
        votes, _ = simulated(panel, size // 9)
        times.append(cpu(lambda: bare(fresh(votes)), 7) / votes.answers)  # noqa: B023
    per = ", ".join(f"{t * 1e9:.3f}" for t in times)
    report(
        "time per vote at " + ", ".join(f"{size // 10**6}M" for size in sizes) + " votes, evidence=False",
        "linear",
        f"{max(times) / min(times):.2f} x", f"{per} ns; slowest over fastest",
    )  # fmt: skip


def first_call():
    code = (
        "import time; from covote import Panel, Votes, decode;"
        "panel = Panel.from_blocks(3, [[0, 1], [0, 2], [1, 2]]);"
        "labels = decode(Votes.from_dense([[0, 0, 1]] * 100, panel)); print(time.process_time())"
    )
    runs = []
    for _ in range(4):  # the first may have to fill the cache of compiled code
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        runs.append(float(done.stdout))
    report(
        "first call in a new process, python included",
        "< 1.5 s",
        f"{min(runs[1:]):.2f} s",
        f"first of four runs {runs[0]:.1f} s",
    )


def write(path, command):
    names = ("covote", "numpy", "numba", "pandas", "crowd-kit", "snorkel", "cleanlab")
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except Exception:
            found.append(name)
    lines = [
        "# Decoding: speed and memory", "",
        f"`{command}`, {date.today()}, Python {platform.python_version()}, {', '.join(found)}.",
        "CPU time, best of several runs; ratios are peer / covote in the same run.", "",
        "| what | asked | measured | |", "|---|---|---|---|",
    ]  # fmt: skip
    lines += [f"| {' | '.join(row)} |" for row in ROWS]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the items")
    parser.add_argument("-o", "--output", help="write the table to this file")
    parser.add_argument("only", nargs="*", help="few, threads, many, ragged, estimating, growth, first")
    arguments = parser.parse_args()
    size = 100_000 if arguments.quick else 1_000_000
    cases = {
        "few": lambda: few_classes(size),
        "threads": lambda: two_threads(10 * size),
        "many": lambda: many_classes(size),
        "ragged": lambda: ragged(size),
        "estimating": lambda: estimating(size),
        "growth": lambda: growth([size, 10 * size, 100 * size]),
        "first": first_call,
    }
    for name in arguments.only or cases:
        cases[name]()
    if arguments.output:
        write(arguments.output, "python " + " ".join(sys.argv))


if __name__ == "__main__":
    main()
