"""The command line: thin, every command is one call of a door.

Heavy modules are imported inside the commands, so that `pappi --version` and
`--help` answer at once.
"""
