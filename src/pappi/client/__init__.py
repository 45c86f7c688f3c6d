"""A client of the analyst's application: the checkpoint's verbs, from another machine.

from pappi.client import Client

with Client("https://ppi.example.org", "pappi_…") as checkpoint:
    checkpoint.preview("waiting.yaml", epsilon="0.1")     # what it would cost
    checkpoint.release("waiting.yaml", epsilon="0.1")     # values, intervals, verdicts

Answers are the same objects as those of `pappi.open(…).checkpoint(…)`, and failures the same
errors. It needs httpx: `pip install 'pappi[client]'`.
"""

try:
    import httpx  # noqa: F401 - asked for first, to say what is missing
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "pappi.client needs httpx: install it with pip install 'pappi[client]'", name="httpx"
    ) from None

from pappi.client.facts import Checked, LogFacts, PastRelease, StandingQuestion
from pappi.client.failures import ServiceError
from pappi.client.verbs import Client

__all__ = ["Checked", "Client", "LogFacts", "PastRelease", "ServiceError", "StandingQuestion"]
