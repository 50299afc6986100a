"""An Asker: questions, answers, money, experts that come and go, files, and what it refuses."""

import numpy as np
import pytest

from covote import Panel, Votes, compiled, decode, design, simulate
from covote.asking import (
    Asker,
    Elimination,
    ItemAnswers,
    Posterior,
    Questions,
    Repair,
    TieOrder,
    Vote,
    choose,
)
from covote.asking.answer_model import answer_table
from covote.errors import CoverError, CovoteError, FileError, InputError, UnknownNameError
from tests.plain_asking import coin_table

PANEL = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], ["ann", "bob", "eve"])


def ask(asker, votes, which=None):
    """Ask until there is nothing to ask; return the number of rounds."""
    dense, rounds = votes.dense, 0
    while len(questions := asker.next(which)):
        asker.tell_all(questions, dense[questions.item, questions.expert].astype(np.int64))
        rounds += 1
    return rounds


def state_of(asker, path):
    asker.save(path)
    with np.load(path) as stored:
        return {name: stored[name].tolist() for name in stored.files}


def test_a_question_names_the_item_the_expert_and_its_classes():
    asker = Asker(PANEL, ["photo"])
    (question,) = asker.next()
    assert question.item == "photo"
    assert question.classes == dict(zip(PANEL.names, PANEL.blocks(), strict=True))[question.expert]


def test_two_right_answers_settle_three_classes():
    asker = Asker(PANEL, ["photo"])
    for _ in range(2):
        (question,) = asker.next()
        asker.tell("photo", question.expert, "fox" if "fox" in question.classes else question.classes[0])
        if asker.done[0]:
            break
    assert asker.labels().value.tolist() == ["fox"]
    assert asker.possible("photo") == ("fox",)
    assert len(asker.next()) == 0


EIGHT = design(8, 4, effort="fast")


@pytest.mark.parametrize(
    "rule", [Elimination(), Vote(), Posterior(coin_table(EIGHT), 0.05)], ids=lambda rule: rule.name
)
def test_answers_kernels_give_the_same_plain_and_compiled(rule):
    panel = EIGHT
    votes = simulate(panel, np.arange(40) % 8, accuracy=0.9, seed=3)
    found = []
    for mode in ("plain", "compiled"):
        with compiled.kernel_mode(mode):
            asker = Asker(panel, 40, rule, seed=5)
            ask(asker, votes)
            found.append((asker.labels().index.tolist(), asker.votes().dense.tolist(), asker.spent))
    assert found[0] == found[1]


def test_the_order_in_which_items_are_asked_does_not_matter():
    panel = design(10, 4, effort="fast")
    votes = simulate(panel, np.arange(60) % 10, accuracy=0.9, seed=1)
    together, apart = Asker(panel, 60, seed=2), Asker(panel, 60, seed=2)
    ask(together, votes)
    ask(apart, votes, which=7)
    assert together.votes().dense.tolist() == apart.votes().dense.tolist()


def test_the_seed_decides_between_equally_good_experts():
    first = [Asker(design(10, 4, effort="fast"), 200, seed=seed).next().expert.tolist() for seed in (0, 0, 1)]
    assert first[0] == first[1] != first[2]
    assert len(set(first[0])) > 4  # the work is spread over the experts


def test_next_waits_for_answers():
    asker = Asker(PANEL, 2)
    questions = asker.next()
    assert len(questions) == 2
    assert len(asker.next()) == 0
    assert asker.waiting().item.tolist() == [0, 1]
    asker.tell_all(questions, PANEL.knows[questions.expert].argmax(axis=1))
    assert len(asker.next([1])) == 1
    assert asker.next().item.tolist() == [0]


def test_none_of_mine_contradicts_everything_that_the_expert_knows():
    asker = Asker(PANEL, 1)
    (question,) = asker.next()
    asker.tell(0, question.expert, "none of mine")
    (left,) = set(PANEL.classes) - set(question.classes)
    assert asker.labels().value.tolist() == [left]


def test_an_expert_that_does_not_answer_is_not_asked_again_and_not_paid():
    asker = Asker(PANEL, 1, cost=[2, 3, 4])
    asked = []
    while len(questions := asker.next()):
        (question,) = questions
        asked.append(question.expert)
        asker.tell(0, question.expert, None)
    assert sorted(asked) == ["ann", "bob", "eve"]
    assert asker.spent == 0
    assert asker.stuck[0]
    assert asker.possible(0) == PANEL.classes


def test_cheap_experts_are_asked_first():
    panel = Panel(2, [[1, 1]] * 3, cost=[5, 1, 5])
    assert Asker(panel, 20).next().expert.tolist() == [1] * 20
    assert Asker(panel, 20, cost=[1, 5, 5]).next().expert.tolist() == [0] * 20


def test_a_budget_per_item_is_kept_and_what_it_leaves_open_is_reported():
    panel = design(10, 4, effort="fast")
    votes = simulate(panel, np.arange(50) % 10, seed=1)
    asker = Asker(panel, 50, budget=2)
    ask(asker, votes)
    assert asker.answers == 100
    assert asker.stuck.sum() == 50 - asker.done.sum() > 0


def test_a_budget_in_all_is_kept():
    panel = design(10, 4, effort="fast")
    votes = simulate(panel, np.arange(50) % 10, seed=1)
    asker = Asker(panel, 50, total=37, cost=1.5)
    ask(asker, votes)
    assert asker.spent == 36
    assert asker.answers == 24


def test_experts_leave():
    asker = Asker(PANEL, 3, away="ann", partial=True)
    ask(asker, simulate(PANEL, ["cat", "dog", "fox"]))
    assert "ann" not in asker.votes().panel.names or not (asker.votes().dense[:, 0] >= 0).any()
    assert asker.stuck.any()
    asker = Asker(PANEL, 3)
    asker.leave("bob")
    ask(asker, simulate(PANEL, ["cat", "dog", "fox"]))
    assert (asker.votes().dense[:, 1] == -1).all()


def test_the_vote_that_cannot_change_is_the_vote_of_everybody():
    panel = design(10, 4, effort="fast")
    votes = simulate(panel, np.random.default_rng(0).integers(0, 10, 500), accuracy=0.8, seed=4)
    asker = Asker(panel, 500, "vote")
    ask(asker, votes)
    everybody = decode(votes, method="authority").index
    assert (asker.labels().index == everybody).all()
    assert asker.answers < 0.75 * 500 * len(panel)


def test_saved_and_loaded_in_the_middle_it_asks_the_same(tmp_path):
    panel = design(10, 4, effort="fast")
    truth = np.arange(40) % 10
    gold = simulate(panel, np.repeat(np.arange(10), 6), noise="similar", seed=9)
    votes = simulate(panel, truth, noise="similar", accuracy=0.9, seed=1)
    known = Posterior(answer_table(gold, np.repeat(np.arange(10), 6)), 0.02)
    for rule in (Elimination(), known):
        names = [f"item {n}" for n in truth.tolist()[:0]] + [f"photo-{n}" for n in range(40)]
        asker = Asker(panel, names, rule, budget=8, total=300, seed=3)
        questions = asker.next(25)
        asker.tell_all(questions, votes.dense[questions.item, questions.expert].astype(int))
        waiting = asker.next(5)
        asker.save(tmp_path / "state.npz")
        again = Asker.load(tmp_path / "state.npz")
        assert again.waiting().item.tolist() == waiting.item.tolist()
        for one in (asker, again):
            one.tell_all(waiting, votes.dense[waiting.item, waiting.expert].astype(int))
            ask(one, votes)
        assert asker.labels().index.tolist() == again.labels().index.tolist()
        assert asker.labels().items.tolist() == again.labels().items.tolist() == names
        assert asker.votes().dense.tolist() == again.votes().dense.tolist()
        assert asker.spent == again.spent


def test_a_state_that_was_loaded_is_saved_with_the_same_bytes(tmp_path):
    panel = design(6, 3, effort="fast")
    votes = simulate(panel, np.arange(12) % 6, seed=2)
    asker = Asker(panel, 12)
    questions = asker.next(10)
    asker.tell_all(questions, votes.dense[questions.item, questions.expert].astype(int))
    asker.save(tmp_path / "first.npz")
    Asker.load(tmp_path / "first.npz").save(tmp_path / "second.npz")
    assert (tmp_path / "first.npz").read_bytes() == (tmp_path / "second.npz").read_bytes()


@pytest.mark.parametrize(
    "rule",
    [
        Posterior(coin_table(PANEL).astype(np.float32), np.float64(0.1), promise=0.1),
        Posterior(coin_table(PANEL), prior=[0.5, 0.25, 0.25]),
        Posterior(coin_table(PANEL), prior=np.array([0.5, 0.25, 0.25])),
    ],
)
def test_every_form_of_a_model_is_saved(tmp_path, rule):
    asker = Asker(PANEL, 50, rule)
    ask(asker, simulate(PANEL, np.arange(50) % 3, accuracy=0.7, seed=2))
    asker.save(tmp_path / "state.npz")
    again = Asker.load(tmp_path / "state.npz")
    assert again.labels().confidence.tolist() == asker.labels().confidence.tolist()
    assert (again.done == asker.done).all()


def test_a_rule_of_your_own_is_used_and_not_saved(tmp_path):
    class Mine(Elimination):
        name = "mine"

    asker = Asker(PANEL, 1, Mine())
    assert len(asker.next()) == 1
    with pytest.raises(InputError, match="'mine' is not one of covote's"):
        asker.save(tmp_path / "state.npz")


def test_undo_takes_the_last_answer_back():
    asker = Asker(PANEL, ["photo"], cost=2)
    (first,) = asker.next()
    asker.tell("photo", first.expert, first.classes[0])
    (second,) = asker.next()
    asker.tell("photo", second.expert, second.classes[0])
    assert asker.undo() == second
    assert asker.answers == 1
    assert asker.spent == 2
    assert list(asker.next()) == [second]
    assert asker.undo() == second
    assert asker.undo() == first
    assert asker.spent == 0
    with pytest.raises(InputError, match="nothing to undo"):
        asker.undo()


def test_bad_answers_are_refused_in_one_line_and_change_nothing(tmp_path):
    asker = Asker(PANEL, ["photo", "film"])
    questions = list(asker.next())
    asked = questions[0].expert
    (other, *_) = set(PANEL.names) - {asked}
    asker.tell("film", questions[1].expert, questions[1].classes[0])
    (unknown,) = set(PANEL.classes) - set(questions[0].classes)
    before = state_of(asker, tmp_path / "a.npz")
    cases = [
        (("photo", other, "dog"), InputError, f"'{other}' was not asked about item 'photo'"),
        (("film", questions[1].expert, None), InputError, "already answered about item 'film'"),
        (("photo", asked, unknown), InputError, f"{unknown!r}, which is not one of their classes"),
        (("photo", asked, "cow"), UnknownNameError, "cow"),
        (("photo", "zoe", "cat"), UnknownNameError, "zoe"),
        (("image", asked, "cat"), UnknownNameError, "image"),
    ]
    for answer, error, message in cases:
        with pytest.raises(error, match=message) as caught:
            asker.tell(*answer)
        assert "\n" not in str(caught.value)
        assert state_of(asker, tmp_path / "b.npz") == before


def test_bad_arrays_of_answers_are_refused_and_change_nothing(tmp_path):
    asker = Asker(PANEL, 3)
    questions = asker.next()
    before = state_of(asker, tmp_path / "a.npz")
    twice = type(questions)(PANEL, questions.item[[0, 0]], questions.expert[[0, 0]])
    for asked, answers in [
        (questions, [0, 0]),
        (questions, [0.5] * 3),
        (questions, [7] * 3),
        (twice, [-1, -1]),
    ]:
        with pytest.raises(InputError):
            asker.tell_all(asked, answers)
        assert state_of(asker, tmp_path / "b.npz") == before


def test_questions_of_a_larger_asker_are_rejected():
    asked, asker = Asker(PANEL, 10_000_000).next(), Asker(PANEL, 3)
    asker.next()
    with pytest.raises(InputError, match=r"item number \d+, and this Asker has 3; tell the answers"):
        asker.tell_all(asked, np.zeros(len(asked), dtype=int))
    with pytest.raises(InputError, match="expert number 7"):
        asker.tell_all(Questions(PANEL, np.array([0]), np.array([7])), [0])
    with pytest.raises(InputError, match="item number -1"):
        asker.tell_all(Questions(PANEL, np.array([-1]), np.array([0])), [0])


def test_an_item_that_is_named_twice_is_asked_about_once():
    asker = Asker(PANEL, 2)
    questions = asker.next([0, 0, 1, 0])
    assert questions.item.tolist() == [0, 1]
    asker.tell_all(questions, PANEL.knows[questions.expert].argmax(axis=1))
    assert len(asker.next()) == 2


def test_a_batch_of_one_is_asked_as_many_are():
    """What is asked about an item depends on its answers, its number and the seed alone."""
    panel = design(12, 4, effort="fast")
    votes = simulate(panel, np.arange(30) % 12, accuracy=0.8, seed=6)
    for rule in (Elimination(), Vote(), Posterior(coin_table(panel), 0.05)):
        together = Asker(panel, 30, rule, seed=4)
        ask(together, votes)
        panel_rule, ties = rule.for_panel(panel), TieOrder(panel)
        everyone = np.ones(len(panel), dtype=bool)
        for n in range(30):
            heard = {}
            while True:
                state = panel_rule.state(ItemAnswers.of_one(heard), everyone)
                if panel_rule.settled(state)[0]:
                    break
                free = everyone.copy()
                free[list(heard)] = False
                order = ties.of(np.array([n]), 4)
                chosen = choose(panel_rule, state, free[None], panel.cost, np.array([np.inf]), order)[0]
                if chosen < 0:
                    break
                heard[int(chosen)] = int(votes.dense[n, chosen])
            expected = {i: k for i, k in enumerate(together.votes().dense[n].tolist()) if k != -1}
            assert heard == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0.5}, "budget 0.5 buys no answer: the cheapest expert costs 1"),
        ({"total": 0}, "total 0 buys no answer"),
        ({"rule": "guess"}, "'guess' is unknown; use one of elimination"),
        ({"rule": Repair(wrong=1)}, "'repair' needs 3 common experts .* 'cat' and 'dog'"),
        ({"away": "ann"}, "'elimination' needs a common expert .* 1 pair has fewer: 'cat' and 'dog'"),
        ({"away": ["ann", "bob", "eve"]}, "all experts are away"),
        ({"cost": {"ann": 1}}, "no cost for expert 'bob'"),
        ({"rule": "posterior"}, "give Posterior.learned"),
        ({"items": ["a", "a"]}, "'a' is listed twice"),
    ],
)
def test_terms_that_cannot_work_are_refused(options, message):
    items = options.pop("items", 3)
    rule = options.pop("rule", "elimination")
    with pytest.raises((InputError, CoverError), match=message):
        Asker(PANEL, items, rule, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold"),
        ({"prior": [0.5, 0.2, 0.1]}, "prior sums to 0.8; divide it by its sum"),
        ({"prior": [1.2, 0.2, -0.4]}, r"prior\[2\] is -0.4; a probability is a finite number, 0 or more"),
        ({"table": np.zeros((2, 3))}, "a table of float64 of shape"),
        ({"table": np.ones((9, 3))}, "give the logarithm of a probability"),
        ({"table": np.full((9, 3), np.nan)}, "give the logarithm of a probability"),
    ],
)
def test_a_posterior_that_makes_no_sense_is_refused_in_one_line(options, message):
    with pytest.raises(InputError, match=message) as caught:
        Asker(PANEL, 1, Posterior(**{"table": coin_table(PANEL), **options})).next()
    assert "\n" not in str(caught.value)


def test_a_file_that_holds_no_state_is_refused(tmp_path):
    (tmp_path / "text.npz").write_text("no state")
    with pytest.raises(FileError, match="is not the state of an Asker"):
        Asker.load(tmp_path / "text.npz")
    with pytest.raises(FileError, match="no file"):
        Asker.load(tmp_path / "nothing.npz")


def test_one_class_needs_no_question():
    asker = Asker(Panel(1, [[1]]), 4)
    assert asker.done.all()
    assert len(asker.next()) == 0
    assert asker.labels().index.tolist() == [0] * 4


ODD = [None, float("nan"), [1], {"a": 1}, np.array([1, 2]), {1}, (1, [2])]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_odd_ids_of_items_are_refused_in_one_line(odd, tmp_path):
    with pytest.raises(InputError, match="is not an id of an item; use text or numbers"):
        Asker(PANEL, ["photo", odd])
    for asker in (Asker(PANEL, 2), Asker(PANEL, ["photo", "film"])):
        before = state_of(asker, tmp_path / "a.npz")
        for call in (
            lambda asker=asker: asker.tell(odd, "ann", "cat"),
            lambda asker=asker: asker.next([odd]),
            lambda asker=asker: asker.possible(odd),
        ):
            with pytest.raises(CovoteError) as caught:
                call()
            assert "\n" not in str(caught.value)
        assert state_of(asker, tmp_path / "b.npz") == before


@pytest.mark.parametrize("items", ["photo", None, 2.5, np.zeros((2, 2)), -1, True])
def test_items_that_are_no_list_of_ids_are_refused(items):
    with pytest.raises(InputError):
        Asker(PANEL, items)


@pytest.mark.parametrize(
    "name", ["", "é", 7, -1, 2**70, 0.5, (1, 2), b"x", np.datetime64("2026-01-01"), True]
)
def test_other_ids_are_looked_up_and_saved_or_refused(name, tmp_path):
    asker = Asker(PANEL, [name, "photo"])
    (question, _) = asker.next()
    asker.tell(name, question.expert, question.classes[0])
    if isinstance(name, str | int | float):
        asker.save(tmp_path / "state.npz")
        assert Asker.load(tmp_path / "state.npz").possible(name) == asker.possible(name)
    else:
        with pytest.raises(InputError, match="cannot be saved; use text or numbers"):
            asker.save(tmp_path / "state.npz")


@pytest.mark.parametrize("odd", ODD[1:], ids=repr)
def test_odd_answers_and_experts_are_refused_in_one_line(odd):
    asker = Asker(PANEL, ["photo"])
    (question,) = asker.next()
    for call in (
        lambda: asker.tell("photo", question.expert, odd),
        lambda: asker.tell("photo", odd, "cat"),
        lambda: asker.leave(odd),
        lambda: Asker(PANEL, 1, away=[odd]),
    ):
        with pytest.raises(CovoteError) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert asker.answers == 0


@pytest.mark.parametrize(("answers", "status"), [([0, -1, 0], "agreed"), ([0, 1, -1], "incomplete")])
def test_a_settled_item_has_the_status_that_its_answers_have_everywhere(answers, status):
    # Nothing but cat is possible: two experts who know it name it, or one, whom nobody has confirmed.
    asker = Asker.from_votes(Votes.from_dense([answers], PANEL), "elimination")
    assert asker.done.all()
    assert asker.labels().value.tolist() == ["cat"]
    assert asker.labels().status.tolist() == [status]
