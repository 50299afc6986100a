"""Measure the design engine against the best covers known, against bounds, and against the clock.

    python benchmarks/covers.py records                      # every cell of the table, effort normal
    python benchmarks/covers.py records --effort max --sample 150
    python benchmarks/covers.py large                        # thousands of classes
    python benchmarks/covers.py times                        # every pair covered 2, 3 and 5 times
    python benchmarks/covers.py compare                      # next to a greedy and CP-SAT (ortools)

The best covers known are in `tests/theory/covering_records.csv`.
A run that was interrupted goes on with `--resume`; `--report` only reports what it has measured so far (the
cells come in random order, so that this is a random sample). Times are CPU seconds of this process, without
imports and compilation.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import sys
import time
from pathlib import Path

import numpy as np

from covote.bounds import schonheim_bound
from covote.covers import design
from covote.decoding.gold import wilson

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
LARGE = [(1000, 32), (5000, 50), (10000, 100), (2000, 40), (700, 25), (1024, 16)]
COMPARED = [(10, 4), (20, 5), (37, 7), (60, 8)]
CP_SAT_SECONDS = 60
RUNS = ("normal", "max", "large", "times", "compare")
OTHER_SAMPLES = ((90, 110), (37, 40))
"""Matched and all cases of two other samples at normal effort."""
ZONES = [(3, 4), (5, 6), (7, 9), (10, 14), (15, 25)]


def warm_up() -> None:
    for effort in ("fast", "normal"):
        design(20, 3, effort=effort)
        design(24, 5, effort=effort)
    design(12, 5, redundancy=2)


def measured(case: tuple[int, int, int, str, int]) -> dict[str, object]:
    """Design one panel and return its size, bound and CPU time; the panel is verified by `design` itself."""
    classes, size, times, effort, seed = case
    start = time.process_time()
    panel = design(classes, size, redundancy=times, effort=effort, seed=seed)
    proof = panel.certificate
    assert proof is not None
    return {
        "v": classes,
        "k": size,
        "times": times,
        "size": len(panel),
        "lower": int(proof.lower),
        "bound": proof.bound,
        "construction": proof.construction,
        "cpu": round(time.process_time() - start, 3),
    }


def read_records() -> dict[tuple[int, int], int]:
    """Return the size of the smallest cover known of v classes by experts of k."""
    with (ROOT / "tests" / "theory" / "covering_records.csv").open() as file:
        return {(int(row["v"]), int(row["k"])): int(row["size"]) for row in csv.DictReader(file)}


def run(cases: list[tuple[int, int, int, str, int]], store: Path, resume: bool, processes: int) -> list[dict]:
    """Measure all cases, writing each result as soon as it is there."""
    done: dict[tuple[int, int, int], dict] = {}
    if resume and store.exists():
        for line in store.read_text().splitlines():
            row = json.loads(line)
            done[row["v"], row["k"], row["times"]] = row
    if not processes:
        return [done[case[:3]] for case in cases if case[:3] in done]
    open_cases = [case for case in cases if case[:3] not in done]
    with store.open("a" if resume else "w") as file, multiprocessing.Pool(processes, warm_up) as pool:
        for number, row in enumerate(pool.imap_unordered(measured, open_cases, chunksize=1), 1):
            done[row["v"], row["k"], row["times"]] = row
            file.write(json.dumps(row) + "\n")
            file.flush()
            if number % 50 == 0:
                print(f"{number} of {len(open_cases)}", file=sys.stderr, flush=True)
    return [done[case[:3]] for case in cases]


def table(header: list[str], rows: list[list[object]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def summary(name: str, rows: list[dict], records: dict[tuple[int, int], int]) -> list[object]:
    best = np.array([records[row["v"], row["k"]] for row in rows])
    size = np.array([row["size"] for row in rows])
    proved = [row["size"] <= row["lower"] for row in rows]
    ratio = size / best
    return [
        name,
        len(rows),
        f"{(size <= best).mean():.1%}",
        int((size < best).sum()),
        f"{ratio.mean():.4f}",
        f"{ratio.max():.3f}",
        f"{np.mean(proved):.1%}",
        f"{np.mean([row['cpu'] for row in rows]):.2f}",
        f"{max(row['cpu'] for row in rows):.1f}",
    ]


def report(name: str, rows: list[dict]) -> None:
    """Keep what was measured, and write the page again from all that is kept."""
    RESULTS.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(row) for row in rows)
    (RESULTS / f"{name}.json").write_text(f"[\n{lines}\n]\n")
    text = page()
    print(text)
    (RESULTS / "covers.md").write_text(text)


def page() -> str:
    """Return the page of all covers that are kept."""
    results = {name: json.loads((RESULTS / f"covers-{name}.json").read_text()) for name in RUNS}
    records = read_records()
    sizes = ["cases", "number", "as small", "smaller", "mean", "worst", "proved optimal", "CPU s", "most"]
    by_zone = {
        effort: table(sizes, [summary(zone, part, records) for zone, part in zones(results[effort])])
        for effort in ("normal", "max")
    }
    normal = summary("", results["normal"], records)
    matched = sum(row["size"] <= records[row["v"], row["k"]] for row in results["normal"])
    low, high = (float(end) for end in wilson(matched, len(results["normal"])))
    samples = [(matched, len(results["normal"])), *OTHER_SAMPLES]
    shares = ", ".join(f"{part / number:.1%} of {number}" for part, number in samples)
    pooled, cases = (sum(numbers) for numbers in zip(*samples, strict=True))
    pooled_low, pooled_high = (float(end) for end in wilson(pooled, cases))
    of_max, repeated = len(results["max"]), sum(row["times"] > 1 for row in results["times"])
    return f"""# How small are the panels?

{normal[2]} of {normal[1]} random cases (95% interval: {low:.0%} to {high:.0%}) are as small as the best cover
known in 2017, and {normal[6]} are proved optimal, at {normal[7]} CPU seconds each. In the
others a smaller cover is known: panels are {float(normal[4]) - 1:.2%}
larger on average, and {float(normal[5]) - 1:.1%} at worst. Over three samples ({shares}),
{pooled / cases:.0%} are as small as the best cover known (95% interval: {pooled_low:.0%} to
{pooled_high:.0%}).

## Compared with the best covers known

Sizes in relation to the La Jolla Covering Repository of 2017, for fewer than 100 classes and experts who know
k of them, effort normal:

{by_zone["normal"]}

The five largest losses:

{losses(results["normal"], records)}

Effort max, on another sample:

{by_zone["max"]}

## Compared with a plain greedy and an obvious model

The greedy builds one expert after another, and always adds the class with the most pairs that are not
covered yet; the best of ten runs. The model for OR-Tools' CP-SAT has a variable for every expert and class,
and one for every expert and pair; it may use as many experts as the greedy, minimises their number, and has
one worker for about {CP_SAT_SECONDS} CPU seconds. CPU seconds in brackets.

{compared(results["compare"])}

## Thousands of classes

{large(results["large"])}

## Redundancy

Each pair known by 2, 3 or 5 common experts, compared with the Schonheim bound. In no case would copies of a
panel with redundancy 1 have been smaller, if the last column but one is 0:

{redundancy(results["times"])}

## How it was measured

Sizes are counted, and every panel is checked; nothing is simulated. CPU seconds are those of one process,
without imports.

* `python benchmarks/covers.py records --sample 300 --sample-seed 5`
* `python benchmarks/covers.py records --effort max --sample 150 --report`: {of_max} of 150 cases
* `python benchmarks/covers.py compare`
* `python benchmarks/covers.py large`
* `python benchmarks/covers.py times --sample 100 --sample-seed 3 --report`: {repeated} cases

## Where it falls short

Where experts know five or six classes, a smaller cover is known most often. The files `covers-*.json` in this
folder have every case. The runs with effort max and with redundancy are older than the others.
"""


def zones(rows: list[dict]) -> list[tuple[str, list[dict]]]:
    parts = [(f"k = {a} to {b}", [row for row in rows if a <= row["k"] <= b]) for a, b in ZONES]
    return [(zone, part) for zone, part in [("all", rows), *parts] if part]


def losses(rows: list[dict], records: dict) -> str:
    worst = sorted(rows, key=lambda row: -row["size"] / records[row["v"], row["k"]])[:5]
    header = ["classes", "k", "best known", "size", "lower bound", "built from"]
    lines = [
        [row["v"], row["k"], records[row["v"], row["k"]], row["size"], row["lower"], row["construction"]]
        for row in worst
    ]
    return table(header, lines)


def large(rows: list[dict]) -> str:
    lines = [
        [
            row["v"],
            row["k"],
            row["size"],
            f"{row['size'] / schonheim_bound(row['v'], row['k']) - 1:.1%}",
            row["cpu"],
        ]
        for row in rows
    ]
    return table(["classes", "k", "experts", "above the Schonheim bound", "CPU s"], lines)


def redundancy(rows: list[dict]) -> str:
    single = {(row["v"], row["k"]): row["size"] for row in rows if row["times"] == 1}
    lines = []
    for times in (2, 3, 5):
        part = [row for row in rows if row["times"] == times]
        ratio = [row["size"] / schonheim_bound(row["v"], row["k"], times) for row in part]
        more = sum(row["size"] > times * single[row["v"], row["k"]] for row in part)
        cpu = np.mean([row["cpu"] for row in part])
        lines.append([times, len(part), f"{np.mean(ratio):.4f}", f"{max(ratio):.3f}", more, f"{cpu:.2f}"])
    return table(["redundancy", "cases", "mean", "worst", "copies smaller", "CPU s"], lines)


def bench_records(arguments: argparse.Namespace) -> None:
    records = read_records()
    cells = sorted(cell for cell in records if arguments.least <= cell[1] <= arguments.most)
    shuffled = [cells[i] for i in np.random.default_rng(arguments.sample_seed).permutation(len(cells))]
    chosen = shuffled[: arguments.sample or None]
    name = f"covers-{arguments.effort}" + (f"-{arguments.label}" if arguments.label else "")
    cases = [(v, k, 1, arguments.effort, arguments.seed) for v, k in chosen]
    rows = run(cases, RESULTS / f".{name}.jsonl", arguments.resume, arguments.processes)
    wrong = [row for row in rows if row["lower"] > records[row["v"], row["k"]]]
    if wrong:
        sys.exit(f"wrong proof: {wrong[0]}")
    report(name, rows)


def bench_large(arguments: argparse.Namespace) -> None:
    warm_up()
    design(300, 50)
    rows = [measured((v, k, 1, arguments.effort, arguments.seed)) for v, k in LARGE]
    report("covers-large", rows)


def bench_times(arguments: argparse.Namespace) -> None:
    random = np.random.default_rng(arguments.sample_seed)
    cells = [(v, k) for v in range(6, 61) for k in range(3, min(v, 26))]
    chosen = [cells[i] for i in random.permutation(len(cells))[: arguments.sample or 100]]
    cases = [(v, k, times, arguments.effort, arguments.seed) for v, k in chosen for times in (1, 2, 3, 5)]
    rows = run(cases, RESULTS / ".covers-times.jsonl", arguments.resume, arguments.processes)
    report("covers-times", rows)


def plain_greedy(classes: int, size: int, rng: np.random.Generator) -> int:
    """Return the number of experts of a greedy cover that grows each expert class by class."""
    open_ = ~np.eye(classes, dtype=bool)
    experts = 0
    while open_.any():
        expert: list[int] = []
        for _ in range(size):
            gain = open_[expert].sum(axis=0) * classes**2 + open_.sum(axis=0) + rng.random(classes)
            gain[expert] = -1
            expert.append(int(gain.argmax()))
        open_[np.ix_(expert, expert)] = False
        experts += 1
    return experts


def by_cp_sat(classes: int, size: int, most: int) -> tuple[int | None, bool]:
    """Return the smallest cover that CP-SAT finds with at most `most` experts, and whether it proves it."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    knows = [[model.new_bool_var("") for _ in range(classes)] for _ in range(most)]
    used = [model.new_bool_var("") for _ in range(most)]
    for row, on in zip(knows, used, strict=True):
        model.add(sum(row) <= size).only_enforce_if(on)
        model.add(sum(row) == 0).only_enforce_if(~on)
    for j in range(classes):
        for k in range(j):
            both = [model.new_bool_var("") for _ in range(most)]
            for row, pair in zip(knows, both, strict=True):
                model.add_bool_and(row[j], row[k]).only_enforce_if(pair)
            model.add_bool_or(both)
    model.minimize(sum(used))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    # Its own measure of work, of which 3.3 took a CPU second: what else runs on the machine changes nothing.
    solver.parameters.max_deterministic_time = 3.3 * CP_SAT_SECONDS
    status = solver.solve(model)
    found = round(solver.objective_value) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None
    return found, status == cp_model.OPTIMAL


def bench_compare(arguments: argparse.Namespace) -> None:
    warm_up()
    rows = []
    for v, k in COMPARED:
        row = measured((v, k, 1, arguments.effort, arguments.seed))
        start = time.process_time()
        row["greedy"] = min(plain_greedy(v, k, np.random.default_rng(n)) for n in range(10))
        between = time.process_time()
        row["cp_sat"], row["cp_sat_proved"] = by_cp_sat(v, k, int(row["greedy"]))
        row["greedy_cpu"], row["cp_sat_cpu"] = between - start, time.process_time() - between
        rows.append(row)
        print(row, flush=True)
    report("covers-compare", rows)


def compared(rows: list[dict]) -> str:
    return table(
        ["classes", "k", "at least", "covote", "greedy", "CP-SAT"],
        [
            [
                row["v"],
                row["k"],
                row["lower"],
                f"{row['size']} ({row['cpu']:.1f})",
                f"{row['greedy']} ({row['greedy_cpu']:.1f})",
                f"{row['cp_sat'] or 'nothing'}{', proved' * row['cp_sat_proved']} ({row['cp_sat_cpu']:.0f})",
            ]
            for row in rows
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["records", "large", "times", "compare"])
    parser.add_argument("--effort", default="normal", choices=["fast", "normal", "max"])
    parser.add_argument("--sample", type=int, default=0, help="so many random cells; all unless given")
    parser.add_argument(
        "--sample-seed", type=int, default=0, help="which cells a sample has, and their order"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the searches")
    parser.add_argument("--least", type=int, default=3, help="smallest size k")
    parser.add_argument("--most", type=int, default=25, help="largest size k")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--label", default="", help="goes into the names of the result files")
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted run")
    parser.add_argument("--report", action="store_true", help="report an interrupted run, measure nothing")
    arguments = parser.parse_args()
    if arguments.report:
        arguments.resume, arguments.processes = True, 0
    benches = {"records": bench_records, "large": bench_large, "times": bench_times, "compare": bench_compare}
    benches[arguments.what](arguments)


if __name__ == "__main__":
    main()
