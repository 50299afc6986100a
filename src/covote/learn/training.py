"""Choose the panel, and train one clone per expert, each on only the rows of the classes it knows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from covote.arguments import did_you_mean
from covote.covers import design
from covote.errors import InputError
from covote.learn import inputs
from covote.panel import Name, Panel

# Which panel


def default_size(classes: int) -> int:
    """Return how many classes an expert should know if no one says.

    As in a projective plane, about as many experts as classes, and about sqrt(K) authorities for each.

    >>> [default_size(classes) for classes in (2, 3, 10, 26, 77)]
    [2, 3, 4, 6, 10]
    """
    return min(classes, 1 + round(math.sqrt(classes)))


def names_of(classes: NDArray[Any]) -> tuple[Name, ...]:
    """Return the classes as names; what cannot be one (a float, a truth value, "") as it is written.

    >>> names_of(np.array([0.5, 1.5]))
    ('0.5', '1.5')
    """
    plain = classes.tolist()
    if all(
        isinstance(name, str | int) and not isinstance(name, bool) and str(name).strip() for name in plain
    ):
        return tuple(plain)
    return tuple(map(repr, plain))


def design_panel(
    classes: NDArray[Any], size: int | Sequence[int] | None, redundancy: int, method: str, seed: int
) -> Panel:
    """Return a panel for the classes."""
    names = names_of(classes)
    if len(names) == 1:
        return Panel(names, [[True]])
    if size is None:
        wanted: int | tuple[int, ...] = default_size(len(names))
    elif isinstance(size, int | np.integer):
        wanted = int(size)
    else:
        wanted = tuple(map(int, size))
    if np.max(wanted) > len(names):
        raise InputError(
            f"size={size} is more than the {len(names)} classes in y; with size={len(names)} there is one "
            "expert who knows them all, the estimator itself"
        )
    blocks = _design(len(names), wanted, redundancy, method, seed)
    return Panel(names, blocks.knows, blocks.names, certificate=blocks.certificate)


@lru_cache(maxsize=64)
def _design(classes: int, size: int | tuple[int, ...], redundancy: int, method: str, seed: int) -> Panel:
    """Design once for all folds of a search; longer searches would cost more than the experts they save."""
    capacity = list(size) if isinstance(size, tuple) else size
    return design(classes, capacity, redundancy=redundancy, method=method, effort="fast", seed=seed)


def match_classes(panel: Panel, classes: NDArray[Any]) -> Panel:
    """Return the panel with its classes as they were seen: sorted, and without those that were not.

    Experts that know none of the seen classes are left out: there is nothing to train them on.
    """
    column = {name: k for k, name in enumerate(panel.classes)}
    known = dict(zip(names_of(classes), classes.tolist(), strict=True))
    missing = [name for name, value in known.items() if name not in column and value not in column]
    if missing:
        raise InputError(
            f"y has {len(missing)} of {len(known)} classes that the panel does not have, such as "
            f"{missing[0]!r}{did_you_mean(missing[0], panel.classes)}; "
            "the classes of the panel must be the labels in y"
        )
    order = [column[name] if name in column else column[value] for name, value in known.items()]
    knows = panel.knows[:, order]
    kept = np.flatnonzero(knows.any(axis=1))
    if len(kept) == 0:
        raise InputError("no expert of the panel knows any class in y; check the names of the classes")
    return Panel(
        [panel.classes[k] for k in order],
        knows[kept],
        [panel.names[i] for i in kept],
        panel.cost[kept],
        models=[panel.models[i] for i in kept],
        certificate=panel.certificate if len(order) == len(column) else None,
    )


def uncovered_warning(panel: Panel) -> str | None:
    """Return a warning if some pair of classes has no common expert."""
    if panel.covers():
        return None
    pairs = panel.uncovered()
    first, second = pairs[0]
    return (
        f"{len(pairs)} pairs of classes have no common expert, such as {first!r} and {second!r}: their items "
        "may tie, and ties are decided by the experts' confidence alone; covote.complete(panel, size) says "
        "who is missing"
    )


# Training


class OneClass(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Always give the one class that was seen; few estimators can be trained on a single class.

    >>> OneClass().fit([[0.5], [1.5]], ["cat", "cat"]).predict([[7.0]])
    array(['cat'], dtype='<U3')
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneClass:
        """Remember the class."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class, once for each item."""
        return np.repeat(self.classes_, inputs.count(X))


class ClassRows(NamedTuple):
    """Which rows each class has: those of class k are ``order[bounds[k]:bounds[k + 1]]``."""

    order: NDArray[np.intp]
    bounds: NDArray[np.intp]

    @classmethod
    def of(cls, index: NDArray[np.intp], classes: int) -> ClassRows:
        """Sort the rows by class once; `index` is the class of every row."""
        order = np.argsort(index, kind="stable")
        return cls(order, np.searchsorted(index[order], np.arange(classes + 1)))

    def known(self, known: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the rows of the known classes, in the order of the data: for some learners order matters."""
        parts = [self.order[self.bounds[k] : self.bounds[k + 1]] for k in np.flatnonzero(known)]
        return np.sort(np.concatenate(parts), kind="stable")


def clones(panel: Panel, estimators: Sequence[Any], seeds: Sequence[int] | None) -> Iterator[Any]:
    """Yield a model to train per expert; expert i gets estimator i, which begins again after the last one."""
    for i, size in enumerate(panel.sizes.tolist()):
        estimator = estimators[i % len(estimators)]
        yield OneClass() if size == 1 else clone_with_seed(estimator, None if seeds is None else seeds[i])


def fit_expert(
    name: Name, model: Any, X: Any, y: NDArray[Any], rows: NDArray[np.intp], weight: NDArray[Any] | None
) -> Any:
    """Train one model on its rows, with the name of its expert on any error."""
    weights = {} if weight is None else {"sample_weight": weight[rows]}
    try:
        return model.fit(inputs.take(X, rows), y[rows], **weights)
    except Exception as error:
        error.add_note(f"while training expert {name!r} on {len(rows)} items")
        raise


def clone_with_seed(estimator: Any, seed: int | None) -> Any:
    """Return a clone; with a seed, every `random_state` that was left at None gets one of its own."""
    model = clone(estimator)
    if seed is not None:
        unset = [
            name
            for name, value in sorted(model.get_params(deep=True).items())
            if value is None and (name == "random_state" or name.endswith("__random_state"))
        ]
        numbers = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=len(unset))
        model.set_params(**dict(zip(unset, numbers.tolist(), strict=True)))
    return model
