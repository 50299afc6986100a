"""One contract over both engines: a file gets the same labels, byte for byte, whatever happens to workers."""

import os
import signal
import sys
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from covote import Panel, simulate
from covote.engines import Dask, Local
from covote.errors import InputError, UnknownNameError
from covote.files import Output, decode_file, vote_files
from covote.files.report import charts
from covote.files.report.report import report_page
from covote.labelling import Asking, label_file
from covote.tables import Reading
from covote.votes import rows
from tests.methods import PLAIN

SMALL = Panel.from_blocks(
    ["ant", "bee", "cow", "dog", "elk"],
    [["ant", "bee", "cow"], ["ant", "dog", "elk"], ["bee", "cow", "dog"], ["bee", "cow", "elk"]],
)
LARGE = Panel(
    9, np.random.default_rng(0).random((25, 9)) < 0.6
)  # its rows of answers do not fit into 64 bits
METHODS = [(name, {"iterations": 5} if name == "dawid-skene" else {}) for name in PLAIN]
pytestmark = pytest.mark.filterwarnings("ignore:.*answers seem to be about classes.*:UserWarning")


@pytest.fixture(scope="module")
def cluster():
    with Dask(workers=3) as engine:
        yield engine


@pytest.fixture(params=["local", "dask"])
def engine(request):
    return Local() if request.param == "local" else request.getfixturevalue("cluster")


@pytest.fixture(autouse=True)
def numbers_for_pictures(monkeypatch):
    """Let a report show the numbers of its pictures instead of drawing them, which takes longest."""
    for kind in ("histogram", "whiskers", "matrix", "heat"):
        monkeypatch.setattr(charts, kind, lambda *numbers: [np.asarray(some).tolist() for some in numbers])
    monkeypatch.setattr(charts, "inline", lambda numbers, label: f"{label}: {numbers}")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(vote_files, "SLICE", 1500)


def write(path, panel, shape="long", size=3000, shuffled=False, **model):
    truth = np.random.default_rng(0).integers(0, len(panel.classes), size)
    votes = simulate(panel, truth, **{"accuracy": 0.8, "missing": 0.1, "none_rate": 0.1, "seed": 1, **model})
    table = votes.to_arrow(shape)
    if shuffled:
        table = table.take(np.random.default_rng(1).permutation(table.num_rows))
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=397)  # items lie across the edges of row groups
    return path


def both(engine, votes, panel, folder, **options):
    """Decode in this process and with an engine; return (bytes, outcome) of each."""
    found = []
    for name, where in (("here", None), ("there", engine)):
        output = folder / f"{name}{options.get('ending', '.parquet')}"
        chosen = {key: value for key, value in options.items() if key != "ending"}
        files = Output(output, review=folder / f"{name}-review.csv")
        outcome = decode_file(votes, files, panel, engine=where, **chosen)
        found.append((output.read_bytes() + (folder / f"{name}-review.csv").read_bytes(), outcome))
        assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []
    return found


def assert_same(found):
    (one, here), (two, there) = found
    assert one == two
    pages = [report_page(outcome, source="votes", method="m") for outcome in (here, there)]
    assert pages[0] == pages[1]
    assert (here.statistics is None) == (there.statistics is None)
    if here.statistics is not None:
        assert here.statistics.items == there.statistics.items
        assert (here.statistics.share == there.statistics.share).all()


@pytest.mark.parametrize(("panel", "shape"), [(SMALL, "long"), (SMALL, "wide"), (LARGE, "long")])
def test_every_engine_gives_the_same_file(engine, tmp_path, panel, shape):
    votes = write(tmp_path / "votes.parquet", panel, shape, 3000 if panel is SMALL else 700)
    for method, options in METHODS:
        assert_same(both(engine, votes, panel, tmp_path, method=method, **options))


def test_rows_of_answers_that_nearly_all_differ(engine, tmp_path):
    panel = Panel(9, np.random.default_rng(0).random((12, 9)) < 0.6)  # its rows fit into 64 bits
    votes = write(tmp_path / "votes.parquet", panel, "wide", 900, accuracy=0.5)
    assert_same(both(engine, votes, panel, tmp_path, method="authority"))
    assert_same(both(engine, votes, panel, tmp_path, method="likelihood"))
    # A part with few rows of answers among others.
    table = pq.read_table(votes)
    first = table.take([0] * 500).set_column(0, "item", pa.array(range(-500, 0)))
    pq.write_table(pa.concat_tables([first, table.cast(first.schema)]), votes, row_group_size=200)
    assert_same(both(engine, votes, panel, tmp_path, method="authority"))


def test_more_rows_of_answers_than_are_kept_together(tmp_path, monkeypatch):
    votes = write(tmp_path / "votes.parquet", SMALL)
    expected = both(Local(), votes, SMALL, tmp_path, method="em")
    monkeypatch.setattr(rows, "MOST", 170)  # a part has fewer, two parts together have more
    found = both(Local(), votes, SMALL, tmp_path, method="em")
    assert_same(found)
    assert found[0][0] == expected[0][0]


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_files_in_any_order(engine, tmp_path, shape):
    votes = write(tmp_path / "votes.parquet", SMALL, shape, shuffled=True)
    assert_same(both(engine, votes, SMALL, tmp_path, method="em"))
    votes = write(tmp_path / "votes.csv", SMALL, shape, 500, shuffled=True)
    assert_same(both(engine, votes, SMALL, tmp_path, ending=".csv"))


def test_names_as_people_write_them(engine, tmp_path):
    votes = write(tmp_path / "votes.parquet", SMALL)
    clean = both(engine, votes, SMALL, tmp_path)[0][0]
    table = pq.read_table(votes)
    forms = [str, str.upper, lambda name: f" {name} ", lambda name: f"{name}."]
    for place, column in ((1, "expert"), (2, "label")):
        names = [forms[(n // 1000) % 4](name) for n, name in enumerate(table.column(column).to_pylist())]
        table = table.set_column(place, column, pa.array(names))
    pq.write_table(table, votes, row_group_size=397)
    found = both(engine, votes, SMALL, tmp_path)
    assert_same(found)
    assert found[0][0] == clean
    for where in (None, engine):
        with pytest.raises(InputError, match="EXPERT-1"):
            decode_file(
                votes, tmp_path / "labels.parquet", SMALL, engine=where, reading=Reading(match="exact")
            )


def test_items_of_any_type_and_of_any_length(engine, tmp_path):
    # One item has more rows than many row groups, others have one row.
    items = ["a"] * 3 + ["b"] * 4000 + [f"c{n:04}" for n in range(900)]
    experts = [str(SMALL.names[n % 2]) for n in range(len(items))]
    table = pa.table({"item": items, "expert": experts, "label": ["ant"] * len(items)})
    pq.write_table(table, tmp_path / "votes.parquet", row_group_size=100)
    assert_same(both(engine, tmp_path / "votes.parquet", SMALL, tmp_path))


def test_gold_and_probabilities(engine, tmp_path):
    votes = write(tmp_path / "votes.parquet", SMALL)
    gold = {n: SMALL.classes[n % 5] for n in range(200)}
    for method in ("em", "learned"):
        assert_same(both(engine, votes, SMALL, tmp_path, method=method, gold=gold))
    for name, where in (("here.csv", None), ("there.csv", engine)):
        decode_file(votes, Output(proba=tmp_path / name), SMALL, gold=gold, engine=where)
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()
    table = pq.read_table(votes)
    chances = np.random.default_rng(3).random(table.num_rows)
    pq.write_table(table.append_column("probability", pa.array(chances)), votes, row_group_size=397)
    for method in ("learned", "em"):
        assert_same(both(engine, votes, SMALL, tmp_path, method=method))


def test_mistakes_are_told_as_without_an_engine(engine, tmp_path):
    votes = write(tmp_path / "votes.parquet", SMALL, size=1000)
    table = pq.read_table(votes)
    lines = table.to_pylist()
    cases = {
        "unknown": ({**lines[2000], "expert": "mallory"}, UnknownNameError),
        "twice": ({**lines[2000], "label": "dog" if lines[2000]["label"] != "dog" else "bee"}, InputError),
    }
    for row, kind in cases.values():
        bad = (
            [*lines[:2001], row, *lines[2001:]] if kind is InputError else [*lines[:2000], row, *lines[2001:]]
        )
        pq.write_table(pa.Table.from_pylist(bad, table.schema), votes, row_group_size=397)
        told = []
        for where in (None, engine):
            with pytest.raises(kind) as caught:
                decode_file(votes, tmp_path / "labels.parquet", SMALL, engine=where)
            told.append(str(caught.value))
        assert told[0] == told[1]
    assert [path.name for path in tmp_path.iterdir()] == ["votes.parquet"]
    wide = write(tmp_path / "wide.parquet", SMALL, "wide", 2000)
    again = pa.concat_tables([pq.read_table(wide), pq.read_table(wide).slice(5, 1)])
    pq.write_table(again, wide, row_group_size=397)
    with pytest.raises(InputError, match="row 2001: item 5 already occurs in row 6"):
        decode_file(wide, tmp_path / "labels.parquet", SMALL, engine=engine)
    pq.write_table(again.slice(0, 0), wide)
    with pytest.raises(InputError, match="it has no rows"):
        decode_file(wide, tmp_path / "labels.parquet", SMALL, engine=engine)


# Workers that are lost


class Losing:
    """A cluster that loses one worker, killed in the middle of every map."""

    def __init__(self, cluster, folder, *, before):
        self.cluster, self.folder, self.before, self.maps = cluster, folder, before, 0

    def map(self, function, parts):
        self.maps += 1
        return self.cluster.map(partial(lose, self.folder / f"map-{self.maps}", self.before, function), parts)


def lose(mark, before, function, part):
    """Kill this worker at the third part, once: before its work, or after it was done but not told."""
    result = None if before else function(part)
    third = part.number == 2 if hasattr(part, "number") else (part.expert, part.start) == (1, 200)
    if third and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return function(part) if before else result


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    ("panel", "method", "options"),
    [(SMALL, "authority", {}), (SMALL, "em", {}), (LARGE, "em", {"iterations": 2})],
)
def test_a_killed_worker_changes_nothing(cluster, tmp_path, panel, method, options, before):
    size = 3000 if panel is SMALL else 700
    votes = write(tmp_path / "votes.parquet", panel, size=size)
    marks = tmp_path / "marks"
    marks.mkdir()
    engine = Losing(cluster, marks, before=before)
    assert_same(both(engine, votes, panel, tmp_path, method=method, **options))
    assert len(list(marks.iterdir())) == engine.maps > 0


MODELS = """
import numpy as np

CENTRES = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])

def nearest(known):
    def answer(points):
        distance = ((points[:, None] - CENTRES[known]) ** 2).sum(axis=2)
        return np.array(known)[distance.argmin(axis=1)]
    return answer

a, b, c = nearest([0, 1]), nearest([0, 2]), nearest([1, 2])
"""


@pytest.mark.parametrize("before", [True, False])
def test_a_killed_worker_changes_nothing_in_a_run_of_models(cluster, tmp_path, before, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / f"nearest_{before}.py").write_text(MODELS)
    models = [f"python:nearest_{before}:{name}" for name in "abc"]
    panel = Panel.from_blocks(3, [[0, 1], [0, 2], [1, 2]], models=models)
    np.save(tmp_path / "data.npy", np.random.default_rng(0).random((600, 2)))
    engine = Losing(cluster, tmp_path, before=before)
    found = []
    for name, where in (("here", None), ("there", engine)):
        labels = tmp_path / f"{name}.parquet"
        run = label_file(
            tmp_path / "data.npy",
            labels,
            panel,
            asking=Asking(batch=100, models=tmp_path),
            engine=where,
            trust=True,
        )
        found.append((labels.read_bytes(), [(expert.asked, expert.failed) for expert in run.experts]))
    assert found[0] == found[1]
    assert found[0][1] == [(600, 0)] * 3
    assert (tmp_path / "map-1").exists()
