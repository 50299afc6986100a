"""Panel: the classes, the experts, and who knows what."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import Name, check_count, naming
from covote.errors import InputError, TooLargeError
from covote.panel import panel_files, pictures
from covote.panel.checks import (
    class_names,
    cost_vector,
    knows_matrix,
    knows_of_blocks,
    left_flags,
    lookup,
    unique_names,
    zeros,
)
from covote.panel.layout import Layout
from covote.panel.pairs import Outage, pair_count_blocks, pair_histogram, pairs_at_risk, pairs_below
from covote.panel.panel_tables import panel_of_rows, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Certificate:
    """The proof that comes with a designed, completed or selected panel.

    Attributes
    ----------
    size
        The quantity that was minimised: the number of experts, for `select` their total cost, with a budget
        their bound on the error.
    lower
        A lower bound: no panel for the same task can have a smaller `size`.
    bound
        The name of that bound.
    construction
        How the panel was built, in words.
    redundancy
        Every pair of classes is known by at least this many experts; 0 if a budget left pairs uncovered.

    >>> proof = Certificate(size=13, lower=13, bound="Schonheim", construction="projective plane of order 3")
    >>> proof.optimal, proof.gap
    (True, 0)
    >>> print(proof)
    proved optimal: the Schonheim bound is 13; built from: projective plane of order 3
    """

    size: float
    lower: float
    bound: str
    construction: str
    redundancy: int = 1

    @property
    def gap(self) -> float:
        """How much smaller the optimum could still be."""
        return max(0, self.size - self.lower)

    @property
    def optimal(self) -> bool:
        """Whether the lower bound is met."""
        return self.gap == 0

    def __str__(self) -> str:
        lower = f"the {self.bound} bound is {self.lower:g}"
        proof = (
            f"proved optimal: {lower}" if self.optimal else f"{self.size:g}, and {lower} (gap {self.gap:g})"
        )
        return f"{proof}; built from: {self.construction}"


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """Experts who each know some of the classes.

    Paper: the rows of `knows` are the classification matrix A of Def 3.

    Parameters
    ----------
    classes
        The K classes: strings or integers, or the number K for the classes 0..K-1.
    knows
        Boolean matrix (experts x classes): who knows what.
    names
        One name per expert (default: ``expert-1``, ``expert-2``, ...).
    cost
        One finite, non-negative cost per expert (default: 1 each).
    models
        The model that answers for each expert, as written in a panel file; stored unchanged.
    left
        Whether each expert has left (default: no one). Answers of experts who left still count; they are not
        asked, and do not cover pairs for :func:`covote.complete`, :func:`covote.select` and `covote check`.
    certificate
        The proof that comes with the panel, if covote built it.

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> panel
    Panel(3 experts, 3 classes, size 2, covers every pair)
    >>> panel.authorities("dog")
    ('expert-1', 'expert-2')
    """

    classes: tuple[Name, ...]
    knows: NDArray[np.bool_]
    names: tuple[Name, ...]
    cost: NDArray[np.float64]
    models: tuple[Any, ...]
    left: NDArray[np.bool_]
    certificate: Certificate | None = field(default=None)

    def __init__(
        self,
        classes: int | Iterable[Name],
        knows: ArrayLike,
        names: Iterable[Name] | None = None,
        cost: ArrayLike | None = None,
        *,
        models: Sequence[Any] | None = None,
        left: ArrayLike | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        checked_classes = class_names(classes)
        matrix = knows_matrix(knows, len(checked_classes))
        experts = len(matrix)
        if names is None:
            names = (f"expert-{i + 1}" for i in range(experts))
        checked_names = unique_names(names, "expert")
        if len(checked_names) != experts:
            raise InputError(
                f"{len(checked_names)} names for {experts} experts; give one name per row of `knows`"
            )
        if models is None:
            models = (None,) * experts
        if len(models) != experts:
            raise InputError(
                f"{len(models)} models for {experts} experts; give one per expert, None for none"
            )
        idle = np.flatnonzero(~matrix.any(axis=1))
        if len(idle):
            raise InputError(
                f"expert {checked_names[idle[0]]!r} knows no class; remove it or say what it knows"
            )
        put = object.__setattr__  # the dataclass is frozen; this is its only writer
        put(self, "classes", checked_classes)
        put(self, "knows", matrix)
        put(self, "names", checked_names)
        put(self, "cost", cost_vector(cost, checked_names))
        put(self, "models", tuple(models))
        put(self, "left", left_flags(left, checked_names))
        put(self, "certificate", certificate)

    def __getstate__(self) -> dict[str, Any]:
        # Derived values are computed again in the other process.
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Copies in other processes are read-only, like the original.
        for name in ("knows", "cost", "left"):
            state[name].flags.writeable = False
        self.__dict__.update(state)

    @classmethod
    def from_blocks(
        cls,
        classes: int | Iterable[Name] | Mapping[Name, Iterable[Name]],
        blocks: Iterable[Iterable[Name]] | Mapping[Name, Iterable[Name]] | None = None,
        names: Iterable[Name] | None = None,
        cost: ArrayLike | None = None,
        *,
        models: Sequence[Any] | None = None,
        left: ArrayLike | None = None,
        certificate: Certificate | None = None,
    ) -> Panel:
        """Build a panel from what each expert knows: lists of classes, or "all".

        A mapping also names the experts. Without `blocks`, a mapping also gives the classes, in order of
        first occurrence.

        >>> Panel.from_blocks(5, [[0, 1, 2], [0, 3, 4], [1, 2, 3], [1, 2, 4]]).covers()
        True
        >>> Panel.from_blocks({"ann": ["skin", "eye"], "bob": ["eye", "ear"], "cy": "all"}).uncovered()
        []
        """
        if blocks is None:
            if not isinstance(classes, Mapping):
                raise InputError("what does each expert know? Give lists of classes, or {expert: classes}")
            blocks = classes
            for name, block in blocks.items():
                if isinstance(block, str) and not _is_all(block):
                    raise InputError(f"expert {name!r} knows {block!r}; give a list of classes: [{block!r}]")
            classes = dict.fromkeys(name for block in blocks.values() if not _is_all(block) for name in block)
        if isinstance(blocks, Mapping):
            names = tuple(blocks) if names is None else names
            blocks = list(blocks.values())
        checked_classes = class_names(classes)
        rows = [list(checked_classes if _is_all(block) else block) for block in blocks]
        labels = tuple(names) if names is not None else tuple(f"expert-{i + 1}" for i in range(len(rows)))
        knows = knows_of_blocks(checked_classes, rows, labels)
        return cls(checked_classes, knows, labels, cost, models=models, left=left, certificate=certificate)

    # Who knows what

    @cached_property
    def _class_index(self) -> dict[Name, int]:
        return {name: k for k, name in enumerate(self.classes)}

    @cached_property
    def _expert_index(self) -> dict[Name, int]:
        return {name: i for i, name in enumerate(self.names)}

    def class_index(self, name: Name) -> int:
        """Return the index of a class, its column in `knows`."""
        return lookup(self._class_index, name, "class", self.classes)

    def expert_index(self, name: Name) -> int:
        """Return the index of an expert, its row in `knows`."""
        return lookup(self._expert_index, name, "expert", self.names)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many classes each expert knows (R_i)."""
        sizes = self.knows.sum(axis=1, dtype=np.int64)
        sizes.flags.writeable = False
        return cast("NDArray[np.int64]", sizes)

    @cached_property
    def layout(self) -> Layout:
        """Who knows what as flat arrays, for loops over votes."""
        return Layout(self.knows)

    def blocks(self) -> list[tuple[Name, ...]]:
        """Return what each expert knows, as class names."""
        return [tuple(self.classes[k] for k in np.flatnonzero(row)) for row in self.knows]

    def authorities(self, name: Name) -> tuple[Name, ...]:
        """Return the experts who know the class (C_k)."""
        return tuple(self.names[i] for i in np.flatnonzero(self.knows[:, self.class_index(name)]))

    # Pairs

    def pair_counts(self) -> NDArray[np.int32]:
        """Return how many experts know both classes of each pair (K x K; lambda_kj); the diagonal has d_k."""
        classes = len(self.classes)
        try:
            counts = np.zeros((classes, classes), dtype=np.int32)
        except MemoryError as error:
            raise TooLargeError(
                f"counts of all pairs of {classes:,} classes need {classes**2 / 2**28:,.0f} GiB of memory; "
                "redundancy, uncovered() and survives() need little"
            ) from error
        for k, rows in pair_count_blocks(self.layout):
            counts[k : k + len(rows), k:] = rows
        for k in range(classes):
            counts[k:, k] = counts[k, k:]
        np.fill_diagonal(counts, self.knows.sum(axis=0))
        return counts

    @cached_property
    def _pair_histogram(self) -> NDArray[np.int64]:
        return pair_histogram(self.layout)

    @property
    def redundancy(self) -> int:
        """The smallest number of experts who know a common pair (the smallest lambda_kj).

        0 means that at least one pair is uncovered. With a single class there are no pairs, and this is the
        number of experts.
        """
        return len(self) if len(self.classes) == 1 else int(np.argmax(self._pair_histogram > 0))

    def covers(self, redundancy: int = 1) -> bool:
        """Whether every pair of classes is known by at least `redundancy` common experts.

        Paper: Cor 1 (the covering condition) for ``redundancy=1``.
        """
        if redundancy < 1:
            raise InputError(f"redundancy must be at least 1, not {redundancy}")
        return len(self.classes) == 1 or self.redundancy >= redundancy

    def uncovered(self, redundancy: int = 1, most: int | None = None) -> list[tuple[Name, Name]]:
        """Return the pairs of classes that fewer than `redundancy` experts know, at most `most` of them.

        >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0]])
        >>> panel.uncovered(most=1), panel.count_uncovered()
        ([('cat', 'fox')], 2)
        """
        number = self.count_uncovered(redundancy)
        number = number if most is None else min(number, most)
        found: list[tuple[Name, Name]] = []
        if number == 0:
            return found
        for some in pairs_below(self.layout, redundancy):
            for k, j in zip(*(side[: number - len(found)].tolist() for side in some), strict=True):
                found.append((self.classes[k], self.classes[j]))
            if len(found) == number:
                break
        return found

    def count_uncovered(self, redundancy: int = 1) -> int:
        """Return the number of pairs of classes that fewer than `redundancy` experts know."""
        if redundancy < 1:
            raise InputError(f"redundancy must be at least 1, not {redundancy}")
        return int(self._pair_histogram[:redundancy].sum())

    def correctable(self) -> int:
        """Return how many wrong answers per item the paper's vote repairs if everyone answers.

        It repairs f iff f (d_k + d_j) < lambda_kj d_k for every class k and rival j, where d_k experts know
        k: the truth loses f of its d_k votes, the rival wins at most f of the lambda_kj common experts and
        all of its own. Theory: section 3.

        >>> Panel.from_blocks(3, [[0, 1, 2]] * 3).correctable()
        1
        >>> Panel.from_blocks(3, [[0, 1, 2]] * 3 + [[1, 2]] * 4).correctable()
        0
        """
        most = (self.redundancy - 1) // 2  # no vote repairs more, as lambda_kj experts tell k from j
        if most <= 0:
            return 0
        known = self.knows.sum(axis=0, dtype=np.int64)
        for low, counts in pair_count_blocks(self.layout):
            truth, rival = known[low : low + len(counts), None], known[None, low:]
            repaired = -(-counts * np.minimum(truth, rival) // (truth + rival)) - 1
            upper = np.triu(np.ones(counts.shape, dtype=bool), 1)
            most = min(most, int(repaired[upper].min(initial=most)))
        return most

    def detectable(self) -> int:
        """Return how many wrong answers per item can always be detected: the largest f, lambda >= f + 1."""
        return max(0, self.redundancy - 1)

    def survives(self, missing: int = 1) -> Outage:
        """Return whether every pair stays covered if any `missing` experts are lost, and who is critical.

        Theory: section 3. Every pair must be known by `missing` + 1 experts.

        >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 1], [1, 1, 0]], ["ann", "bob"])
        >>> bool(panel.survives()), panel.survives().critical
        (False, (('ann', 2),))
        """
        missing = check_count(missing, "missing", 1)
        if not self._pair_histogram[1 : missing + 1].any():
            risk = np.zeros(len(self), dtype=np.int64)
        elif not self._pair_histogram[missing + 1 :].any():
            risk = self.sizes * (self.sizes - 1) // 2  # all pairs of an expert, as in planes
        else:
            risk = pairs_at_risk(self.layout, missing)
        worst_first = np.argsort(-risk, kind="stable")[: np.count_nonzero(risk)].tolist()
        critical = tuple((self.names[i], int(risk[i])) for i in worst_first)
        return Outage(missing, self.count_uncovered(missing + 1) == 0, critical)

    # Other panels

    def only(self, *names: Name) -> Panel:
        """Return the panel of these experts, in this panel's order."""
        return self._rows(sorted({self.expert_index(name) for name in names}))

    def without(self, *names: Name) -> Panel:
        """Return the panel of all other experts: what is left after an outage."""
        gone = {self.expert_index(name) for name in names}
        return self._rows([i for i in range(len(self.names)) if i not in gone])

    @cached_property
    def present(self) -> Panel:
        """The panel of the experts who have not left.

        >>> panel = Panel(["cat", "dog"], [[1, 1], [1, 1]], ["ann", "bob"], left=[False, True])
        >>> panel.redundancy, panel.present.redundancy
        (2, 1)
        """
        return self._rows(np.flatnonzero(~self.left).tolist()) if self.left.any() else self

    def _rows(self, rows: Sequence[int]) -> Panel:
        return Panel(
            self.classes,
            self.knows[list(rows)],
            [self.names[i] for i in rows],
            self.cost[list(rows)],
            models=[self.models[i] for i in rows],
            left=self.left[list(rows)],
        )

    def renamed(self, names: Iterable[Name]) -> Panel:
        """Return the same panel with other names for its experts."""
        return replace(self, names=cast(Any, names))

    def with_certificate(self, certificate: Certificate) -> Panel:
        """Return the same panel with a proof attached."""
        return replace(self, certificate=certificate)

    def __add__(self, other: object) -> Panel:
        """Return both panels' experts together, over the classes of both."""
        if not isinstance(other, Panel):
            return NotImplemented
        shared = sorted(str(name) for name in set(self.names) & set(other.names))
        if shared:
            raise InputError(
                f"both panels have an expert {shared[0]!r} ({len(shared)} names in common); "
                "give one panel other names with panel.renamed(...)"
            )
        classes = list(self.classes) + [name for name in other.classes if name not in self._class_index]
        column = {name: k for k, name in enumerate(classes)}
        knows = zeros(len(self.names) + len(other.names), len(classes))
        knows[: len(self.names), : len(self.classes)] = self.knows
        knows[len(self.names) :, [column[name] for name in other.classes]] = other.knows
        return Panel(
            classes,
            knows,
            self.names + other.names,
            np.concatenate([self.cost, other.cost]),
            models=self.models + other.models,
            left=np.concatenate([self.left, other.left]),
        )

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the panel atomically to a ``.toml``, ``.json``, ``.csv`` or ``.xlsx`` file."""
        panel_files.save(path, self.to_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Panel:
        """Read a panel from a ``.toml`` or ``.json`` file, or a table: ``.csv``, ``.tsv``, ``.xlsx``."""
        with naming(path):
            return cls.from_dict(panel_files.load(path))

    @classmethod
    def from_table(cls, table: Any) -> Panel:
        """Read a panel from a table in memory: pandas, polars, pyarrow, a dict of columns.

        The table is read like a file with these cells: a matrix of marks with one row per expert (or one per
        class, if its first column is called "class"), lists of classes, or the columns expert and class with
        one row for each class that an expert knows.

        >>> Panel.from_table({"Doctor": ["ann", "bob"], "skin": ["x", ""], "eye": [True, True]}).blocks()
        [('skin', 'eye'), ('eye',)]
        """
        return cls.from_dict(panel_of_rows(rows_of(table)))

    def to_dict(self) -> dict[str, Any]:
        """Return the panel as plain lists and dicts, in the structure of panel files."""
        experts = []
        rows = zip(self.names, self.blocks(), self.cost, self.left.tolist(), self.models, strict=True)
        for name, known, cost, left, model in rows:
            expert: dict[str, Any] = {"name": name, "knows": list(known)}
            if cost != 1:
                expert["cost"] = int(cost) if cost == int(cost) else float(cost)
            if left:
                expert["left"] = True
            if model is not None:
                expert["model"] = model
            experts.append(expert)
        return {"classes": list(self.classes), "experts": experts}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Panel:
        """Build a panel from the result of :meth:`to_dict`."""
        experts = panel_files.checked_experts(data)
        return cls.from_blocks(
            data["classes"],
            [expert["knows"] for expert in experts],
            [expert["name"] for expert in experts],
            [expert.get("cost", 1) for expert in experts],
            models=[expert.get("model") for expert in experts],
            left=[expert.get("left", False) for expert in experts],
        )

    # Display

    def plot(self, ax: Axes | None = None, new: int = 0) -> Axes:
        """Draw the matrix of who knows what with matplotlib; return the axes. The last `new` are marked."""
        return pictures.plot(self, ax, new)

    def _repr_html_(self) -> str:
        return pictures.html(self)

    def __repr__(self) -> str:
        return f"Panel({pictures.summary(self)})"

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _digest(self) -> bytes:
        """A fingerprint of everything except models and certificate, to compare large panels quickly."""
        content = hashlib.blake2b(repr((self.classes, self.names, self.knows.shape)).encode())
        content.update(np.packbits(self.knows).data)
        content.update((self.cost + 0.0).data)  # 0 and -0 are the same cost
        content.update(self.left.data)
        return content.digest()

    def __eq__(self, other: object) -> bool:
        """Whether classes, experts, knowledge, costs and models are equal, whatever the certificates."""
        if not isinstance(other, Panel):
            return NotImplemented
        return self is other or (self._digest == other._digest and self.models == other.models)

    def __hash__(self) -> int:
        return hash(self._digest)


def _is_all(block: object) -> bool:
    return isinstance(block, str) and block == "all"  # an array would be compared element by element
