"""Every bound, paper and beyond, one function each.

Lower bounds for covers that a certificate may rest on are proved in docs/bounds.md.
"""

from __future__ import annotations

from covote.bounds.answers_needed import (
    adaptive_answers,
    elimination_bound,
)
from covote.bounds.bound_table import BoundRow, bound_table
from covote.bounds.cover_sizes import (
    best_lower_bound,
    hanani_bound,
    horsley_bound,
    schonheim_bound,
    small_bound,
    two_group_bound,
)
from covote.bounds.model import PairGraph, output_set, pair_graph
from covote.bounds.paper import (
    conditional_entropy,
    counting_bound,
    fano_bound,
    greedy_guarantee,
    random_cover_bound,
    random_panel_bound,
)
from covote.bounds.statistical import (
    confusion_bound,
    converse_bound,
    exact_error,
    random_panel_error,
    random_panel_experts,
    random_partitions_bound,
)
from covote.bounds.worst_case import worst_case_accuracy

__all__ = [
    "BoundRow",
    "PairGraph",
    "adaptive_answers",
    "best_lower_bound",
    "bound_table",
    "conditional_entropy",
    "confusion_bound",
    "converse_bound",
    "counting_bound",
    "elimination_bound",
    "exact_error",
    "fano_bound",
    "greedy_guarantee",
    "hanani_bound",
    "horsley_bound",
    "output_set",
    "pair_graph",
    "random_cover_bound",
    "random_panel_bound",
    "random_panel_error",
    "random_panel_experts",
    "random_partitions_bound",
    "schonheim_bound",
    "small_bound",
    "two_group_bound",
    "worst_case_accuracy",
]
