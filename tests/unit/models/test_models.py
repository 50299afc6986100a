"""Real models in real files answer as their libraries do."""

import pickle
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from covote import Panel
from covote.errors import CovoteError, ExpertError, FileError, InputError, MissingDependencyError
from covote.labelling import Asking, label_file
from covote.models import NO_ANSWER, open_expert
from covote.models.entries import KINDS
from covote.models.kind import COMMON
from covote.votes import NONE_OF_MINE

NAMES = np.array(["setosa", "versicolor", "virginica"])
PANEL_ORDER = ("virginica", "setosa", "versicolor")  # not the order of the models


@pytest.fixture(scope="module")
def iris():
    rows, truth = load_iris(return_X_y=True)
    return rows.astype(np.float32), NAMES[truth]


@pytest.fixture(scope="module")
def fitted(iris):
    return LogisticRegression(max_iter=1000).fit(*iris)


def names(answers):
    return np.array(PANEL_ORDER)[answers.label]


def in_panel_order(probabilities):
    return probabilities[:, [2, 0, 1]]


def test_a_fitted_classifier_gives_its_probabilities(fitted, iris):
    answers = open_expert("iris", PANEL_ORDER, fitted).answer(iris[0])
    assert (names(answers) == fitted.predict(iris[0])).all()
    expected = in_panel_order(fitted.predict_proba(iris[0]))
    np.testing.assert_allclose(answers.probability, expected, atol=1e-6)


def test_a_classifier_without_probabilities_gives_labels(iris):
    model = LinearSVC().fit(*iris)
    answers = open_expert("iris", PANEL_ORDER, model).answer(iris[0])
    assert answers.probability is None
    assert (names(answers) == model.predict(iris[0])).all()


def test_a_model_fitted_on_named_columns_gets_them_by_name(iris):
    import pandas as pd

    rows, truth = iris
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "d"])
    model = LogisticRegression(max_iter=1000).fit(frame[["d", "b"]], truth)
    batch = {name: rows[:, k] for k, name in enumerate("abcd")}
    answers = open_expert("iris", PANEL_ORDER, model).answer(batch)
    assert (names(answers) == model.predict(frame[["d", "b"]])).all()


def test_skops_files(fitted, iris, tmp_path):
    import skops.io

    skops.io.dump(fitted, tmp_path / "iris.skops")
    answers = open_expert("iris", PANEL_ORDER, "skops:iris.skops", tmp_path).answer(iris[0])
    assert (names(answers) == fitted.predict(iris[0])).all()


class Homemade(LogisticRegression):
    pass


def test_skops_files_with_unknown_types_name_them_and_need_trust(iris, tmp_path):
    import skops.io

    skops.io.dump(Homemade(max_iter=1000).fit(*iris), tmp_path / "own.skops")
    found = skops.io.get_untrusted_types(file=tmp_path / "own.skops")
    for model in ("skops:own.skops", {"use": "skops:own.skops", "trust": found}):
        with pytest.raises(InputError, match=r"own.skops contains.*Homemade.*--trust.*trust=True"):
            open_expert("iris", PANEL_ORDER, model, tmp_path)
    expert = open_expert("iris", PANEL_ORDER, "skops:own.skops", tmp_path, trust=True)
    assert len(expert.answer(iris[0])) == 150


@pytest.mark.parametrize("ending", ["pkl", "joblib"])
def test_pickles_of_people_you_trust(ending, fitted, iris, tmp_path):
    import joblib

    file = tmp_path / f"iris.{ending}"
    if ending == "pkl":
        file.write_bytes(pickle.dumps(fitted))
    else:
        joblib.dump(fitted, file)
    answers = open_expert("iris", PANEL_ORDER, file.name, tmp_path, trust=True).answer(iris[0])
    assert (names(answers) == fitted.predict(iris[0])).all()


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("exploded"),))


def armed(folder):
    """Write files that run code as soon as somebody loads them; return models that name them."""
    (folder / "bomb.pkl").write_bytes(pickle.dumps(Bomb()))
    (folder / "bomb.pt2").write_bytes(pickle.dumps(Bomb()))
    (folder / "bomb_package").mkdir()
    for file in ("bomb_module.py", "bomb_package/__init__.py"):
        (folder / file).write_text("from pathlib import Path\nPath('exploded').touch()\n")
    (folder / "bomb_package" / "inside.py").write_text("")
    return ["bomb.pkl", "pickle:bomb.pkl", "joblib:bomb.pkl", "torch:bomb.pt2", "bomb.pt2",
            "python:bomb_module:f", "python:bomb_package.inside:f"]  # fmt: skip


def test_a_panel_runs_no_code_without_the_persons_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    np.save("data.npy", np.zeros((3, 1)))
    for use in armed(tmp_path):
        for model in (use, {"use": use, "trust": True}, {"use": use, "trust": "true"}):
            for trust in (False, "yes", [use]):
                with pytest.raises(InputError, match=f"expert 'ann': model = \"{use}\" is rejected.*--trust"):
                    open_expert("ann", PANEL_ORDER, model, tmp_path, trust=trust)
            panel = Panel(PANEL_ORDER, [[1, 1, 1]], ["ann"], models=[model])
            with pytest.raises(InputError, match=r"rejected.*trust=True in Python"):
                label_file("data.npy", "labels.csv", panel, asking=Asking(models=tmp_path))
        assert not Path("exploded").exists()
        assert str(tmp_path) not in sys.path
        with suppress(CovoteError):
            open_expert("ann", PANEL_ORDER, use, tmp_path, trust=True)
        assert ("pt2" in use) or Path("exploded").exists()  # the bombs are bombs
        Path("exploded").unlink(missing_ok=True)
        for module in ("bomb_module", "bomb_package"):
            sys.modules.pop(module, None)
        sys.path[:] = [place for place in sys.path if place != str(tmp_path)]


def to_onnx(model, path, **options):
    from skl2onnx import to_onnx as converted

    path.write_bytes(converted(model, np.zeros((1, 4), np.float32), **options).SerializeToString())


@pytest.mark.parametrize("zipmap", [True, False])
def test_onnx_files_of_scikit_learn_models(zipmap, fitted, iris, tmp_path):
    to_onnx(fitted, tmp_path / "iris.onnx", options={"zipmap": zipmap})
    expert = open_expert("iris", PANEL_ORDER, "onnx:iris.onnx", tmp_path)
    answers = expert.answer({name: iris[0][:, k].astype(np.float64) for k, name in enumerate("abcd")})
    assert (names(answers) == fitted.predict(iris[0])).all()
    assert (answers.probability is not None) == zipmap  # a bare matrix does not say which class is which
    told = {"use": "onnx:iris.onnx", "classes": NAMES.tolist()}
    if not zipmap:
        soft = open_expert("iris", PANEL_ORDER, told, tmp_path).answer(iris[0]).probability
        np.testing.assert_allclose(soft, in_panel_order(fitted.predict_proba(iris[0])), atol=1e-5)


def test_onnx_files_that_say_their_classes_and_take_exactly_some_rows(fitted, iris, tmp_path):
    import onnx
    from onnx import TensorProto, helper

    weights = fitted.coef_.T.astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["raw"]),
            helper.make_node("Add", ["raw", "b"], ["scores"]),
        ],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [32, 4])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [32, 3])],
        [
            helper.make_tensor("w", TensorProto.FLOAT, weights.shape, weights.ravel()),
            helper.make_tensor("b", TensorProto.FLOAT, [3], fitted.intercept_.astype(np.float32)),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    bare = tmp_path / "bare.onnx"
    onnx.save(model, bare)
    with pytest.raises(CovoteError, match=r"3 columns of probabilities without saying .* classes = \["):
        open_expert("iris", PANEL_ORDER, {"use": "bare.onnx", "logits": True}, tmp_path).answer(iris[0])
    helper.set_model_props(model, {"classes": '["setosa", "versicolor", "virginica"]'})
    onnx.save(model, tmp_path / "named.onnx")
    expert = open_expert("iris", PANEL_ORDER, {"use": "named.onnx", "logits": True}, tmp_path)
    answers = expert.answer(iris[0])
    assert (names(answers) == fitted.predict(iris[0])).all()
    np.testing.assert_allclose(answers.probability, in_panel_order(fitted.predict_proba(iris[0])), atol=1e-5)


def test_onnx_files_with_several_inputs_get_columns_by_name(tmp_path):
    import onnx
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [
            helper.make_node("Greater", ["age", "fifty"], ["old"]),
            helper.make_node("And", ["old", "smoker"], ["both"]),
            helper.make_node("Cast", ["both"], ["which"], to=TensorProto.INT64),
            helper.make_node("Gather", ["names", "which"], ["label"]),
        ],
        "rules",
        [
            helper.make_tensor_value_info("age", TensorProto.FLOAT, [None, 1]),
            helper.make_tensor_value_info("smoker", TensorProto.BOOL, [None, 1]),
        ],
        [helper.make_tensor_value_info("label", TensorProto.STRING, [None, 1])],
        [
            helper.make_tensor("fifty", TensorProto.FLOAT, [1], [50]),
            helper.make_tensor("names", TensorProto.STRING, [2], [b"setosa", b"virginica"]),
        ],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
        tmp_path / "m.onnx",
    )
    expert = open_expert("rules", PANEL_ORDER, "onnx:m.onnx", tmp_path)
    batch = {"smoker": np.array([1, 0, 1]), "name": np.array(["x"] * 3), "age": np.array([60, 70, 20])}
    assert names(expert.answer(batch)).tolist() == ["virginica", "setosa", "setosa"]
    with pytest.raises(CovoteError, match="wants the column 'age'"):
        expert.answer({"smoker": batch["smoker"]})
    with pytest.raises(CovoteError, match=r"several inputs \(age, smoker\)"):
        expert.answer(np.zeros((3, 2)))


def naming(path, said, columns=None):
    """Write an ONNX file that answers item k with said[k], as one column of a matrix if asked."""
    import onnx
    from onnx import TensorProto, helper

    shape = [None] if columns is None else [None, columns]
    graph = helper.make_graph(
        [helper.make_node("Gather", ["names", "x"], ["label"])],
        "naming",
        [helper.make_tensor_value_info("x", TensorProto.INT64, shape)],
        [helper.make_tensor_value_info("label", TensorProto.STRING, shape)],
        [helper.make_tensor("names", TensorProto.STRING, [len(said)], [name.encode() for name in said])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def test_an_onnx_loop_without_end_is_given_up(tmp_path):
    import onnx
    from onnx import TensorProto, helper

    def value(name, kind=TensorProto.FLOAT, shape=()):
        return helper.make_tensor_value_info(name, kind, list(shape))

    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["sum", "one"], ["next"])],
        "body",
        [value("n", TensorProto.INT64), value("go", TensorProto.BOOL), value("sum", shape=[None])],
        [value("on", TensorProto.BOOL), value("next", shape=[None])],
        [helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])],
    )
    graph = helper.make_graph(
        [
            helper.make_node("Loop", ["", "yes", "x"], ["looped"], body=body),
            helper.make_node("Cast", ["looped"], ["label"], to=TensorProto.INT64),
        ],
        "endless",
        [value("x", shape=[None])],
        [value("label", TensorProto.INT64, [None])],
        [helper.make_tensor("yes", TensorProto.BOOL, [], [True])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "m.onnx")
    expert = open_expert("ann", [1, 2], {"use": "m.onnx", "timeout": 0.3}, tmp_path)
    started = time.monotonic()
    with pytest.raises(CovoteError, match=r"expert 'ann' did not answer within 0.3 s; write timeout"):
        expert.answer(np.zeros(3))
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("place", ["/etc/passwd", "../secret", "/dev/zero", "."])
def test_an_onnx_file_reads_no_other_files_as_its_weights(tmp_path, capfd, place):
    from onnx import TensorProto, helper

    (tmp_path / "secret").write_bytes(b"0" * 80)
    (tmp_path / "models").mkdir()
    weights = TensorProto(name="w", data_type=TensorProto.INT64, dims=[2], data_location=TensorProto.EXTERNAL)
    weights.external_data.add(key="location", value=place)
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["label"])],
        "reading",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None])],
        [helper.make_tensor_value_info("label", TensorProto.INT64, [None])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (tmp_path / "models" / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(FileError, match=r"m\.onnx cannot be read as an ONNX file"):
        open_expert("ann", [0, 1], "m.onnx", tmp_path / "models")
    assert capfd.readouterr().err == ""


def test_an_onnx_model_cannot_take_more_memory_than_there_is(tmp_path, capfd):
    import onnx
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Expand", ["one", "shape"], ["label"])],
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None])],
        [helper.make_tensor_value_info("label", TensorProto.INT64, [None])],
        [
            helper.make_tensor("one", TensorProto.INT64, [1], [1]),
            helper.make_tensor("shape", TensorProto.INT64, [1], [2**44]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "m.onnx")
    expert = open_expert("ann", [0, 1], "m.onnx", tmp_path)
    with pytest.raises(ExpertError, match=r"expert 'ann' failed: .*[Aa]lloc"):
        expert.answer(np.zeros(2))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("columns", [None, 1])
def test_onnx_labels_are_text_in_the_models_own_words(columns, tmp_path):
    said = ["ohr", "Haut", "7", "lung", "über"]
    naming(tmp_path / "m.onnx", said, columns)
    knows, labels = ("ear", "über", 7), {"ohr": "ear", "Haut": "none of mine"}
    expert = open_expert("ann", knows, {"use": "m.onnx", "labels": labels}, tmp_path)
    answers = expert.answer(np.arange(5).reshape((-1,) if columns is None else (-1, 1)))
    assert answers.label.tolist() == [0, NONE_OF_MINE, 2, NO_ANSWER, 1]
    assert "'lung'" in answers.note


def test_onnx_metadata_that_name_no_classes_are_told(tmp_path):
    import onnx
    from onnx import helper

    naming(tmp_path / "m.onnx", ["ear"])
    model = onnx.load(tmp_path / "m.onnx")
    for written in ("ear, eye", '{"ear": 0}'):
        helper.set_model_props(model, {"classes": written})
        onnx.save(model, tmp_path / "m.onnx")
        with pytest.raises(
            InputError, match=r"metadata entry classes.*not a JSON list of names; write classes = \["
        ):
            open_expert("ann", ["ear", "eye"], "m.onnx", tmp_path)


def test_ten_thousand_labels_are_looked_up(tmp_path):
    known = [f"class-{k}" for k in range(10_000)]
    naming(tmp_path / "m.onnx", known[::-1])
    answers = open_expert("ann", known, "m.onnx", tmp_path).answer(np.arange(10_000))
    assert answers.label.tolist() == list(range(10_000))[::-1]


def exported(path, fitted, *, dynamic=True, extra=None):
    import torch

    linear = torch.nn.Linear(4, 3)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(fitted.coef_))
        linear.bias.copy_(torch.tensor(fitted.intercept_))
    shapes = ({0: torch.export.Dim.AUTO},) if dynamic else None
    program = torch.export.export(linear, (torch.zeros(8, 4),), dynamic_shapes=shapes)
    torch.export.save(program, path, extra_files=extra)


@pytest.mark.parametrize("dynamic", [True, False])
def test_torch_exported_programs(dynamic, fitted, iris, tmp_path):
    exported(tmp_path / "iris.pt2", fitted, dynamic=dynamic)
    model = {"use": "torch:iris.pt2", "logits": True, "classes": NAMES.tolist()}
    answers = open_expert("iris", PANEL_ORDER, model, tmp_path, trust=True).answer(iris[0])
    assert (names(answers) == fitted.predict(iris[0])).all()
    np.testing.assert_allclose(answers.probability, in_panel_order(fitted.predict_proba(iris[0])), atol=1e-5)


def test_a_damaged_torch_program_is_told_in_one_line(tmp_path, caplog):
    (tmp_path / "iris.pt2").write_text("not a program")
    with pytest.raises(FileError, match=r"iris.pt2 cannot be loaded as a torch exported program"):
        open_expert("iris", PANEL_ORDER, "iris.pt2", tmp_path, trust=True)
    assert not caplog.records


def test_torch_programs_may_carry_their_classes(fitted, iris, tmp_path):
    exported(tmp_path / "iris.pt2", fitted, extra={"classes.json": '["setosa", "versicolor", "virginica"]'})
    expert = open_expert("iris", PANEL_ORDER, {"use": "iris.pt2", "logits": True}, tmp_path, trust=True)
    answers = expert.answer(iris[0])
    assert (names(answers) == fitted.predict(iris[0])).all()


def test_functions_and_estimators_in_a_module_beside_the_panel(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_experts_1.py").write_text(
        "import numpy as np\n"
        "def short(batch):\n    return np.where(batch['petal'] < 2.5, 'setosa', 'virginica')\n"
        "def soft(batch):\n    return np.tile([0.2, 0.7, 0.1], (len(batch['petal']), 1))\n"
        "class Model:\n    classes_ = ['versicolor', 'setosa', 'virginica']\n"
        "    def predict(self, X): return ['versicolor'] * len(X)\n"
        "    def predict_proba(self, X): return np.eye(3)[:1].repeat(len(X), 0)\n"
        "model = Model()\nnumber = 3\n"
    )
    (tmp_path / "my_broken_1.py").write_text("1 / 0")
    batch = {"petal": np.array([1.0, 5.0])}
    answers = open_expert("f", PANEL_ORDER, "python:my_experts_1:short", tmp_path, trust=True).answer(batch)
    assert names(answers).tolist() == ["setosa", "virginica"]
    answers = open_expert("g", PANEL_ORDER, "python:my_experts_1:soft", tmp_path, trust=True).answer(batch)
    assert names(answers).tolist() == ["setosa"] * 2  # columns in the order of the panel
    answers = open_expert("h", PANEL_ORDER, "python:my_experts_1:model", tmp_path, trust=True).answer(batch)
    assert names(answers).tolist() == ["versicolor"] * 2
    mistakes = {
        "my_experts_1:nothing": "has no 'nothing'",
        "my_experts_1:number": "not a function",
        "my_broken_1:f": "'my_broken_1' cannot be imported: ZeroDivisionError",
        "no_such_module_x:f": "no Python module 'no_such_module_x'",
        "alone": "module:function",
    }
    for wrong, words in mistakes.items():
        with pytest.raises(CovoteError, match=f"expert 'f': .*{words}"):
            open_expert("f", PANEL_ORDER, f"python:{wrong}", tmp_path, trust=True)


@pytest.mark.parametrize(("model", "error", "words"), [
    ("onnx:skin.onx", FileError, "no file .*skin.onx .did you mean 'skin.onnx'?"),
    ("onnx:models/skin.onnx", FileError, "no folder"),
    ("onxx:skin.onnx", InputError, "unknown kind.*onnx"),
    ("skin.txt", InputError, "unknown kind"),
    (3, InputError, "cannot parse"),
    ({"trust": True}, InputError, "cannot parse"),
    ({"use": "onnx:skin.onnx", "tiemout": 3}, InputError, "no option 'tiemout'"),
    ({"use": "onnx:skin.onnx", "treads": 3}, InputError, "did you mean 'threads'"),
    ("onnx:skin.onnx", FileError, "cannot be read as an ONNX file"),
    ("skops:skin.onnx", FileError, "cannot be read as a skops file"),
    ("torch:skin.onnx", FileError, "cannot be loaded as a torch exported program"),
    ("joblib:skin.onnx", FileError, "cannot be loaded"),
    ("http://localhost:1/skin", InputError, "looks like http://localhost:8080/v2/models/NAME"),
    ("http://ann:hush@host/v1", InputError, "language model write .chat:http:..host.v1., .* .json:http"),
    ("skin.pt", InputError, "a .pt file holds weights .*torch.export.save.*model.pt2"),
    ("skin.keras", InputError, "save the model as ONNX"),
    ("rules.py", InputError, "is written .python:module:function., without .py"),
    ({"use": "http://localhost:1/v2/models/skin", "retries": -1}, InputError, "retries = -1"),
    ({"use": "http://localhost:1/v2/models/skin", "timeout": 0}, InputError, "timeout = 0"),
    ({"use": "onnx:skin.onnx", "logits": "no"}, InputError, "logits = 'no' must be true or false"),
    ({"use": "onnx:skin.onnx", "classes": "abc"}, InputError, "classes = 'abc' must be a list"),
    ({"use": "onnx:skin.onnx", "labels": ["a"]}, InputError, "labels = .* must be a table"),
    ({"use": "onnx:skin.onnx", "columns": [1]}, InputError, "columns = .* must be a list of texts"),
    ({"use": "onnx:skin.onnx", "batch": True}, InputError, "batch = True must be a whole number, 1 or more"),
    ({"use": "onnx:skin.onnx", "scale": float("nan")}, InputError, "scale = nan must be a number"),
    ({"use": "onnx:skin.onnx", "threads": 1.5}, InputError, "threads = 1.5 must be a whole number"),
    ({"use": "onnx:skin.onnx", "channels": []}, InputError, "channels = .* must be .first. or .last."),
    ("http://localhost:port/v2/models/skin", InputError, "looks like http://localhost:8080"),
    ("http://localhost:99999/v2/models/skin", InputError, "looks like http://localhost:8080"),
    ("http://[/v2/models/skin", InputError, "looks like http://localhost:8080"),
])  # fmt: skip
def test_mistakes_are_named_with_a_remedy(model, error, words, tmp_path):
    (tmp_path / "skin.onnx").write_text("not a model")
    with pytest.raises(error, match=f"expert 'ann': .*{words}"):
        open_expert("ann", PANEL_ORDER, model, tmp_path, trust=True)


@pytest.mark.parametrize("address", [
    "http://ann:hush/hush@localhost:1/v2/models/skin",
    "htp://ann:hush@localhost:1/v2/models/skin",
    "http://ann:hush@localhost:1/skin",
    "http://ann:hush@localhost:1/v2/models/skin",
])  # fmt: skip
def test_a_password_in_an_address_is_never_told(address):
    def asked():
        open_expert("ann", PANEL_ORDER, {"use": address, "retries": 0}).answer(np.zeros((1, 1)))

    with pytest.raises(CovoteError) as told:
        asked()
    assert "hush" not in str(told.value)


@pytest.mark.parametrize(
    ("kind", "library"), [("onnx", "onnxruntime"), ("skops", "skops"), ("torch", "torch")]
)
def test_a_missing_library_is_named_with_the_install_line(kind, library, tmp_path, monkeypatch):
    (tmp_path / "model").write_text("")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingDependencyError, match=rf"expert 'ann': .*pip install 'covote\[{kind}\]'"):
        open_expert("ann", PANEL_ORDER, f"{kind}:model", tmp_path, trust=True)


def test_the_page_about_experts_names_every_option():
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
    for name in {*COMMON, *(name for kind in KINDS.values() for name in kind.options)}:
        assert f"`{name}`" in page, name


def test_a_model_that_takes_a_matrix_gets_the_columns_of_numbers(fitted, iris, tmp_path):
    X, _ = iris
    batch = {"name": np.array(["x"] * len(X), dtype=object), **{f"x{k}": X[:, k] for k in range(X.shape[1])}}
    batch["day"] = np.zeros(len(X), dtype="datetime64[D]")
    expert = open_expert("iris", PANEL_ORDER, fitted)
    assert expert.answer(batch).label.tolist() == expert.answer(X).label.tolist()
    texts = {"title": batch["name"], "text": batch["name"]}
    with pytest.raises(ExpertError, match=r"takes numbers, or one column of text, .* several: title, text"):
        expert.answer(texts)


def edits(batch):
    for column in batch.values() if isinstance(batch, dict) else [batch]:
        column[:] = 0
    return ["setosa"] * len(batch)


@pytest.mark.parametrize("table", [False, True])
def test_an_expert_cannot_change_the_data_of_the_next_one(table):
    rows = np.ones((3, 2))
    batch = {"a": rows[:, 0], "b": rows[:, 1]} if table else rows
    with pytest.raises(ExpertError, match=r"expert 'ann' failed: .*read-only.*a copy"):
        open_expert("ann", PANEL_ORDER, edits).answer(batch)
    assert (rows == 1).all()
    rows[:] = 2  # but the caller may


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
def test_models_may_take_and_give_read_only_arrays(kind, fitted, iris, tmp_path):
    rows = iris[0].copy()
    rows.flags.writeable = False
    chances = fitted.predict_proba(rows).astype(kind)
    chances.flags.writeable = False
    soft = open_expert("ann", tuple(NAMES), lambda batch: chances).answer(rows)
    np.testing.assert_allclose(soft.probability, chances, atol=1e-6)
    to_onnx(fitted, tmp_path / "iris.onnx")
    exported(tmp_path / "iris.pt2", fitted)
    told = {"use": "iris.pt2", "logits": True, "classes": NAMES.tolist()}
    for model in ("iris.onnx", told, fitted):
        answers = open_expert("ann", PANEL_ORDER, model, tmp_path, trust=True).answer(rows)
        assert (names(answers) == fitted.predict(rows)).all()


@pytest.fixture
def iris_folder(tmp_path, fitted):
    with (tmp_path / "iris.pkl").open("wb") as file:
        pickle.dump(fitted, file)
    return tmp_path


def test_a_panel_that_contradicts_the_model_is_refused_at_opening(iris_folder):
    with pytest.raises(
        InputError, match=r"expert 'iris': the panel says that it knows rosa, but its model has"
    ):
        open_expert("iris", ["setosa", "rosa"], "pickle:iris.pkl", iris_folder, trust=True)
    open_expert("iris", ["setosa", "virginica"], "pickle:iris.pkl", iris_folder, trust=True)


def rules(folder, answer):
    """Write a module with a helper of its own, and return an expert who uses it."""
    folder.mkdir()
    (folder / "helper.py").write_text(f"ANSWER = {answer!r}\n")
    (folder / "late.py").write_text(f"ANSWER = {answer!r}\n")
    (folder / "rules.py").write_text(
        "import helper\n\n"
        "def say(batch):\n"
        "    import late\n"
        "    assert late.ANSWER == helper.ANSWER\n"
        "    return [helper.ANSWER] * len(batch)\n"
    )
    return open_expert("e", ["a", "b"], "python:rules:say", folder, trust=True)


def test_two_panels_with_modules_of_the_same_name_run_their_own_code(tmp_path):
    one, two = rules(tmp_path / "one", "a"), rules(tmp_path / "two", "b")
    for _ in range(2):
        assert one.answer(np.zeros(2)).label.tolist() == [0, 0]
        assert two.answer(np.zeros(2)).label.tolist() == [1, 1]
    assert not {"rules", "helper", "late"} & set(sys.modules)
    assert not [path for path in sys.path if str(tmp_path) in path]


def test_what_is_installed_in_the_folder_of_the_panel_stays_loaded(tmp_path, monkeypatch):
    installed = tmp_path / ".venv" / "lib" / "site-packages"
    installed.mkdir(parents=True)
    (installed / "installed_once.py").write_text("")
    (tmp_path / "uses.py").write_text(
        "import installed_once\n\ndef say(batch):\n    return ['a'] * len(batch)\n"
    )
    monkeypatch.syspath_prepend(installed)
    open_expert("e", ["a", "b"], "python:uses:say", tmp_path, trust=True)
    assert "installed_once" in sys.modules
    assert "uses" not in sys.modules


def test_only_the_module_in_the_folder_of_the_panel_is_run(tmp_path, monkeypatch):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "panel"
    for place in (elsewhere, folder):
        place.mkdir()
    for name in ("rules", "statistics", "only_elsewhere"):
        (elsewhere / f"{name}.py").write_text(f"raise RuntimeError({name!r})\n")
    monkeypatch.chdir(elsewhere)
    monkeypatch.syspath_prepend(elsewhere)
    say = "def say(batch):\n    return ['a'] * len(batch)\n"
    for name in ("rules", "statistics"):  # the second is a name of the standard library, too
        (folder / f"{name}.py").write_text(say)
        before = sys.modules.get(name)
        expert = open_expert("e", ["a", "b"], f"python:{name}:say", folder, trust=True)
        assert expert.answer(np.zeros(2)).label.tolist() == [0, 0]
        assert sys.modules.get(name) is before
    for name in ("only_elsewhere:say", "os:system", "os.path:join", "rules.inner:say"):
        with pytest.raises(InputError, match="only code that lies there is run"):
            open_expert("e", ["a"], f"python:{name}", folder, trust=True)


@pytest.mark.parametrize("where", ["import", "call"])
def test_a_module_that_ends_the_process_is_an_error(tmp_path, where):
    ends = "import sys\nsys.exit(0)\n" if where == "import" else ""
    (tmp_path / f"leaving_{where}.py").write_text(f"{ends}def say(batch):\n    raise SystemExit('bye')\n")
    with pytest.raises((FileError, ExpertError), match="SystemExit"):
        open_expert("e", ["a"], f"python:leaving_{where}:say", tmp_path, trust=True).answer(np.zeros(1))


def test_one_function_serves_many_experts_if_it_is_told_what_they_know():
    def first(batch, knows):
        return [knows[0]] * len(batch)

    for known in (["a", "b"], ["c"]):
        assert open_expert("e", known, first).answer(np.zeros(2)).label.tolist() == [0, 0]


def test_names_of_a_function_may_cross_those_of_the_panel(tmp_path):
    """What the function calls cat is a kitten, and what it calls dog is a cat."""
    (tmp_path / "crossed.py").write_text(
        "import numpy as np\n\ndef say(batch):\n    return ['cat', 'dog', 'cat']\n\n"
        "def sure(batch):\n    return np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])\n"
    )
    labels = {"cat": "kitten", "dog": "cat"}
    for name, expected in (("say", [0, 1, 0]), ("sure", [0, 1, 0])):
        model = {"use": f"python:crossed:{name}", "labels": labels}
        expert = open_expert("e", ["kitten", "cat"], model, tmp_path, trust=True)
        assert expert.answer(np.zeros(3)).label.tolist() == expected


@pytest.mark.parametrize(
    "classes", ["[[" * 100_000, '[["a"], "b"]', "[1.5, 2]", '{"a": 1}', "9" * 6000, "[true]", "[null]"]
)
def test_onnx_metadata_of_any_kind_end_in_one_line(tmp_path, classes):
    import onnx

    naming(tmp_path / "m.onnx", ["ear"])
    model = onnx.load(tmp_path / "m.onnx")
    onnx.helper.set_model_props(model, {"classes": classes})
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(InputError, match="not a JSON list of names"):
        open_expert("e", ["ear", "eye"], "m.onnx", tmp_path)
