"""`python -m covote` is `covote`."""

from .cli import main

main()
