"""Tables as people make them: text, spreadsheets and Parquet; their batches, columns and names."""

from covote.tables.options import ReadOptions

__all__ = ["ReadOptions"]
