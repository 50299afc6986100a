"""What is proved about a panel that covote built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Certificate:
    """The proof that comes with a designed, completed or selected panel.

    Attributes
    ----------
    size
        What was minimised: the number of experts, for `select` their total cost, with a budget their bound on
        the error.
    lower
        No panel for the same task can have a smaller `size`.
    bound
        Which bound says so.
    construction
        How the panel was built, in words.
    times
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
    times: int = 1

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
