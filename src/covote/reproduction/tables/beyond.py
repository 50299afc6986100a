"""Beyond the paper: every decoder, other covers, Fashion-MNIST, texts in silos, ImageNet."""

from __future__ import annotations

from collections.abc import Callable

from covote.errors import DataError
from covote.reproduction import better_covers, greedy_covers, imagenet, silos
from covote.reproduction.context import Context
from covote.reproduction.decoder_table import decoder_grid
from covote.reproduction.result import Grid, Section
from covote.reproduction.tables import TABLES, Needs


def needs(context: Context) -> Needs:
    """Return the experts of all parts."""
    greedy = greedy_covers.wanted()
    return {
        "mnist": greedy,
        "fashion": greedy,
        "cifar10": [*greedy, *better_covers.wanted(context.seed)],
    }


def build(context: Context) -> Section:
    """Return the tables of all parts; a part that lacks its data is named, and the others run."""
    wanted = needs(context)
    parts: dict[str, Callable[[], tuple[Grid, ...]]] = {
        "decoders on CIFAR-10, other covers": lambda: _cifar10(context, wanted),
        "decoders on MNIST": lambda: _decoders(context, wanted, "mnist"),
        "Fashion-MNIST": lambda: _fashion(context, wanted),
        "texts": lambda: _texts(context),
        "ImageNet": lambda: (imagenet.imagenet_grid(context),),
    }
    grids: list[Grid] = []
    left_out = {}
    for name, part in parts.items():
        try:
            grids += part()
        except DataError as error:
            left_out[name] = str(error)
    if not grids:
        raise DataError(next(iter(left_out.values())))
    quick = context.profile == "quick"
    return Section(
        "beyond",
        TABLES["beyond"],
        tuple(grids),
        findings=_findings(grids),
        models="as in the tables above; texts and ImageNet as their notes say",
        surrogate=quick,
        left_out=left_out,
    )


def _cifar10(context: Context, wanted: Needs) -> tuple[Grid, ...]:
    experts = context.experts("cifar10", wanted["cifar10"])
    return (
        decoder_grid(context, experts),
        better_covers.covers_grid(context, experts),
    )


def _decoders(context: Context, wanted: Needs, images: str) -> tuple[Grid, ...]:
    experts = context.experts(images, wanted[images])
    return (decoder_grid(context, experts),)


def _fashion(context: Context, wanted: Needs) -> tuple[Grid, ...]:
    experts = context.experts("fashion", wanted["fashion"])
    found = greedy_covers.measured_lines(experts, greedy_covers.EVERY_LINE)
    note = f"Experts: {experts.trainer.name}; the settings are those of MNIST, nothing was tuned here."
    table = greedy_covers.cover_grid("Fashion-MNIST, greedy covers: accuracy in percent", found, {}, note)
    return table, decoder_grid(context, experts)


def _texts(context: Context) -> tuple[Grid, ...]:
    return (silos.silo_grid({name: silos.silo_row(context, name) for name in silos.SETS}),)


def _findings(grids: list[Grid]) -> tuple[str, ...]:
    """Name the decoder that is best with experts missing, and the one that is best on whole covers."""
    said = []
    for grid in grids:
        if not grid.title.startswith("Every decoder"):
            continue
        where = grid.title.removeprefix("Every decoder on ")
        means = {}
        for name, cells in grid.rows:
            if all(cell.ours is not None for cell in cells) and "supervised" not in name:
                values = [cell.ours or 0.0 for cell in cells]
                means[name] = (sum(values[:4]) / 4, sum(values[4:]) / 2)
        whole = max(means, key=lambda name: means[name][0])
        broken = max(means, key=lambda name: means[name][1])
        worst = min(means, key=lambda name: means[name][0])
        said.append(
            f"{where}: on whole covers `{whole}` is best ({means[whole][0]:.2f}% on average), with two "
            f"experts removed `{broken}` ({means[broken][1]:.2f}%); the worst on whole covers is `{worst}` "
            f"({means[worst][0]:.2f}%)."
        )
    return tuple(said)
