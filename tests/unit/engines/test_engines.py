"""Every engine gives the same results, in the same order, whatever happens to its workers."""

import os
import signal
import time
from functools import partial
from itertools import count, islice

import pytest

from covote.engines import Dask, Engine, make_engine
from covote.errors import EngineError, InputError

KINDS = {
    "local": {"name": "local"},
    "dask": {"name": "dask", "workers": 2},
}


@pytest.fixture(scope="module", params=list(KINDS))
def engine(request):
    with make_engine(**KINDS[request.param]) as made:
        yield made


def square(number):
    time.sleep(0.002 * (number % 3))
    return number * number


def refuse_seven(number):
    if number >= 7:
        raise InputError(f"{number} is refused")
    return number


def killed_once(folder, number):
    """Kill the worker the first time that part 5 is run."""
    if number == 5 and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number, (folder / "killed").exists()


def kill(number):
    os.kill(os.getpid(), signal.SIGKILL)


def test_results_come_in_the_order_of_the_parts(engine: Engine):
    assert list(engine.map(square, range(40))) == [n * n for n in range(40)]
    assert list(engine.map(square, [])) == []


def test_parts_are_taken_only_as_results_are_asked_for(engine: Engine):
    taken = []
    numbers = (taken.append(n) or n for n in count())
    results = engine.map(square, numbers)
    assert list(islice(results, 3)) == [0, 1, 4]
    assert len(taken) <= 3 + 6  # three for each of two workers
    results.close() if hasattr(results, "close") else None


def test_an_error_comes_at_its_place(engine: Engine):
    results = engine.map(refuse_seven, range(20))
    assert list(islice(results, 7)) == list(range(7))
    with pytest.raises(InputError, match=r"^7 is refused$"):
        next(results)


def test_large_functions_and_results_travel(engine: Engine):
    table = bytes(20_000_000)
    assert list(engine.map(partial(_sizes, table), [b"ab"])) == [(20_000_000, b"abab")]


def _sizes(table, part):
    return len(table), part * 2


@pytest.mark.parametrize("engine", ["dask"], indirect=True)
def test_a_part_is_run_again_when_its_worker_is_killed(engine: Engine, tmp_path):
    results = list(engine.map(partial(killed_once, tmp_path), range(20)))
    assert [number for number, _ in results] == list(range(20))
    assert results[5] == (5, True)


def test_work_that_kills_every_worker_is_given_up():
    with Dask(workers=1) as cluster, pytest.raises(EngineError, match="did the worker run out of memory"):
        list(cluster.map(kill, [0]))


def test_mistakes_are_named():
    with pytest.raises(InputError, match="no engine 'spark'; choose one of local, dask"):
        make_engine("spark")
    with pytest.raises(InputError, match="workers=4 is for the engine 'dask'"):
        make_engine("local", workers=4)
    with pytest.raises(InputError, match="has its own workers"):
        make_engine("dask", workers=4, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(InputError, match="at least 1, not 0"):
        make_engine("dask", workers=0)
    with pytest.raises(EngineError, match=r"no Dask scheduler answers at 127\.0\.0\.1"):
        list(make_engine("dask", scheduler="127.0.0.1").map(square, [1]))
