"""`python -m pappi` is the command `pappi`."""

from pappi.cli import main

main()
