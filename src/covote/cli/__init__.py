"""The command line: it translates, it does not compute."""

from __future__ import annotations


def main() -> None:
    """Run the `covote` command."""
