"""Two simulated example logs, with catalogues of PPIs for them.

`claims` is the claim handling of an insurer, as in the paper, `hospital` a process shaped like
the Sepsis log; `bundled` lists both with their catalogues. `simulation` is the seeded random
source, here and for the synthetic logs of rehearsals, and writes events to CSV or XES. All of it
is public toy data about nobody, the same on every machine.
"""

from pappi.examples.bundled import DEMO_EPSILON, EXAMPLES, Example
from pappi.examples.simulation import Chance, Event, Weighted, write_csv, write_xes
