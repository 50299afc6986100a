"""The option that names a decoder, on its own because most commands start without the decoders."""

from __future__ import annotations

from typing import Annotated

import typer

from covote.cli.parameters import one_of
from covote.decoding import DECODERS

Method = Annotated[
    str,
    typer.Option(
        help=f"How to decode: {', '.join(DECODERS)}; auto: the best on --gold.",
        metavar="METHOD",
        autocompletion=one_of(*DECODERS, "auto"),
    ),
]
