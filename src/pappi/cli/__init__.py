"""The command line: thin, every command is one call of a workspace or a session.

    logs       declare logs, fill them, seal them, delete from them
    ppis       check definitions, show them, convert them
    queries    preview, rehearse, release, subscriptions, budgets; exact values for the owner
    audit      does a release keep its promise?
    owner      keys, analysts, stopping, documents, backups, serving
    demo       the whole way once, on the example logs
    options    what commands share

`program` holds the table of commands and imports the module of a command when it is run, so
that `pappi --version` and `--help` answer at once.
"""

from pappi.cli.program import main
