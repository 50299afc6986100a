"""From votes to labels: the decoders are in `methods`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from covote.decoding.comparing import Comparison, compare
from covote.decoding.expert_report import ExpertReport, PairAgreement, expert_report, pair_agreement
from covote.decoding.explaining import Explanation, advice, explain
from covote.decoding.gold import Gold, gold_rows, no_gold, wilson
from covote.decoding.loop import DecodeOptions, Decoder, InMemory, Parts, Pass, decode_parts, learn_weights
from covote.decoding.methods import DECODERS, make
from covote.decoding.scoring import labels_from_scores
from covote.decoding.statistics import Statistics
from covote.errors import InputError
from covote.labels import Labels, joined
from covote.panel import Panel
from covote.votes import Votes

__all__ = [
    "DECODERS",
    "Comparison",
    "DecodeOptions",
    "Decoder",
    "ExpertReport",
    "Explanation",
    "InMemory",
    "PairAgreement",
    "Parts",
    "Pass",
    "Statistics",
    "advice",
    "compare",
    "decode",
    "decode_parts",
    "expert_report",
    "explain",
    "labels_from_scores",
    "learn_weights",
    "make",
    "pair_agreement",
    "wilson",
]


def decode(
    votes: Votes | Any,
    panel: Panel | None = None,
    method: str | Decoder = "learned",
    *,
    gold: Gold | None = None,
    workers: int = 1,
    evidence: bool = True,
    proba: bool = False,
    **options: Any,
) -> Labels:
    """Turn the experts' answers into one label per item.

    Parameters
    ----------
    votes
        The experts' answers, or a table of them that :meth:`covote.Votes.from_table` reads.
    panel
        Who knows what (default: ``votes.panel``); experts and classes are matched by name. Without a panel,
        the experts of a table know every class.
    method
        The name of a decoder, a key of ``DECODERS`` (``"authority"`` is the paper's, which reports ties), or
        your own decoder, a subclass of :class:`covote.decoding.Decoder`. ``"auto"`` uses the method that
        :func:`compare` recommends on the gold items, and the default if there are none.
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known). They keep
        their class, methods that learn use them, and ``labels.gold`` has their accuracy from the answers.
    workers
        How many threads to use; the labels do not depend on it.
    proba
        Whether to compute the probability of every class, ``labels.proba`` (items x classes).
    evidence
        Whether to compute the evidence for the labels: confidence, margin, runner-up, violations and status.
        Decoding is many times faster without it.

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> labels = decode(Votes.from_dense([[0, 1, 0], [0, 1, 2]], panel), method="authority")
    >>> labels.value, labels.status
    (array(['cat', None], dtype=object), array(['agreed', 'tied'], dtype='<U10'))
    >>> labels.tied_classes(1)
    ('cat', 'dog', 'fox')
    """
    if isinstance(votes, np.ndarray | list):
        raise InputError(
            f"votes are {'an array' if isinstance(votes, np.ndarray) else 'a list'}; make Votes of them "
            "first, with Votes.from_dense(array, panel), or give a table"
        )
    if not isinstance(votes, Votes):
        votes = Votes.from_table(votes, panel)
    elif panel is not None:
        votes = votes.for_panel(panel)
    if workers < 1:
        raise InputError(f"workers must be at least 1, not {workers}")
    if method == "auto":
        method = "learned" if gold is None else compare(votes, gold).best
    decoder = make(method, options, gold)
    if isinstance(gold, Mapping) and len(gold) and len(votes) and not len(gold_rows(gold, votes)[0]):
        raise no_gold(gold)
    parts = decode_parts(InMemory(votes, workers), decoder, DecodeOptions(evidence, proba, gold))
    return joined(list(parts), votes.ids, votes.start)
