"""Export and import."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response
from starlette.background import BackgroundTask
from starlette.datastructures import UploadFile

from covote.panel import Panel
from covote.studio.context import Studio
from covote.studio.exchange import exporting, importing_votes
from covote.studio.pages.rendering import Form, Owner, Project, back_to, page
from covote.studio.people import managing
from covote.studio.rules import Refused

router = APIRouter()


@router.get("/export")
def offer(request: Request, studio: Project, who: Owner) -> Response:
    """Offer every file."""
    return page(request, "export.html", who)


def write_export(studio: Studio, name: str, folder: Path) -> Path:
    """Write one of the files of the export page, and return its place."""
    stem, _, kind = name.rpartition(".")
    place = folder / name
    with studio.database.read() as connection:
        _, roster = studio.now(connection)
        if stem == "panel" and kind in ("toml", "json", "csv"):
            if roster.panel is None or not len(roster.panel):
                raise Refused("There is no panel yet: add classes, and people who know some.", 409)
            roster.panel.save(place)
            return place
        if stem not in ("votes", "labels", "items") or kind not in exporting.FORMATS:
            raise Refused("There is no such file; choose one on the page Export.", 404)
        results = studio.results.refresh()
        if stem == "items":
            table = exporting.provenance_table(connection, results, roster, flat=kind == "csv")
            exporting.write_table(table, place)
            return place
        if results is None:
            raise Refused("There are no votes yet; export again when somebody has answered.", 409)
        if stem == "votes":
            exporting.write_table(exporting.votes_table(connection, results), place)
        elif kind == "jsonl":
            raise Refused("Labels are written as .parquet or .csv; items.jsonl has them as well.", 404)
        else:
            exporting.write_labels(connection, results, place, folder)
    return place


@router.get("/export/{name}")
def export(studio: Project, who: Owner, name: str) -> Response:
    """Give a file."""
    folder = Path(tempfile.mkdtemp(prefix="covote-"))
    try:
        place = write_export(studio, name, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return FileResponse(
        place, filename=name, media_type="application/octet-stream",
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )  # fmt: skip


@router.post("/import")
def take_in(studio: Project, who: Owner, form: Form) -> Response:
    """Take in a panel file, a file of votes, or both."""
    done = []
    panel, votes = form.get("panel"), form.get("votes")
    if isinstance(panel, UploadFile) and panel.filename:
        place = importing_votes.load_panel(panel.filename, panel.file.read())
        try:
            read = Panel.load(place)
        finally:
            shutil.rmtree(place.parent, ignore_errors=True)
        if any(model is not None for model in read.models):
            raise Refused(
                "This panel names models, which only whoever starts the studio may bring in: "
                "covote studio PROJECT --panel FILE.",
            )
        with studio.database.write() as connection:
            managing.adopt_panel(connection, read)
        done.append(f"{len(read)} experts and {len(read.classes)} classes are as in the panel file.")
    if isinstance(votes, UploadFile) and votes.filename:
        done.append(importing_votes.import_votes(studio, votes.filename, votes.file.read()))
    if not done:
        raise Refused("No file was chosen; choose a panel file, a file of votes, or both.", 422)
    return back_to("/export", " ".join(done))
