"""Loops that run as plain Python until compiling pays: the same answers, told by a budget of steps."""

import os
import pickle
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from covote import compiled
from covote.compiled import helper, kernel, kernel_mode


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@helper
def halved(value):
    return value // 2


@helper
def twice_halved(value):
    return halved(halved(value))


@kernel
def dot(pair, out):
    for i in range(len(pair.left)):
        out[i] = twice_halved(pair.left[i] * pair.right[i])
    return out.sum()


@kernel
def outer(pair, out):
    return dot(pair, out) + 1


@kernel
def wrapped(start, rounds):
    value = np.uint32(start)
    for _ in range(rounds):
        value = np.uint32(value * np.uint32(1664525) + np.uint32(1013904223))
    return value


@pytest.mark.parametrize("mode", ["plain", "compiled"])
def test_plain_and_compiled_loops_agree_with_arithmetic(mode):
    pair = Pair(np.arange(10), np.arange(10))
    expected = np.arange(10) ** 2 // 4
    out = np.zeros(10, dtype=np.int64)
    with kernel_mode(mode):
        assert outer(pair, out) == expected.sum() + 1
        assert out.tolist() == expected.tolist()


@pytest.mark.parametrize("mode", ["plain", "compiled"])
def test_numbers_wrap_around_without_a_warning_either_way(mode):
    value = 7
    for _ in range(20):
        value = (value * 1664525 + 1013904223) % 2**32
    with kernel_mode(mode):
        found = wrapped(7, 20)
    assert found == value
    assert type(found) is int


PROGRAM = """
import sys
import numpy as np
from covote import compiled
from covote.compiled import helper, kernel

@helper
def one_more(value):
    return value + 1

@kernel
def total(values):
    whole = 0
    for value in values:
        whole += one_more(value)
    return whole

said = []
compiled.announce = lambda: said.append("compiling")
for size in map(int, sys.argv[1:]):
    assert total(np.ones(size, dtype=np.int64)) == 2 * size
    print(size, "numba" in sys.modules, *said)
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(*sizes, **environment):
        run = subprocess.run(
            [sys.executable, tmp_path / "program.py", *map(str, sizes)],
            capture_output=True, text=True, env={**os.environ, **environment},
        )  # fmt: skip
        assert run.stderr == ""
        return run.stdout.splitlines()

    return run


def test_a_loop_is_compiled_once_its_steps_pass_the_budget(program):
    small, large = 1000, compiled.STEPS_TO_LOAD + 1
    assert program(small, small, large, small) == [
        f"{small} False",
        f"{small} False",
        f"{large} True compiling",
        f"{small} True compiling",
    ]


def test_steps_of_many_small_calls_add_up(program):
    part = compiled.STEPS_TO_LOAD // (4 * compiled.STEPS_PER_ELEMENT)
    compiles = [line.split()[1] for line in program(*[part] * 6)]
    assert compiles == ["False"] * 3 + ["True"] * 3


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_what_an_earlier_process_compiled_is_found_again(program, tmp_path, variable):
    place = {variable: str(tmp_path / "kept")}
    large = compiled.STEPS_TO_LOAD + 1
    assert program(large, **place) == [f"{large} True compiling"]
    assert program(large, **place) == [f"{large} True"]
    assert not (tmp_path / "__pycache__").exists()  # nothing is written next to the source


def test_what_was_compiled_from_an_older_source_does_not_count(program, tmp_path):
    place = {"XDG_CACHE_HOME": str(tmp_path / "kept")}
    large = compiled.STEPS_TO_LOAD + 1
    assert program(large, **place) == [f"{large} True compiling"]
    source = tmp_path / "program.py"
    source.write_text(source.read_text().replace("whole = 0", "whole = 0 * 1"))
    assert program(large, **place) == [f"{large} True compiling"]


def test_helpers_and_named_tuples_of_other_modules_are_sources_too(program, tmp_path):
    place = {"XDG_CACHE_HOME": str(tmp_path / "kept")}
    large = compiled.STEPS_TO_LOAD + 1
    source = tmp_path / "program.py"
    helper = PROGRAM[PROGRAM.index("@helper") : PROGRAM.index("@kernel")]
    pair = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    values: object\n"
    body = PROGRAM.replace(helper, "from parts import one_more\nfrom kinds import Pair\n")
    body = body.replace("for value in values", "for value in values.values")
    source.write_text(
        body.replace("total(np.ones(size, dtype=np.int64))", "total(Pair(np.ones(size, np.int64)))")
    )
    (tmp_path / "parts.py").write_text(f"from covote.compiled import helper\n{helper}")
    (tmp_path / "kinds.py").write_text(pair)
    assert program(large, **place) == [f"{large} True compiling"]
    assert program(large, **place) == [f"{large} True"]
    parts = tmp_path / "parts.py"
    parts.write_text(parts.read_text().replace("value + 1", "1 + value"))
    assert program(large, **place) == [f"{large} True compiling"]
    (tmp_path / "moved.py").write_text(pair)
    (tmp_path / "kinds.py").write_text("from moved import Pair\n")
    assert program(large, **place) == [f"{large} True compiling"]
    (tmp_path / "kinds.py").unlink()
    source.write_text(source.read_text().replace("from kinds", "from moved"))
    assert program(large, **place) == [f"{large} True compiling"]


def test_a_folder_that_was_emptied_costs_time_only(program, tmp_path):
    place = {"XDG_CACHE_HOME": str(tmp_path / "kept")}
    large = compiled.STEPS_TO_LOAD + 1
    program(large, **place)
    for file in (tmp_path / "kept").rglob("*"):
        if file.is_file() and file.suffix != ".kept":
            file.unlink()
    assert program(large, **place) == [f"{large} True"]


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("exploded"),))


@pytest.mark.parametrize("who", ["me", "others", "group", "someone else", "a link"])
def test_compiled_code_is_loaded_only_from_a_folder_to_which_no_one_else_can_write(
    program, tmp_path, monkeypatch, who
):
    monkeypatch.chdir(tmp_path)
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    large = compiled.STEPS_TO_LOAD + 1
    program(large, **place)
    (folder,) = (tmp_path / "kept").iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for index in folder.rglob("*.nbi"):
        index.write_bytes(pickle.dumps(Bomb()))
    if who == "someone else":
        if os.getuid():
            pytest.skip("only root gives folders away")
        os.chown(folder, 65534, 65534)
    elif who == "a link":
        folder.rename(tmp_path / "other")
        folder.symlink_to(tmp_path / "other")
    else:
        folder.chmod({"me": 0o700, "group": 0o770, "others": 0o707}[who])
    program(large, **place)
    assert Path("exploded").exists() is (who == "me")


def test_the_caches_of_other_code_stay_where_they_are():
    import numba

    before = numba.config.CACHE_DIR
    with kernel_mode("compiled"):
        dot(Pair(np.arange(3), np.arange(3)), np.zeros(3, dtype=np.int64))
    assert before == numba.config.CACHE_DIR


def test_without_a_folder_to_write_to_nothing_is_kept_and_everything_works(program, tmp_path):
    (tmp_path / "__pycache__").write_text("not a folder")
    closed = {"XDG_CACHE_HOME": "/dev/null/none", "HOME": "/dev/null/none"}
    large = compiled.STEPS_TO_LOAD + 1
    assert program(large, **closed) == [f"{large} True compiling"]


def test_kernels_and_helpers_are_pickled_by_name():
    # By the name of this module, as for any function.
    from covote.asking import answer_model

    name, loop = next(
        (name, thing) for name, thing in vars(answer_model).items() if isinstance(thing, compiled._Kernel)
    )
    assert pickle.loads(pickle.dumps(loop)) is loop
    assert loop.__name__ == name


def test_threads_that_meet_at_the_first_compiled_call_all_get_the_answer():
    @kernel
    def total(values):
        whole = 0
        for value in values:
            whole += value
        return whole

    answers, start = [], threading.Barrier(4)

    def work():
        start.wait()
        answers.append(int(total(np.arange(1000))))

    with kernel_mode("compiled"):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [499_500] * 4


def test_the_mode_is_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), kernel_mode("plain"):
        raise ZeroDivisionError
    assert compiled._mode == "auto"


def test_no_other_module_imports_numba():
    source = Path(compiled.__file__).parent
    users = [path.name for path in source.rglob("*.py") if "import numba" in path.read_text()]
    assert users == ["compiled.py"]


def test_kernels_compile_where_nothing_can_be_kept():
    """As in a read-only installation whose user has no home: numba finds no folder for what it compiled."""
    text = "def total(values):\n    whole = 0\n    for v in values:\n        whole += v\n    return whole"
    names = {}
    exec(compile(text, "/nowhere/kernels.py", "exec"), names)
    with kernel_mode("compiled"):
        assert kernel(names["total"])(np.arange(5)) == 10
