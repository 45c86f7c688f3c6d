"""`python -m pappi` is the command `pappi`."""

from pappi.cli.main import main

main()
