"""A language model behind a table of probabilities: likely classes first, others while doubt remains."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

from covote.errors import InputError
from covote.labelling import Asking, DataPlace, label_file
from covote.labelling.previewing import preview
from covote.models import open_expert
from covote.models.chooser import chooser_panel
from tests.chat_stub import Stub

CLASSES = [f"c{k}" for k in range(12)]


def write_prior(folder, rows):
    table = {"item": [f"q{n}" for n in range(len(rows))]}
    table |= {name: [row[k] for row in rows] for k, name in enumerate(CLASSES)}
    csv.write_csv(pa.table(table), folder / "prior.csv")
    return folder / "prior.csv"


def peaked(*likely):
    """Return probabilities in which these classes are likely, in this order, and no other is."""
    row = np.full(12, 0.001)
    for rank, k in enumerate(likely):
        row[k] = 1 / (rank + 2)
    return row / row.sum()


def ask(stub, folder, rows, truths, **options):
    prior = write_prior(folder, rows)
    model = {"use": f"chat:{stub.url}", "prior": str(prior), "shown": 3, "retries": 0, **options}
    batch = {
        "item": np.array([f"q{n}" for n in range(len(rows))], dtype=object),
        "text": np.array([f"item {n} truth: {name}" for n, name in enumerate(truths)], dtype=object),
    }
    return open_expert("chooser", CLASSES, model).answer(batch)


def offered(body):
    return set(re.findall(r"^- (.*)$", body["messages"][0]["content"], re.M)) - {"none of these"}


def test_the_likely_classes_are_shown_and_the_items_name_is_not(tmp_path):
    with Stub() as stub:
        found = ask(stub, tmp_path, [peaked(4, 7, 2)], ["c7"])
    assert [offered(body) for body in stub.bodies] == [{"c4", "c7", "c2"}]
    assert "q0" not in stub.bodies[0]["messages"][0]["content"]
    assert found.label.tolist() == [7]
    assert found.usage.calls == 1


def test_others_are_shown_only_after_none_of_these(tmp_path):
    with Stub() as stub:
        found = ask(stub, tmp_path, [peaked(4, 7, 2, 9, 1, 0)], ["c9"])
    assert [offered(body) for body in stub.bodies] == [{"c4", "c7", "c2"}, {"c9", "c1", "c0"}]
    assert found.label.tolist() == [9]


def test_where_the_prior_is_sure_nobody_is_asked(tmp_path):
    sure = np.full(12, 0.001)
    sure[5] = 0.989
    with Stub() as stub:
        found = ask(stub, tmp_path, [sure], ["c0"])
    assert (stub.bodies, found.label.tolist(), found.usage.calls) == ([], [5], 0)


def test_what_the_model_says_is_multiplied_to_the_prior(tmp_path):
    prior = peaked(4, 7, 2)
    with Stub() as stub:
        found = ask(stub, tmp_path, [prior], ["c7"], doubt=0.5)
    # The stub gives its choice exp(-0.2) and all other options exp(-3), "none of these" included.
    weight = np.full(12, np.exp(-3.0))
    weight[7] = np.exp(-0.2)
    wanted = prior * weight
    np.testing.assert_allclose(found.probability[0], wanted / wanted.sum(), rtol=1e-3)


def test_without_log_probabilities_the_choice_counts(tmp_path):
    with Stub(logprobs=False) as stub:
        found = ask(stub, tmp_path, [peaked(4, 7, 2)], ["c7"])
    assert found.label.tolist() == [7]


def test_a_table_is_labelled_by_a_chooser_and_no_answer_is_paid_twice(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 12, 30)
    rows = [peaked(*rng.permutation([k, *rng.choice(12, 2)])) for k in truth]
    prior = write_prior(tmp_path, rows)
    items = {
        "item": [f"q{n}" for n in range(30)],
        "text": [f"item {n} truth: c{k}" for n, k in enumerate(truth)],
    }
    csv.write_csv(pa.table(items), tmp_path / "items.csv")
    place = DataPlace(tmp_path / "items.csv", "item", ("item", "text"))
    with Stub() as stub:
        panel = chooser_panel(f"chat:{stub.url}", prior, shown=4)
        found = label_file(place, tmp_path / "labels.csv", panel)
        paid = sum(stub.answered.values())
        label_file(place, tmp_path / "labels.csv", panel)
        assert sum(stub.answered.values()) == paid == found.experts[0].usage.calls
    labels = csv.read_csv(tmp_path / "labels.csv").column("label").to_pylist()
    assert labels == [f"c{k}" for k in truth]


def test_a_dry_run_counts_only_the_items_that_are_asked(tmp_path):
    rows = "".join(f"q{n},item {n} truth: c7\n" for n in range(4))
    (tmp_path / "items.csv").write_text("item,text\n" + rows)
    sure = np.eye(12)[7]
    prior = write_prior(tmp_path, [sure, peaked(4, 7), sure, sure])
    panel = chooser_panel("chat:http://localhost:1/v1", prior, shown=4)
    place = DataPlace(tmp_path / "items.csv", "item", ("item", "text"))
    said = list(preview(place, panel, tmp_path, False))
    assert said[0].startswith("Expert 'chooser': 1 call, about")
    assert "item 1 truth" in said[1]


def test_answers_after_another_prior_are_not_mixed_with_kept_ones(tmp_path):
    (tmp_path / "items.csv").write_text(
        "item,text\n" + "".join(f"q{n},item {n} truth: c7\n" for n in range(3))
    )
    place = DataPlace(tmp_path / "items.csv", "item", ("item", "text"))
    prior = write_prior(tmp_path, [peaked(4, 7, 2)] * 3)
    with Stub() as stub:
        panel = chooser_panel(f"chat:{stub.url}", prior, shown=4)
        label_file(place, tmp_path / "labels.csv", panel)
        label_file(place, tmp_path / "labels.csv", panel)
        assert len(stub.bodies) == 3
        write_prior(tmp_path, [peaked(2, 7, 4)] * 3)
        with pytest.raises(InputError, match=r"its prior .*prior\.csv has changed since\. Use --refresh"):
            label_file(place, tmp_path / "labels.csv", panel)
        label_file(place, tmp_path / "labels.csv", panel, asking=Asking(refresh=True))
        assert len(stub.bodies) == 6


def test_mistakes_in_the_prior_are_named(tmp_path):
    prior = tmp_path / "prior.csv"
    prior.write_text("item,c0,c1\nq0,0.5,-1\n")
    with pytest.raises(InputError, match="row 1 does not give the probabilities"):
        chooser_panel("chat:http://localhost:1/v1", prior)
    prior.write_text("item,c0,c1\nq0,0.5,high\n")
    with pytest.raises(InputError, match="something else than numbers"):
        chooser_panel("chat:http://localhost:1/v1", prior)
    prior.write_text("item,c0,c1\nq0,0.5,0.5\n")
    with pytest.raises(InputError, match="cannot choose"):
        chooser_panel("skin.onnx", prior)
    with pytest.raises(InputError, match="has no column for c2"):
        open_expert("a", ["c0", "c2"], {"use": "chat:http://localhost:1/v1", "prior": str(prior)})
    with pytest.raises(InputError, match="shown is for a model that chooses after a prior"):
        open_expert("a", ["c0", "c2"], {"use": "chat:http://localhost:1/v1", "shown": 3})
