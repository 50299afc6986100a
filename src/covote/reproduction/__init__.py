"""Experiments: the demo, and the paper's tables and figures, one file each."""
