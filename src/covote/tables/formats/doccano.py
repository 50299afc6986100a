"""doccano 1.x: the lines of one member, in a file with the member's name, or a folder of such files;
documents with a label to review.

Format: https://doccano.github.io/doccano/tutorial (1.8), text and image classification.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from covote.tables.formats.exported_answers import ExportedAnswers, Labelled


def fits(record: Any) -> bool:
    """Whether a record is a document with a list of labels."""
    return (
        isinstance(record, Mapping)
        and "id" in record
        and isinstance(record.get("label"), list)
        and ("text" in record or "filename" in record)
    )


def read(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
    """Add the labels; the file bears the name of the member who gave them."""
    for document in records:
        if document["label"]:
            what = f"document {document['id']}"
            rows.add(document["id"], rows.file, document["label"], more=document, what=what)
        else:
            rows.drop("unlabelled document")


def documents(labels: Iterable[Labelled], data: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield documents to import; what is known of an item and is not its text becomes metadata there."""
    for item, label, score in labels:
        yield {
            "id": item,
            **(data.get(str(item)) or {"text": str(item)}),
            "label": [] if label is None else [label],
            **({} if score is None else {"score": score}),
        }
