"""Amazon SageMaker Ground Truth: the file of a consolidation request, with the answers of each worker.

Format: https://docs.aws.amazon.com/sagemaker/latest/dg/sms-custom-templates-step3-lambda-requirements.html
(version 2018-10-16 of the request).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from covote.tables.formats import crowd_forms
from covote.tables.formats.exported_answers import ExportedAnswers


def fits(record: Mapping[str, Any]) -> bool:
    """Whether a record is an object of the dataset with its annotations."""
    return "datasetObjectId" in record and "annotations" in record


def read(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
    """Add the annotations; what a worker said is JSON inside of JSON, one entry for each form element."""
    for one in records:
        item = one["datasetObjectId"]
        for said in one["annotations"]:
            content = said["annotationData"]["content"]
            form = json.loads(content) if isinstance(content, str) else content
            rows.add(
                item,
                said["workerId"],
                crowd_forms.answers(form),
                more=one.get("dataObject"),
                what=f"object {item}",
            )
