"""The paper's experiments: its tables and figures, one file each; `python -m paper` runs them."""
