"""From votes to labels: the decoders are in `methods`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from covote.decoding.comparing import Comparison, compare
from covote.decoding.expert_report import ExpertReport, PairAgreement, expert_report, pair_agreement
from covote.decoding.explaining import Explanation, explain
from covote.decoding.gold import Gold, gold_rows, no_gold
from covote.decoding.label_sets import LabelSets, decode_sets
from covote.decoding.loop import Decoder, InMemory, Learner, Parts, Wanted, decode_parts, learned, learns
from covote.decoding.methods import DECODERS, make
from covote.decoding.scoring import labels_from_scores
from covote.decoding.statistics import Statistics
from covote.errors import InputError
from covote.labels import Labels, joined
from covote.panel import Panel
from covote.votes import Reports, Votes
from covote.votes.vote_checks import check_choice

__all__ = [
    "DECODERS",
    "Comparison",
    "Decoder",
    "ExpertReport",
    "Explanation",
    "InMemory",
    "LabelSets",
    "Learner",
    "PairAgreement",
    "Parts",
    "Statistics",
    "Wanted",
    "compare",
    "decode",
    "decode_parts",
    "expert_report",
    "explain",
    "labels_from_scores",
    "learned",
    "learns",
    "make",
    "pair_agreement",
]


@overload
def decode(
    votes: Votes,
    panel: Panel | None = None,
    method: str | Decoder = "learned",
    *,
    labels: Literal["one"] = "one",
    gold: Gold | None = None,
    workers: int = 1,
    evidence: bool = True,
    proba: bool = False,
    **options: Any,
) -> Labels: ...


@overload
def decode(
    votes: Votes | Reports, panel: Panel | None = None, *, labels: Literal["several"], **options: Any
) -> LabelSets: ...


def decode(
    votes: Votes | Reports,
    panel: Panel | None = None,
    method: str | Decoder = "learned",
    *,
    labels: Literal["one", "several"] = "one",
    gold: Gold | None = None,
    workers: int = 1,
    evidence: bool = True,
    proba: bool = False,
    **options: Any,
) -> Labels | LabelSets:
    """Say the class of every item, and how sure that is.

    Parameters
    ----------
    votes
        What the experts answered.
    panel
        Who knows what, if not as in ``votes.panel``; experts and classes are matched by name.
    method
        The name of a decoder, a key of ``DECODERS``: ``"authority"`` is the paper's, which reports ties; or a
        decoder of your own, an object with the members of :class:`covote.decoding.Decoder`. ``"auto"``
        takes what :func:`compare` finds best on the gold items, and the default without any.
    labels
        ``"several"`` for items that may have several labels. The result is a :class:`LabelSets`: the labels
        that are certain if experts are right about what they know, and whether they are all. Options:
        `report` (``"one"``: an expert names one of the labels that it knows; ``"all"``: all of them, given
        as :class:`covote.votes.Reports`), `forced` (whether an expert that knows none of them has to name
        something, or says "none of mine") and `count` (how many labels an item has); see
        :meth:`covote.Panel.supports`.
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known). They keep
        their class, methods that learn learn from them, and ``labels.gold`` says how the votes alone did.
    workers
        How many threads to use; the labels are the same.
    proba
        Whether to find how likely every class is, ``labels.proba`` (items x classes).
    evidence
        Whether to find what stands behind the labels: confidence, margin, runner-up, violations and status.
        Labels and ties alone are found many times faster.

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> labels = decode(Votes.from_dense([[0, 1, 0], [0, 1, 2]], panel), method="authority")
    >>> labels.value, labels.status
    (array(['cat', None], dtype=object), array(['agreed', 'tied'], dtype='<U10'))
    >>> labels.tied_classes(1)
    ('cat', 'dog', 'fox')
    """
    check_choice("labels", labels, ("one", "several"))
    if labels == "several":
        return _several(votes, panel, method, options)
    if not isinstance(votes, Votes):
        raise InputError(
            f"votes are a {type(votes).__name__}; make Votes of them first, with Votes.from_dense(array, "
            "panel) or Votes.from_table(table, panel)"
        )
    if panel is not None:
        votes = votes.for_panel(panel)
    if workers < 1:
        raise InputError(f"workers must be at least 1, not {workers}")
    if method == "auto":
        method = "learned" if gold is None else compare(votes, gold).best
    decoder = make(method, options, gold)
    if isinstance(gold, Mapping) and len(gold) and len(votes) and not len(gold_rows(gold, votes)[0]):
        raise no_gold(gold)
    parts = decode_parts(InMemory(votes, workers), decoder, Wanted(evidence, proba, gold))
    return joined(list(parts), votes._ids, votes.start)


def _several(
    votes: Votes | Reports, panel: Panel | None, method: str | Decoder, options: dict[str, Any]
) -> LabelSets:
    if isinstance(votes, Votes) and panel is not None:
        votes = votes.for_panel(panel)
    elif panel not in (None, votes.panel):
        raise InputError("the reports are of another panel; make them with this one")
    strange = sorted(set(options) - {"report", "forced", "count"})
    if strange or method != "learned":
        given = repr(strange[0]) if strange else f"method={method!r}"
        raise InputError(f"{given} says nothing about several labels; use report, forced and count")
    return decode_sets(votes, **options)
