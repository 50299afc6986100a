"""Tables as people make them: text, spreadsheets and Parquet; their batches, columns and names."""

from typing import TYPE_CHECKING, Any

from covote.tables.options import ReadOptions
from covote.tables.words import FORMULA

if TYPE_CHECKING:
    from covote.tables.table_file import TableFile

__all__ = ["FORMULA", "ReadOptions", "TableFile"]


def __getattr__(name: str) -> Any:
    """Load the reader, which needs pyarrow, when it is first asked for."""
    if name != "TableFile":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from covote.tables.table_file import TableFile

    return TableFile
