"""`python -m covote` is `covote`."""

from covote.cli import main

main()
