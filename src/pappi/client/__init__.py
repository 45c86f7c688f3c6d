"""A client of the analyst's application: a session on another machine.

from pappi.client import Client

with Client("https://ppi.example.org", "pappi_…") as session:
    session.preview("waiting.yaml", epsilon="0.1")     # what it would cost
    session.release("waiting.yaml", epsilon="0.1")     # values, intervals, verdicts

It is a `pappi.session.Session`, as `pappi.open(…).checkpoint(…)` is: the same verbs, the same
types, and failures are the same errors. It needs httpx: `pip install 'pappi[client]'`.
"""

from pappi.client.remote import Client, ServiceError

__all__ = [
    "Client",
    "ServiceError",
]
