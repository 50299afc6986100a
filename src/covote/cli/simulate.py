"""`covote simulate`: how often labels are wrong, next to the bounds, or for methods on your own panel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covote.cli import output
from covote.cli.arguments import Json, Seed, choice, number, one_of, whole
from covote.decoding import DECODERS
from covote.errors import InputError
from covote.panel import Panel
from covote.panel.formats import is_panel_file

if TYPE_CHECKING:
    from covote.simulation.error_curve import ErrorCurve, MethodErrors


def simulate(
    classes: Annotated[str, typer.Argument(help="Number of classes (K), or a panel file.")],
    size: Annotated[
        int | None, typer.Argument(parser=whole, help="Classes that one expert knows (R); not with a panel.")
    ] = None,
    experts: Annotated[
        str | None,
        typer.Option(help="Numbers of experts: 10,20,40 or 10:60:10 (default: a useful range)."),
    ] = None,
    noise: Annotated[
        str,
        typer.Option(
            help="How experts answer about classes they do not know.",
            **choice("uniform", "similar", "adversarial"),
        ),
    ] = "uniform",
    accuracy: Annotated[
        float | None,
        typer.Option(
            parser=number,
            help="How often experts are right about what they know (default: 1; for a panel file, several "
            "values from 0.5 to 1).",
        ),
    ] = None,
    missing: Annotated[float, typer.Option(parser=number, help="How often an answer is missing.")] = 0.0,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"How to decode, one or several (em,authority): {', '.join(DECODERS)} "
            "(default: learned; for random panels likelihood, as in the bounds).",
            metavar="METHOD",
            autocompletion=one_of(*DECODERS),
        ),
    ] = None,
    panels: Annotated[
        int, typer.Option(parser=whole, help="Random panels for each number of experts.")
    ] = 100,
    items: Annotated[
        int | None,
        typer.Option(
            parser=whole,
            help="Items for each random panel (default: 500), or for a panel file (default: 5000).",
        ),
    ] = None,
    seed: Seed = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve to this .png, .svg or .pdf file.")] = None,
    as_json: Json = False,
) -> None:
    """Measure how often labels are wrong.

    For random panels, compared with the bounds, or for your own panel."""
    output.check_places(plot, read=[classes])
    if method is None:
        method = "learned" if is_panel_file(classes) else "likelihood"
    methods = [name.strip() for name in method.split(",")]
    model = {"noise": noise, "missing": missing}
    if is_panel_file(classes):
        if size is not None or experts is not None:
            raise InputError("a panel says who its experts are; leave out SIZE and --experts")
        _panel(Path(classes), methods, accuracy, 5000 if items is None else items, seed, model, plot, as_json)
        return
    number_of_classes = _whole(classes)
    if size is None:
        raise InputError(f"how many of the {classes} classes does one expert know? Write covote simulate "
                         f"{classes} SIZE, or give a panel file")  # fmt: skip
    from covote.simulation.error_curve import error_curve

    items = 500 if items is None else items
    curves = {}
    with output.progress_bar() as progress:
        for name in methods:
            curves[name] = error_curve(
                number_of_classes,
                size,
                _numbers(experts),
                panels=panels,
                items=items,
                method=name,
                seed=seed,
                progress=progress,
                accuracy=1.0 if accuracy is None else accuracy,
                **model,
            )
    if plot is not None:
        from covote.files.report.error_curves import plot_error_curves

        output.draw(lambda: plot_error_curves(curves), plot)
    if as_json:
        found = {name: curve.rows() for name, curve in curves.items()}
        told = {"curve": found[method]} if len(found) == 1 else {"curves": found}
        output.say_json({"classes": number_of_classes, "size": size, **told})
        return
    for name, curve in curves.items():
        if len(curves) > 1:
            output.say(f"Decoded by {name}:")
        _tell(curve, panels, items)
        if len(curves) > 1:
            output.say()
    output.say_written(plot)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{text!r} is neither a number of classes nor a panel file") from None


def _panel(
    file: Path, methods: list[str], accuracy: float | None, items: int, seed: int, model: dict[str, Any],
    plot: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Measure methods on one panel."""
    from covote.simulation.error_curve import ACCURACIES, method_errors

    accuracies = ACCURACIES if accuracy is None else (accuracy,)
    with output.progress_bar() as progress, output.warnings_as_lines():
        found = method_errors(
            Panel.load(file), methods, accuracies, items=items, seed=seed, progress=progress, **model
        )
    if plot is not None:
        from covote.files.report.error_curves import plot_method_errors

        output.draw(lambda: plot_method_errors(found), plot)
    if as_json:
        output.say_json({"panel": str(file), "items": items, "curve": found.rows()})
        return
    _tell_methods(found, items)
    output.say_written(plot)


def _tell_methods(found: MethodErrors, items: int) -> None:
    output.say(
        f"How often labels are wrong if experts are right with this accuracy; {items:,} items for each row."
    )
    output.say()
    rows = [
        [f"{accuracy:g}", *(f"{error[n, 0]:.4f}" for error in found.errors.values())]
        for n, accuracy in enumerate(found.accuracies)
    ]
    output.say_table(["accuracy", *found.errors], rows, ">" * (1 + len(found.errors)))


def _numbers(text: str | None) -> list[int] | None:
    """Read numbers of experts.

    >>> _numbers("5,10"), _numbers("10:30:10")
    ([5, 10], [10, 20, 30])
    """
    if text is None:
        return None
    try:
        if ":" in text:
            first, last, step = (int(part) for part in text.split(":"))
            return list(range(first, last + 1, step))
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"cannot parse --experts {text!r}; write 10,20,40 or 10:60:10") from error


def _tell(curve: ErrorCurve, panels: int, items: int) -> None:
    output.say(
        f"{output.counted(curve.classes, 'class')}, experts who know {curve.size}; {panels} random panels x "
        f"{items} items for each row."
    )
    output.say()
    rows = []
    for row in curve.rows():
        bounds = ("-", "-")
        if curve.ideal:
            lowest, highest = max(row["fano"], row["converse"]), min(row["random_panels"], row["paper"])
            bounds = (f"{lowest:.5f}", f"{highest:.5f}")
        span = f"{row['low']:.5f} to {row['high']:.5f}"
        rows.append((f"{row['experts']}", f"{row['error']:.5f}", span, *bounds))
    output.say_table(("experts", "error", "95% interval", "at least", "at most"), rows, ">>>>>")
    output.say()
    if curve.ideal:
        output.say(
            "At least: Thm 4 (Fano) and the converse; at most: Thm 5 and the exact union bound over pairs."
        )
    else:
        output.say("The bounds hold for perfect experts and uniform noise only, so none are shown.")
