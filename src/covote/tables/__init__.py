"""Tables as people make them: text, spreadsheets and Parquet; their batches, columns and names."""

from covote.tables.reading import Reading

__all__ = ["Reading"]
