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

import gc
import os

# Before anything is imported. Modules and plans stay, and hold few cycles: going through them at
# every 700 new objects takes a twentieth of a short command. And numpy's OpenBLAS would start a
# thread for each core, a tenth of it; no matrix here is so large, and with one thread sums are the
# same to the last digit on every machine.
gc.set_threshold(100_000, 10, 10)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pappi.cli.program import main  # noqa: E402 - see above
