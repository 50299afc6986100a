"""Damaged states of an Asker: each is loaded and usable, or rejected in one line."""

import io
import json
import os
import zipfile

import numpy as np
import pytest

from covote import Panel, design, simulate
from covote.asking import Asker, Posterior, Repair
from covote.errors import CovoteError
from tests.plain_asking import coin_table

STATES = int(os.environ.get("COVOTE_STATES", "400"))
"""How many damaged states are tried."""


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """Return the bytes of some states: rules, ids and questions in flight."""
    folder, found = tmp_path_factory.mktemp("states"), []
    panel = design(8, 4, effort="fast")
    votes = simulate(panel, np.arange(30) % 8, accuracy=0.9, missing=0.1, seed=1)
    for rule, items in (
        ("elimination", 30),
        ("vote", [f"photo-{n}" for n in range(30)]),
        (Posterior(coin_table(panel).astype(np.float32)), [*range(29), "last"]),
        (Repair(wrong=0), 30),
    ):
        asker = Asker(panel, items, rule, budget=6, total=100, away=panel.names[1], partial=True)
        for _ in range(3):
            asked = asker.next()
            asker.tell_all(asked, votes.dense[asked.item, asked.expert].astype(int))
        asker.next(5)
        asker.save(folder / "state.npz")
        found.append((folder / "state.npz").read_bytes())
    return found


def damaged(state, rng):
    """Return the bytes of a state in which something is wrong."""
    kind = rng.integers(4)
    if kind == 0:  # bytes
        data = bytearray(state)
        for _ in range(rng.integers(1, 6)):
            data[rng.integers(len(data))] = rng.integers(256)
        return bytes(data)
    if kind == 1:  # the end is missing, or something follows
        cut = rng.integers(len(state))
        return state[:cut] if rng.random() < 0.7 else state[:cut] + rng.bytes(50) + state[cut:]
    with np.load(io.BytesIO(state)) as stored:
        arrays = {name: stored[name] for name in stored.files}
    if kind == 2:  # the head
        head = json.loads(arrays["head"].tobytes())
        name = rng.choice([key for key in head if key != "format"])
        wrong = [None, -1, 0, 10**30, "x", [], {}, [1, 2], 0.5, True, [["a", "b"]], {"classes": 3}, "\ud800"]
        if rng.random() < 0.2:
            del head[name]
        elif rng.random() < 0.3 and isinstance(head[name], dict):
            inner = rng.choice([*head[name], "new"])
            head[name][inner] = wrong[rng.integers(len(wrong))]
        else:
            head[name] = wrong[rng.integers(len(wrong))]
        arrays["head"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
    else:  # an array
        name = rng.choice([key for key in arrays if key != "head"])
        array = np.atleast_1d(arrays[name])
        changes = [
            lambda: array[: len(array) // 2],
            lambda: np.concatenate([array, array]),
            lambda: array.astype(np.float64) * np.nan if array.dtype.kind in "iufb" else array[:1],
            lambda: np.array(["x"] * len(array)),
            lambda: array[None],
            lambda: np.array(5),
            lambda: (
                (array.astype(np.int64) + rng.integers(-5, 100))
                if array.dtype.kind in "iufb"
                else array[::-1]
            ),
            lambda: -array if array.dtype.kind in "if" else array[::-1],
            lambda: rng.permutation(array),
            lambda: np.full_like(array, np.iinfo(np.int32).max) if array.dtype.kind == "i" else array[:0],
        ]
        if rng.random() < 0.1:
            del arrays[name]
        else:
            arrays[name] = changes[rng.integers(len(changes))]()
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def loaded(path):
    """Return what a file holds, or the message about it."""
    try:
        return Asker.load(path)
    except CovoteError as error:
        return str(error)


def test_damaged_states_end_in_one_line_or_can_be_used(states, tmp_path):
    rejected = 0
    for seed in range(STATES):
        rng = np.random.default_rng(seed)
        (tmp_path / "state.npz").write_bytes(damaged(states[seed % len(states)], rng))
        asker = loaded(tmp_path / "state.npz")
        if isinstance(asker, str):
            assert "\n" not in asker
            rejected += 1
            continue
        waiting = asker.waiting()
        asker.tell_all(waiting, np.full(len(waiting), -1))
        for _ in range(3):
            asked = asker.next()
            asker.tell_all(asked, asker.panel.knows[asked.expert].argmax(axis=1))
        assert len(asker.labels()) == len(asker) == len(asker.votes())
        asker.save(tmp_path / "again.npz")
        again = Asker.load(tmp_path / "again.npz")
        assert (again.done == asker.done).all()
        assert (again.stuck == asker.stuck).all()
    assert rejected > STATES / 3


def test_a_state_that_is_not_damaged_says_so_by_loading(states, tmp_path):
    for state in states:
        (tmp_path / "state.npz").write_bytes(state)
        assert len(Asker.load(tmp_path / "state.npz")) == 30
        with zipfile.ZipFile(tmp_path / "state.npz") as archive:
            assert "stuck.npy" in archive.namelist()


def test_columns_of_other_lengths_are_named(tmp_path):
    asker = Asker(Panel(2, [[1, 1]]), 4)
    asker.save(tmp_path / "state.npz")
    with np.load(tmp_path / "state.npz") as stored:
        arrays = dict(stored)
    for name in ("cost", "away", "stuck"):
        np.savez(tmp_path / "wrong.npz", **{**arrays, name: np.repeat(arrays[name], 3)[:-1]})
        if name == "stuck":  # it says how many items there are
            continue
        with pytest.raises(CovoteError, match="damaged state of an Asker"):
            Asker.load(tmp_path / "wrong.npz")
    np.savez(tmp_path / "wrong.npz", **{**arrays, "ids": np.array([1, 2])})
    with pytest.raises(CovoteError, match="damaged state of an Asker"):
        Asker.load(tmp_path / "wrong.npz")


@pytest.mark.parametrize("items", [0, 3, ["a", "b"], [1, "1"]])
def test_a_state_without_questions_is_not_damaged(tmp_path, items):
    Asker(Panel(2, [[1, 1]]), items).save(tmp_path / "state.npz")
    again = Asker.load(tmp_path / "state.npz")
    assert again.next().item.tolist() == list(range(len(again)))
