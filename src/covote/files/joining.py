"""Parts of votes put together again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from covote.panel import Panel
from covote.votes import Ragged, Votes
from covote.votes.item_ids import id_array


def joined(parts: Sequence[Votes], panel: Panel) -> Votes:
    """Return consecutive parts of votes as one, dense if all of them are."""
    if len(parts) == 1:
        return parts[0]
    ids = pa.concat_arrays([id_array(part._ids, part.start, part.stop) for part in parts])
    size, complete = sum(len(part) for part in parts), all(part.complete for part in parts)
    if all(part.columns is not None for part in parts):
        columns = np.concatenate(
            [part.columns[:, part.start : part.stop] for part in parts if part.columns is not None], axis=1
        )
        columns.flags.writeable = False
        return Votes(panel, columns, None, 0, size, complete, _ids=ids)
    runs = [part.ragged for part in parts]
    ends = np.cumsum([0] + [run.indptr[-1] for run in runs])
    bounds = np.concatenate([run.indptr[1:] + end for run, end in zip(runs, ends, strict=False)])
    indptr = np.concatenate([np.zeros(1, np.int64), bounds])
    expert = np.concatenate([run.expert for run in runs])
    label = np.concatenate([run.label for run in runs])
    if not any(part.soft for part in parts):
        return Votes(panel, None, Ragged(indptr, expert, label), 0, size, complete, _ids=ids)
    chances = np.concatenate(
        [
            part.class_probability if part.class_probability is not None else part.vote_probability
            for part in parts
        ]
    )
    return Votes.from_ragged(indptr, expert, label, panel, items=ids, probabilities=chances)
