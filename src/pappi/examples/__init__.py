"""Two example logs of our own making, with PPIs to ask of them.

`claims` is the claim handling of an insurer, as in the paper, `hospital` a process shaped like
the Sepsis log; `events` writes either to CSV or XES; `bundled` names both together
with their catalogues; `chance` is the seeded source of what is simulated, here and in synthetic
logs of rehearsals. All of it is simulated from a seed: public toy data about
nobody, the same on every machine.
"""

from pappi.examples.bundled import DEMO_EPSILON, EXAMPLES, Example
from pappi.examples.chance import Chance, Weighted
from pappi.examples.events import Event, write_csv, write_xes

__all__ = [
    "DEMO_EPSILON",
    "EXAMPLES",
    "Chance",
    "Event",
    "Example",
    "Weighted",
    "write_csv",
    "write_xes",
]
