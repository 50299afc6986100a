"""Files of requests and responses of batch services, which answer within a day for half the price.

The format is OpenAI's, which others have taken over: one JSON object per line, with a ``custom_id`` that the
response repeats. Here it says which expert is asked, about which data, and about which item.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from covote import atomic
from covote.arguments import no_file
from covote.errors import ExpertError, FileError, InputError
from covote.labelling.batch_questions import BatchQuestion, Reply
from covote.labelling.preparing import OpenedDataset
from covote.models.batches import select
from covote.models.chat import Chat, rows_of


class RequestCount(NamedTuple):
    """How many requests were written, and to how many experts."""

    requests: int
    experts: int


def write_requests(
    ready: OpenedDataset, questions: dict[int, list[BatchQuestion]], path: Path
) -> RequestCount:
    """Write the questions to language models, by expert, as requests of a batch service."""
    count = 0
    with atomic.replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for i, mine in questions.items():
            expert = ready.experts[i]
            assert isinstance(expert.model, Chat)
            key = _key(ready, i)
            for question in mine:
                batch = select(ready.data.read(question.start, question.stop), expert.columns)
                for n, row in enumerate(rows_of(batch), question.start):
                    try:
                        request = expert.model.request(row)
                    except ExpertError as error:
                        raise InputError(f"expert {expert.name!r} {error}") from error
                    file.write(json.dumps({"custom_id": f"{key}-{n}", **request}, ensure_ascii=False) + "\n")
                    count += 1
    return RequestCount(count, len(questions))


def read_responses(ready: OpenedDataset, path: Path) -> Iterator[Reply]:
    """Yield what a file of responses says: answers, or why there are none."""
    keys = {_key(ready, i): i for i, expert in ready.experts.items() if isinstance(expert.model, Chat)}
    if not path.is_file():
        raise no_file(path)
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
                key, _, item = str(found["custom_id"]).rpartition("-")
                n, body = int(item), _body(found)
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                raise FileError(
                    f"{path}, line {number}, is not a response of a batch service; give the file that the "
                    "service returned"
                ) from error
            if key not in keys or not 0 <= n < ready.data.items:
                raise InputError(
                    f"{path}, line {number}, answers a request for other data or other models; write the "
                    "requests again, or undo the changes"
                )
            i = keys[key]
            expert = ready.experts[i]
            assert isinstance(expert.model, Chat)
            question = BatchQuestion(i, n, n + 1, None, "")
            try:
                if body is None:
                    raise ExpertError(f"got no answer from the batch service: {_reason(found)}")
                yield Reply(question, expert.model.read_response(body))
            except ExpertError as error:
                yield Reply(question, failure=f"expert {expert.name!r} {error}", may_pass=True)


def _key(ready: OpenedDataset, i: int) -> str:
    """Return a short fingerprint of an expert and the data."""
    about = json.dumps(ready.abouts[i], default=str)
    return hashlib.sha256(about.encode()).hexdigest()[:16]


def _body(found: Any) -> Any:
    """Return the chat completion of a response, None if the request failed."""
    response = found.get("response") or {}
    return (
        response.get("body") if response.get("status_code", 200) == 200 and not found.get("error") else None
    )


def _reason(found: Any) -> str:
    reason = found.get("error") or (found.get("response") or {}).get("body") or "no reason is given"
    return json.dumps(reason, ensure_ascii=False)[:200]
