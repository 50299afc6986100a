"""Which size R and which decoder to choose: what the measured sections say, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from covote.reproduction.datasets import TITLES
from covote.reproduction.experiment import DEFAULT, PAPER, PLAIN, SIZES
from covote.reproduction.paper_values import GREEDY_SIZES
from covote.reproduction.sections import Section, by_size
from covote.reproduction.tables.random import beside_cover

NEAR = 0.5
"""Points of accuracy within which sizes count as equally good."""
COVERED = ("mnist", "cifar10")
"""The sections with a table of whole covers."""


def advice(sections: Iterable[Section]) -> tuple[str, ...]:
    """Return sentences for the top of the page, from the sections that there are."""
    by_name = {section.name: section for section in sections}
    whole = [by_name[name] for name in COVERED if name in by_name]
    said = [*_size(whole), *(_size_of(section) for section in whole)]
    if "lessdata" in by_name:
        said.append(_little_data(by_name["lessdata"]))
    said += [*_decoder(by_name), *(_decoder_of(section) for section in whole)]
    if "missing" in by_name:
        said.append(_missing(by_name["missing"]))
    if "random" in by_name:
        said.append(_random(by_name["random"]))
    if any(section.surrogate for section in by_name.values()):
        said.append(
            "Where a section is marked **surrogate**, other models than the paper's networks voted: compare "
            "differences between columns and decoders, not the accuracies themselves."
        )
    return tuple(said) or ("None of the tables that this rests on was run.",)


def _by_size(section: Section, method: str = DEFAULT, removed: int = 0) -> dict[int, float]:
    """Return test accuracies on the covers of a section, by size; 10 is all classes."""
    return by_size(section.measured, split="test", decoder=method, removed=removed)


def _good(section: Section) -> list[int]:
    """Return the sizes that are as good as the best, none if one was not measured."""
    found = _by_size(section)
    if any(size not in found for size in (*SIZES, 10)):
        return []
    best = max(found[size] for size in SIZES)
    return [size for size in SIZES if found[size] >= best - NEAR]


def _size(whole: list[Section]) -> tuple[str, ...]:
    """Name the size to choose: the fewest experts among those that are good on every image set."""
    good = [size for size in SIZES if whole and all(size in _good(section) for section in whole)]
    if not good:
        return ()
    where = " and ".join(TITLES[section.name] for section in whole)
    larger = "larger experts are not" if good[-1] < SIZES[-1] else "no cover here has fewer"
    return (
        f"**Choose R = {good[-1]}** for ten classes and experts like these: on {where} its cover of "
        f"{GREEDY_SIZES[good[-1]]} experts is within {NEAR} points of the best, and {larger}.",
    )


def _size_of(section: Section) -> str:
    """Say which sizes are as good as the best, and which of them needs the fewest experts."""
    found, good = _by_size(section), _good(section)
    if not good:
        return f"**Size, {TITLES[section.name]}**: too few experts are trained yet."
    accuracy = f"({found[good[-1]]:.1f}%; one model of all classes: {found[10]:.1f}%)"
    if len(good) == 1:
        said = f"R = {good[0]} is the best cover {accuracy}, and no other comes within {NEAR} points of it."
    else:
        said = (
            f"within {NEAR} points of the best cover are R = {', '.join(map(str, good))}; the largest of "
            f"them, R = {good[-1]}, needs the fewest experts {accuracy}."
        )
    return f"**Size, {TITLES[section.name]}**: {said}"


def _little_data(section: Section) -> str:
    """Say which size is best where experts have few images."""
    found = _by_size(section)
    best, worst = (choose(SIZES, key=lambda size: found[size]) for choose in (max, min))
    return (
        f"**Size, little data**: with few images of each class R = {best} is the best cover "
        f"({found[best]:.1f}%) and R = {worst} the worst ({found[worst]:.1f}%)."
    )


def _gaps(section: Section, method: str = DEFAULT, removed: int = 0) -> dict[int, float]:
    """Return how far a way to decode is ahead of the paper's vote, for every size that was measured."""
    ours, paper = (_by_size(section, name, removed) for name in (method, PAPER))
    return {size: ours[size] - paper[size] for size in SIZES if size in ours and size in paper}


def _decoder(by_name: Mapping[str, Section]) -> tuple[str, ...]:
    """Name the decoder to choose, if one is not behind the other anywhere."""
    whole = [gap for name in COVERED if name in by_name for gap in _gaps(by_name[name]).values()]
    broken = [by_name["missing"]] if "missing" in by_name else []
    missing = [gap for section in broken for n in (1, 2) for gap in _gaps(section, removed=n).values()]
    if not whole or not missing or min(whole + missing) < -NEAR:
        return ()
    behind = -min(whole)
    beside = f"at worst {behind:.2f} points" if behind > 0 else "never"
    return (
        "**Decode with covote's default** (`authority`), and give it the experts' probabilities if they have "
        f"any: on whole covers it is {beside} behind the paper's vote, "
        f"with experts missing up to {max(missing):.1f} points ahead of it.",
    )


def _decoder_of(section: Section) -> str:
    """Say how covote's default compares with the paper's vote on whole covers."""
    gaps = _gaps(section).values()
    if not gaps:
        return f"**Decoder, {TITLES[section.name]}**: too few experts are trained yet."
    return (
        f"**Decoder, {TITLES[section.name]}, nobody missing**: covote's default with probabilities "
        f"is {min(gaps):+z.2f} to {max(gaps):+z.2f} points beside the paper's vote."
    )


def _missing(section: Section) -> str:
    """Say what covote's default gains over the paper's vote when two experts are missing."""
    found = [
        ", ".join(f"R = {size}: {gap:+z.1f}" for size, gap in _gaps(section, method, removed=2).items())
        for method in (DEFAULT, PLAIN)
    ]
    return (
        f"**Decoder, two experts missing**: points that covote's default gains over the paper's vote, with "
        f"probabilities: {found[0]}; on votes alone: {found[1]}."
    )


def _random(section: Section) -> str:
    """Say how random panels do beside covers."""
    gaps = beside_cover(section.measured, DEFAULT).values()
    return (
        "**If nobody can choose who knows what**: three random experts more than the greedy cover has are "
        f"{min(gaps):+z.1f} to {max(gaps):+z.1f} points beside it, with probabilities."
    )
