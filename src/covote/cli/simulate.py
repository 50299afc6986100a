"""`covote simulate`: how often panels err, beside what theory says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covote.cli import output
from covote.cli.arguments import Classes, Json, Method, OneSize, Seed, number, whole
from covote.errors import InputError

if TYPE_CHECKING:
    from covote.simulation.error_curve import ErrorCurve


def simulate(
    classes: Classes,
    size: OneSize,
    experts: Annotated[
        str | None,
        typer.Option(
            help="Numbers of experts: 10,20,40 or 10:60:10; a useful range unless given.", show_default=False
        ),
    ] = None,
    noise: Annotated[
        str, typer.Option(help="Answers about unknown classes: uniform, similar or adversarial.")
    ] = "uniform",
    accuracy: Annotated[
        float, typer.Option(parser=number, help="How often experts are right about what they know.")
    ] = 1.0,
    missing: Annotated[float, typer.Option(parser=number, help="How often an answer is missing.")] = 0.0,
    method: Method = "likelihood",
    panels: Annotated[
        int, typer.Option(parser=whole, help="Random panels for each number of experts.")
    ] = 100,
    items: Annotated[int, typer.Option(parser=whole, help="Items for each panel.")] = 500,
    seed: Seed = 0,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the curve to this .png, .svg or .pdf file.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure how often the labels of random panels are wrong, beside the bounds of the theory."""
    from covote.simulation.error_curve import error_curve

    output.check_picture(picture)
    with output.progress_bar() as progress:
        curve = error_curve(
            classes,
            size,
            _numbers(experts, classes, size),
            panels=panels,
            items=items,
            method=method,
            seed=seed,
            progress=progress,
            noise=noise,
            accuracy=accuracy,
            missing=missing,
        )
    if picture is not None:
        output.draw(curve, picture)
    if as_json:
        output.say_json({"classes": classes, "size": size, "curve": curve.rows()})
        return
    _tell(curve, panels, items)
    output.say_written(picture)


def _numbers(text: str | None, classes: int, size: int) -> list[int]:
    """Read numbers of experts; by default, from where errors are frequent to where they are rare.

    >>> _numbers("5,10", 10, 4), _numbers("10:30:10", 10, 4)
    ([5, 10], [10, 20, 30])
    """
    from covote.bounds import random_panel_experts

    if text is None:
        most = random_panel_experts(classes, size, 0.001) if size < classes else 4
        return sorted({max(1, round(most * step / 8)) for step in range(1, 9)})
    try:
        if ":" in text:
            first, last, step = (int(part) for part in text.split(":"))
            return list(range(first, last + 1, step))
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"experts {text!r} is not understood; write 10,20,40 or 10:60:10") from error


def _tell(curve: ErrorCurve, panels: int, items: int) -> None:
    output.say(
        f"{output.counted(curve.classes, 'class')}, experts that know {curve.size}; {panels} random panels x "
        f"{items} items for each row."
    )
    output.say()
    output.say(f"{'experts':>8}  {'error':>8}  {'95% interval':>18}  {'at least':>9}  {'at most':>9}")
    for row in curve.rows():
        span = f"{row['low']:.5f} to {row['high']:.5f}"
        bounds = f"{'-':>9}  {'-':>9}"
        if curve.ideal:
            lowest, highest = max(row["fano"], row["converse"]), min(row["random_panels"], row["paper"])
            bounds = f"{lowest:>9.5f}  {highest:>9.5f}"
        output.say(f"{row['experts']:>8}  {row['error']:>8.5f}  {span:>18}  {bounds}")
    output.say()
    if curve.ideal:
        output.say(
            "At least: Thm 4 (Fano) and the converse; at most: Thm 5 and the exact union bound over pairs."
        )
    else:
        output.say("The bounds hold for perfect experts and uniform noise only, so none are shown.")
