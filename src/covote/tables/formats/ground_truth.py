"""Amazon SageMaker Ground Truth: the file of a consolidation request, with the answers of each worker.

Format: https://docs.aws.amazon.com/sagemaker/latest/dg/sms-custom-templates-step3-lambda-requirements.html
(version 2018-10-16 of the request).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from covote.tables.formats.rows import Rows, one_of, ticked


def fits(record: Mapping[str, Any]) -> bool:
    """Whether a record is an object of the dataset with its annotations."""
    return "datasetObjectId" in record and "annotations" in record


def read(records: Iterable[Mapping[str, Any]], rows: Rows) -> None:
    """Add the annotations; what a worker said is JSON inside of JSON, one entry for each form element."""
    for one in records:
        item = one["datasetObjectId"]
        for said in one["annotations"]:
            content = said["annotationData"]["content"]
            answers = json.loads(content) if isinstance(content, str) else content
            labels = {question: _label(answer, item) for question, answer in answers.items()}
            rows.add(item, said["workerId"], labels, more=one.get("dataObject"))


def _label(answer: Any, item: Any) -> str | None:
    """Return the label that an element has chosen: a classifier, several choices, radio buttons or text."""
    what = f"object {item}"
    if not isinstance(answer, Mapping):
        return str(answer)
    if "labels" in answer:
        return one_of(answer["labels"], what)
    return str(answer["label"]) if "label" in answer else ticked(answer, what)
