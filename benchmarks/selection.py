"""Cheapest experts of a random pool: covote.select next to OR-Tools' set cover search and HiGHS.

    python benchmarks/selection.py [--pools 10] [--seconds 10] [--methods covote,ortools,highs] [--resume]

Each pool has random experts of equal size with whole costs from 50 to 150. All three get the same pools.
Times are CPU seconds of this process. `--seconds` is HiGHS's limit; it looks at the wall clock, so that on a
busy machine it is given as many times more as the machine is slower. OR-Tools runs greedy, steepest, then
guided local search.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
from pages import replace_table

from covote import Panel, select
from covote.covers.set_cover.problem import pool_cover

CASES = [(50, 10, 500), (100, 20, 500), (200, 25, 5000)]
GUIDED = 1_000_000
"""Iterations of OR-Tools' guided local search, in one run."""


def random_pool(classes, size, experts, seed):
    rng = np.random.default_rng(seed)
    knows = np.zeros((experts, classes), dtype=bool)
    for row in knows:
        row[rng.choice(classes, size, replace=False)] = True
    return Panel(classes, knows, cost=rng.integers(50, 151, experts))


def problem_of(pool):
    return pool_cover(pool.knows, np.ones((len(pool.classes),) * 2, dtype=np.int32), pool.cost)


def by_covote(pool, _seconds):
    chosen = select(pool)
    assert chosen.covers()
    return chosen.certificate.size, chosen.certificate.lower


def by_ortools(pool, _seconds):
    from ortools.set_cover.python import set_cover

    start, rows, _, cost = problem_of(pool)
    model = set_cover.SetCoverModel()
    for j in range(len(cost)):
        model.add_empty_subset(float(cost[j]))
        for row in rows[start[j] : start[j + 1]].tolist():
            model.add_element_to_last_subset(row)
    model.create_sparse_row_view()
    invariant = set_cover.SetCoverInvariant(model)
    set_cover.GreedySolutionGenerator(invariant).next_solution()
    set_cover.SteepestSearch(invariant).set_max_iterations(100_000).next_solution()
    guided = set_cover.GuidedLocalSearch(invariant)
    guided.initialize()
    guided.set_max_iterations(GUIDED).next_solution()
    return invariant.cost(), None


def by_highs(pool, seconds):
    from scipy.optimize import Bounds, LinearConstraint, milp

    problem = problem_of(pool)
    answer = milp(
        problem.cost,
        constraints=LinearConstraint(problem.matrix(), lb=problem.demand),
        integrality=np.ones(len(problem.cost)),
        bounds=Bounds(0, 1),
        options={"time_limit": seconds},
    )
    return (answer.fun if answer.x is not None else float("nan")), answer.mip_dual_bound


METHODS = {"covote": by_covote, "ortools": by_ortools, "highs": by_highs}


def slowness():
    """How many wall seconds one CPU second takes now; HiGHS counts the former."""
    wall, cpu = time.perf_counter(), time.process_time()
    while time.process_time() - cpu < 0.5:
        pass
    return max(1.0, (time.perf_counter() - wall) / (time.process_time() - cpu))


def measure(row, name, seconds):
    """Add what one method finds in one pool to its row."""
    pool = random_pool(row["classes"], row["size"], row["experts"], row["seed"])
    limit = seconds * slowness() if name == "highs" else seconds
    before = time.process_time()
    total, lower = METHODS[name](pool, limit)
    row[name] = {"cost": total, "lower": lower, "cpu": round(time.process_time() - before, 2)}
    print(name, row["classes"], row["size"], row["seed"], row[name], flush=True)


def table(rows):
    heads = [
        "K, R, pool",
        "method",
        "pools",
        "mean cost",
        "covote, same pools",
        "mean lower bound",
        "mean CPU s",
    ]
    lines = [heads, ["---"] * len(heads)]
    for case in CASES:
        for name in METHODS:
            mine = [r for r in rows if (r["classes"], r["size"], r["experts"]) == case and name in r]
            if not mine:
                continue
            lower = [r[name]["lower"] for r in mine if r[name]["lower"] is not None]
            cells = [str(case)[1:-1], name, str(len(mine)), f"{np.mean([r[name]['cost'] for r in mine]):.1f}"]
            cells.append(f"{np.mean([r['covote']['cost'] for r in mine]):.1f}" if name != "covote" else "")
            cells.append(f"{np.mean(lower):.0f}" if lower else "")
            cpu = [r[name]["cpu"] for r in mine]
            cells.append(f"{np.mean(cpu):.1f} (max {max(cpu):.1f})")
            lines.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def save(rows, options):
    import ortools
    import scipy

    report = {
        "command": f"python benchmarks/selection.py --pools {options.pools} --seconds {options.seconds:g}",
        "date": time.strftime("%Y-%m-%d"),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "ortools": ortools.__version__,
        },
        "rows": rows,
    }
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    replace_table(options.out.with_suffix(".md"), table(rows).splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pools", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--resume", action="store_true", help="measure only what the results file lacks")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "selection.json")
    options = parser.parse_args()
    rows = json.loads(options.out.read_text())["rows"] if options.resume else []
    known = {(row["classes"], row["size"], row["experts"], row["seed"]) for row in rows}
    for seed in range(options.pools):
        for case in CASES:
            if (*case, seed) not in known:
                rows.append(dict(zip(("classes", "size", "experts", "seed"), (*case, seed), strict=True)))
    rows.sort(key=lambda row: (row["seed"], row["classes"]))
    by_covote(random_pool(*CASES[0], seed=10**6), 0)  # compile first
    for name in options.methods.split(","):
        for row in rows:
            if row["seed"] < options.pools and name not in row:
                measure(row, name, options.seconds)
                save(rows, options)
    print(table(rows))


if __name__ == "__main__":
    main()
