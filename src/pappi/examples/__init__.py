"""Two simulated example logs, with catalogues of PPIs for them.

`claims` is the claim handling of an insurer, as in the paper, `hospital` a process shaped like
the Sepsis log; `events` writes either to CSV or XES; `bundled` lists both with their catalogues;
`chance` is the seeded random source, here and for the synthetic logs of rehearsals. All of it
is public toy data about nobody, the same on every machine.
"""

from pappi.examples.bundled import DEMO_EPSILON, EXAMPLES, Example
from pappi.examples.chance import Chance, Weighted
from pappi.examples.events import Event, write_csv, write_xes
