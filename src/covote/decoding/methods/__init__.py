"""The decoders, one per file."""
