"""Language models as experts, against a server that knows the answers and misbehaves."""

import base64
import json
import re
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from covote.errors import ExpertError, InputError
from covote.models import NO_ANSWER, open_expert
from covote.models.prompts import NONE, Options, calibrate_scores, from_scores
from covote.votes import NONE_OF_MINE
from tests.chat_stub import Stub

KNOWS = ("ant", "bee", "cat")


def items(*truths):
    return {"text": np.array([f"item {n} truth: {name}" for n, name in enumerate(truths)], dtype=object)}


def expert(stub, **options):
    return open_expert("ann", KNOWS, {"use": f"chat:{stub.url}", "retries": 1, **options})


def test_names_are_classes_and_none_is_none_of_mine():
    with Stub() as stub:
        answers = expert(stub).answer(items("cat", "ant", "dog", "bee"))
    assert answers.label.tolist() == [2, 0, NONE_OF_MINE, 1]
    assert answers.probability.argmax(axis=1)[[0, 1, 3]].tolist() == [2, 0, 1]
    odds = np.exp([-0.2, -3, -3, -3])
    np.testing.assert_allclose(answers.probability[0].max(), odds[0] / odds.sum(), rtol=1e-5)
    assert answers.usage[:3] == (4, 400, 8)


def test_without_log_probabilities_there_are_labels():
    with Stub(logprobs=False) as stub:
        answers = expert(stub).answer(items("cat", "bee"))
    assert (answers.label.tolist(), answers.probability) == ([2, 1], None)


def order(options, text):
    return tuple(re.findall(r"^- (.*?)(?::.*)?$", options.question({"text": text}), re.M))


def test_orders_are_shuffled_by_item_and_seed():
    options = Options(KNOWS)
    orders = [order(options, f"item {n}") for n in range(200)]
    assert len(set(orders)) == 24
    assert set(orders[0]) == {*KNOWS, NONE}
    assert orders == [order(options, f"item {n}") for n in range(200)]
    assert orders != [order(Options(KNOWS, seed=1), f"item {n}") for n in range(200)]


def test_without_shuffling_all_prompts_begin_alike_so_that_a_server_can_cache_them():
    once = [Options(KNOWS, seed=seed, shuffle=False) for seed in range(30)]
    for options in once:
        assert len({options.question({"text": f"item {n}"}).partition("item")[0] for n in range(20)}) == 1
    assert len({order(options, "item") for options in once}) > 10


def test_the_prompt_is_a_template():
    options = Options(KNOWS, "A bark is a dog.\n{title}: {text}\n{classes}\n{{}}", {"ant": "six legs"})
    text = options.question({"title": "Note", "text": "{classes} it stings"})
    assert text.startswith("A bark is a dog.\nNote: {classes} it stings\n")
    assert text.endswith("\n{}")
    assert set(re.findall(r"^- (.*)$", text, re.M)) == {"ant: six legs", "bee", "cat", NONE}
    with pytest.raises(ExpertError, match=r"a prompt with \{title\}, which is not a column"):
        options.question({"text": "x"})


def token(text, *others, value=-0.1):
    tops = [{"token": other, "logprob": logprob} for other, logprob in others]
    return {"token": text, "logprob": value, "top_logprobs": [{"token": text, "logprob": value}, *tops]}


def scores(options, *answers):
    """Return the scores of options after one or more answers."""
    heard = {}
    for tokens in answers:
        heard |= options.continuations(tokens)
    return options.scores(heard)


def test_options_share_what_the_tokens_that_spell_them_have():
    options = Options(["card lost", "card late", "refund", "cash"])
    said = [
        token("card", ("ref", -3.0), ("The", -1.0), ("ca", -4.0)),
        token(" la", (" lost", -2.0), value=-0.5),
        token("te"),
    ]
    card, ref, three = np.exp(
        [-0.1, -3, -4]
    )  # "ca" may become three options; "The" none, so it does not count
    none = np.exp(-4)  # not among the tokens: as much as the least of them
    late, lost = np.exp([-0.5, -2]) / np.exp([-0.5, -2]).sum()
    expected = [card * lost + three / 3, card * late + three / 3, ref, three / 3, none]
    np.testing.assert_allclose(np.exp(scores(options, said)), expected / np.sum(expected), rtol=1e-5)


def test_a_piece_of_a_token_that_leaves_the_same_options_does_not_count():
    options = Options(["top up failed", "top up limits", "cash"])
    tops = ("none", -9.0), ("cash", -1.0)
    whole = [token("top", *tops), token(" up"), token(" failed", (" limits", -3.0))]
    pieces = [token("top", *tops, ("t", -2.0), ("to", -2.5)), *whole[1:]]
    np.testing.assert_allclose(scores(options, pieces), scores(options, whole))


def test_tokens_that_leave_no_choice_cost_nothing():
    options = Options(["identity not verified", "top up"])
    said = [token("ident", ("top", -1.0), ("none", -9.0), value=-1.0), token("ity not", value=-7.0)]
    identity, top, _ = scores(options, [*said, token(" verified", value=-5.0)]).tolist()
    assert identity == pytest.approx(top)


class Words:
    """A model of words with known probabilities, of which most are not options, asked with constraints."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        words = ["red", "tan", "sky"]
        names = sorted({" ".join(self.rng.choice(words, self.rng.integers(1, 4))) for _ in range(6)})
        self.options = Options(names)
        self.words = [*words, "none", "of", "these", "The", "<end>"]
        self.paths = {name: (*name.split(), "<end>") for name in self.options.names}
        self.chance = {}

    def after(self, said):
        if said not in self.chance:
            drawn = self.rng.dirichlet(np.ones(len(self.words)))
            self.chance[said] = dict(zip(self.words, drawn, strict=True))
        return self.chance[said]

    def allowed(self, said, names):
        following = {self.paths[name][len(said)] for name in names if self.paths[name][: len(said)] == said}
        total = sum(self.after(said)[word] for word in following)
        return {word: self.after(said)[word] / total for word in following}

    def answer(self, names):
        """Return the likeliest words that spell one of some options, and these words as tokens."""
        said, tokens = (), []
        while not said or said[-1] != "<end>":
            allowed = self.allowed(said, names)
            word = max(allowed, key=allowed.get)
            chances = {
                other if other == "<end>" or not said else f" {other}": np.log(p)
                for other, p in self.after(said).items()
            }
            spaced = word if word == "<end>" or not said else f" {word}"
            tokens.append(token(spaced, *chances.items(), value=chances[spaced]))
            said += (word,)
        return said, tokens


@pytest.mark.parametrize("seed", range(20))
def test_scores_are_the_probabilities_of_constrained_answers(seed):
    model = Words(seed)
    answer, said = model.answer(model.paths)
    expected = []
    for path in model.paths.values():
        share = 1.0
        for n, word in enumerate(path):
            share *= model.allowed(path[:n], model.paths)[word]
            if word != answer[n]:  # what follows was not heard: all that begin so have the same share
                share /= sum(other[: n + 1] == path[: n + 1] for other in model.paths.values())
                break
        expected.append(share)
    assert sum(expected) == pytest.approx(1)
    np.testing.assert_allclose(np.exp(scores(model.options, said)), expected, rtol=1e-4)


def test_quotes_and_case_do_not_matter_to_scores():
    options = Options(["ant", "bee"])
    plain = scores(options, [token("ant", ("bee", -2.0), ("none", -5.0))])
    quoted = scores(
        options, [token('"', value=0.0), token("Ant", ("Bee", -2.0), ("none", -5.0)), token('"', value=0.0)]
    )
    np.testing.assert_allclose(plain, quoted)


def test_a_name_that_begins_another_is_told_from_it():
    options = Options(["top up", "top up failed"])
    said = [token("top", ("none", -9.0)), token(" up"), token(" failed", ("<end>", -3.0), value=-0.2)]
    short, long, _ = scores(options, said).tolist()
    assert long - short == pytest.approx(3.0 - 0.2, abs=1e-4)
    stopped, longer, _ = scores(options, said[:2]).tolist()  # a server may not say how likely the end was
    assert stopped > longer
    ended = scores(options, [*said[:2], token("", (" failed", -3.0), value=-0.2)]).tolist()
    assert ended[0] - ended[1] == pytest.approx(3.0 - 0.2, abs=1e-4)


@pytest.mark.parametrize("text", ["bee", ' "bee"\n', "Bee.", "`bee`", "**bee**"])
def test_an_answer_is_the_name_of_an_option_and_nothing_else(text):
    assert Options(KNOWS).chosen(text) == 1


@pytest.mark.parametrize("text", ["", "a bee", "bees", "ant or bee", "be"])
def test_other_answers_are_not_options(text):
    assert Options(KNOWS).chosen(text) is None


def test_a_server_without_schemas_is_asked_without():
    with Stub(schemas=False) as stub:
        assert expert(stub).answer(items("cat", "bee")).label.tolist() == [2, 1]
    assert ["response_format" in body for body in stub.bodies] == [True, False, False]


def test_a_grammar_offers_the_options():
    with Stub() as stub:
        expert(stub, constrain="grammar", name="tiny").answer(items("cat"))
    assert (stub.bodies[0]["grammar"], stub.bodies[0]["model"]) == (
        'root ::= " "? ("ant" | "bee" | "cat" | "none of these")',
        "tiny",
    )


def test_a_mistake_is_quoted_once_and_then_there_is_no_answer():
    def misbehave(handler, item, times, body):
        if item == 1 or (item == 0 and times == 1):
            handler.complete("I think it is a cat")
            return True
        return False

    with Stub(behave=misbehave) as stub:
        answers = expert(stub).answer(items("cat", "ant", "bee"))
    assert answers.label.tolist() == [2, NO_ANSWER, 1]
    assert "answered 'I think it is a cat', which is not one of its options" in answers.note
    assert dict(stub.tried) == {0: 2, 1: 2, 2: 1}
    assert "'I think it is a cat' is not one of the options" in stub.bodies[1]["messages"][2]["content"]
    assert answers.usage.calls == 5


FAILURES = {
    "500": (lambda handler: handler.send(500, {"error": "out of memory"}), "with status 500: out of memory"),
    "429": (lambda handler: handler.send(429, {"error": "slow down"}, Retry_After="0"), "with status 429"),
    "401": (lambda handler: handler.send(401, {"error": "who are you?"}), "with status 401"),
    "garbage": (lambda handler: handler.send(200, b"<html>"), "invalid JSON"),
    "other JSON": (lambda handler: handler.send(200, {"choices": []}), "not a chat completion"),
    "drop": (lambda handler: handler.connection.close(), "broke the connection"),
    "slow": (lambda handler: handler.server.over.wait(30), "did not answer within"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_failures_end_in_one_line(kind):
    fail, words = FAILURES[kind]

    def misbehave(handler, item, times, body):
        fail(handler)
        handler.close_connection = True
        return True

    with Stub(behave=misbehave) as stub, pytest.raises(ExpertError, match=words):
        expert(stub, retries=0, timeout=0.5 if kind == "slow" else 20).answer(items("cat"))


def test_a_server_that_asks_to_wait_is_asked_again():
    def busy(handler, item, times, body):
        if times == 1:
            handler.send(429, {"error": "later"}, Retry_After="0")
        return times == 1

    with Stub(behave=busy) as stub:
        assert expert(stub).answer(items("cat", "bee")).label.tolist() == [2, 1]
    assert set(stub.tried.values()) == {2}


def test_a_server_that_names_the_time_is_asked_again_then():
    asked = []

    def busy(handler, item, times, body):
        asked.append(time.time())
        if times == 1:
            handler.send(429, {"error": "later"}, Retry_After=formatdate(asked[0] + 3, usegmt=True))
        return times == 1

    with Stub(behave=busy) as stub:
        assert expert(stub).answer(items("cat")).label.tolist() == [2]
    assert asked[1] >= int(asked[0] + 3)


def test_a_failure_gives_the_message_of_the_protocol_without_the_key(monkeypatch):
    monkeypatch.setenv("STUB_KEY", "sk-" + "hush" * 20)

    def quote(handler, item, times, body):
        handler.send(401, {"error": {"message": "wrong " * 30 + handler.headers["Authorization"], "code": 1}})
        return True

    with Stub(behave=quote) as stub, pytest.raises(ExpertError, match="status 401: wrong wrong") as error:
        expert(stub, key_env="STUB_KEY").answer(items("cat"))
    assert "hush" not in str(error.value)


@pytest.mark.parametrize("key", ["sk-hush\nsk-hush", "sk-hush\u20ac", "sk-hush\rhush"])
def test_a_key_that_cannot_be_sent_is_rejected_and_not_quoted(monkeypatch, key):
    monkeypatch.setenv("STUB_KEY", key)
    with Stub() as stub, pytest.raises(InputError, match=r"STUB_KEY .* has a line break") as error:
        expert(stub, key_env="STUB_KEY").answer(items("cat"))
    assert "hush" not in str(error.value)


def test_a_key_in_the_panel_is_rejected_and_not_quoted():
    with Stub() as stub, pytest.raises(InputError, match="key_env must be the name") as error:
        expert(stub, key_env="sk-hush-hush").answer(items("cat"))
    assert "hush" not in str(error.value)


def test_the_key_comes_from_the_environment_and_is_never_told(monkeypatch):
    monkeypatch.setenv("STUB_KEY", "sk-hush-hush")

    def quote(handler, item, times, body):
        handler.send(401, {"error": f"bad key {handler.headers['Authorization']}"})
        return True

    with Stub(behave=quote) as stub, pytest.raises(ExpertError) as error:
        expert(stub, key_env="STUB_KEY").answer(items("cat"))
    assert stub.keys == {"Bearer sk-hush-hush"}
    assert "hush" not in str(error.value)
    monkeypatch.delenv("STUB_KEY")
    with pytest.raises(InputError, match=r"environment variable STUB_KEY .* is not set"):
        expert(stub, key_env="STUB_KEY")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prompt": "no options"}, "does not show the options"),
        ({"prompt": "{classes} {item.__class__}"}, "a template has names of columns"),
        ({"prompt": "{classes"}, "not a template"),
        ({"constrain": "tools"}, "json, grammar or none"),
        ({"input_price": -1}, "a price"),
        ({"promt": "x"}, "did you mean 'prompt'"),
    ],
)
def test_mistakes_are_named(options, words):
    with pytest.raises(InputError, match=words):
        open_expert("ann", KNOWS, {"use": "chat:http://localhost:1/v1", **options})
    with pytest.raises(InputError, match="looks like chat:http"):
        open_expert("ann", KNOWS, "chat:localhost")
    with pytest.raises(InputError, match="two classes have names that are the same"):
        open_expert("ann", ["Ant", "ant"], "chat:http://localhost:1/v1")


def test_calibration_takes_away_what_an_option_gets_whatever_the_item_is():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    liking = np.array([0.0, 3.0, -1.0, -2.0])  # of the model for each option
    scores = (2.0 * np.eye(4)[truth] + liking + rng.normal(0, 0.3, (200, 4))).astype(np.float32)
    raw, _ = from_scores(scores)
    fair, chances = from_scores(calibrate_scores(scores))
    assert np.mean(raw == truth) < 0.5
    assert np.mean(fair == truth) > 0.95
    assert chances.shape == (200, 3)


def test_a_few_scores_that_are_far_too_low_do_not_make_an_option_likely():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    scores = (3.0 * np.eye(4)[truth] + rng.normal(0, 0.3, (200, 4))).astype(np.float32)
    scores[:20, 3] -= 200.0  # followed to the end, token by token
    fair, _ = from_scores(calibrate_scores(scores))
    assert np.mean(fair == truth) > 0.95


def test_the_name_and_the_password_of_an_address_are_sent_and_never_told(monkeypatch):
    def refuse(handler, *_):
        handler.send(401, {"error": {"message": f"{handler.headers['Authorization']} hu sh is wrong"}})
        return True

    with Stub() as stub:
        address = stub.url.replace("//", "//ann:hu%20sh@")
        assert open_expert("e", KNOWS, f"chat:{address}").answer(items("ant")).label[0] == 0
        assert stub.keys == {"Basic " + base64.b64encode(b"ann:hu sh").decode()}
    with Stub(behave=refuse) as stub:
        address = stub.url.replace("//", "//ann:hu%20sh@")
        with pytest.raises(ExpertError, match=r"status 401: Basic \*\*\* \*\*\* is wrong"):
            open_expert("e", KNOWS, f"chat:{address}").answer(items("ant"))
    monkeypatch.setenv("STUB_KEY", "sk-1")
    with pytest.raises(InputError, match="has a name and a password, and key_env names a key") as told:
        open_expert("e", KNOWS, {"use": f"chat:{address}", "key_env": "STUB_KEY"})
    assert "hu" not in str(told.value).replace("http", "")


def test_a_plain_json_server():
    class Plain(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/soft":
                said = {"probabilities": [[0.5, 0.25, 0.25]] * len(asked["items"])}
            elif self.path == "/short":
                said = {"labels": []}
            else:
                said = {"labels": [asked["classes"][item["k"] % 3] for item in asked["items"]]}
            body = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Plain) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        where = f"json:http://127.0.0.1:{server.server_port}"
        batch = {"k": np.arange(5), "x": np.array([0.5, np.nan, 1, 2, 3])}
        found = open_expert("ann", KNOWS, {"use": f"{where}/hard", "batch": 2}).answer(batch)
        assert found.label.tolist() == [0, 1, 2, 0, 1]
        assert open_expert("ann", KNOWS, f"{where}/soft").answer(batch).probability[4, 0] == 0.5
        with pytest.raises(ExpertError, match="with 5 entries"):
            open_expert("ann", KNOWS, f"{where}/short").answer(batch)
        server.shutdown()
