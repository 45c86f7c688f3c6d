"""What an analyst can do, wherever the log is: on this machine, or behind a service.

`pappi.open(…).checkpoint("alice")` and `pappi.client.Client(…)` both are sessions: the same verbs,
the same types, the same errors. Whatever takes a `Session` works with either.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Protocol

from pappi.checkpoint.prices import Price
from pappi.checkpoint.queries import Amount, Ids
from pappi.checkpoint.views import Budget, Checked, PastRelease, Quotes, Released
from pappi.ledger import Forecast
from pappi.ppinot import Definitions
from pappi.store import SavedQuery, Subscription
from pappi.values import PublicLog

if TYPE_CHECKING:
    from pappi.audit import SubjectReport
    from pappi.ppinot import Understanding


class Session(Protocol):
    """The verbs of an analyst.

    Definitions are the path of a file, the text itself if it has several lines or is JSON or
    XML, a dict, a PPI built in Python (`pappi.mean(…)`), or a catalogue; `ppi` takes one of its
    PPIs by its id, or some. Amounts of ε are best written as text, such as "0.1".
    """

    # --- what is public, and what is left ---

    def logs(self) -> tuple[PublicLog, ...]:
        """The logs you may query, and what is public about each."""

    def log(self, name: str) -> PublicLog:
        """What is public about a log."""

    def budget(self, log: str) -> Budget:
        """What each block of a log may spend, and has spent."""

    def releases(
        self, log: str, after: int = 0, limit: int | None = None
    ) -> tuple[PastRelease, ...]:
        """Past releases of a log, by anyone, oldest first: repeating them is free."""

    def suggest(self, log: str) -> str:
        """A first catalogue in YAML, from what is public about a log; costs nothing."""

    # --- before anything is spent ---

    def understand(self, text: str, log: str | None = None) -> Understanding:
        """Read one sentence in everyday words: PPIs it may mean, best first, to be confirmed.

        Only the log's public names are used. The log may be left out if there is only one.
        Raises NotUnderstood if no reading is likely.
        """

    def check(self, definitions: Definitions) -> Checked:
        """Check definitions; raises DefinitionError with every problem found."""

    def preview(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        accuracy: str | None = None,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Quotes:
        """Cost and expected error of every PPI, or what an accuracy costs; nothing is spent.

        `epsilon` is for each PPI, a `total` for all of them. Either way, PPIs of the same cases
        share one draw where that makes them more accurate.
        """

    def advise(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Quotes:
        """A preview with alternatives to every PPI whose verdict may well be undecided."""

    def price(
        self, definitions: Definitions, *, total: Amount | None = None, ppi: Ids | None = None
    ) -> Price:
        """What asking all PPIs together costs, at the ε each of them names, or at a total."""

    def forecasts(
        self, definitions: Definitions, *, total: Amount | None = None
    ) -> tuple[Forecast | None, ...]:
        """How long the budget lasts if each PPI is released at its ε; None if it is free.

        A PPI that shares a draw is charged its part of it.
        """

    def outlook(self, definitions: Definitions, *, total: Amount | None = None) -> Forecast | None:
        """The same for all PPIs together."""

    def rehearse(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        smooth: bool = False,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Released:
        """What a release would look like, on made-up cases: no data is read, nothing is spent."""

    def audit(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        total: Amount | None = None,
        ppi: Ids | None = None,
        pairs: int = 2_000,
        samples: int = 10_000,
    ) -> tuple[SubjectReport, ...]:
        """The exact worst loss of each PPI's release, and its sampler against its distribution."""

    # --- releases ---

    def release(
        self,
        definitions: Definitions,
        epsilon: Amount | None = None,
        *,
        smooth: bool = False,
        whole: Amount | None = None,
        price: str | None = None,
        total: Amount | None = None,
        anyway: bool = False,
        ppi: Ids | None = None,
        derived: bool | None = None,
    ) -> Released:
        """Charge and release every PPI, or none; what was released before is replayed.

        `smooth` also smooths the periods of a series, from released values only; `whole` spends
        that share of ε on the whole time. With the name of a `price`, nothing happens unless that
        is still the price. What would tell nothing is refused, unless it is to be released
        `anyway`. What can be derived from the record at least as exactly is not charged; with
        `derived=True` it is derived however exact, and read together with what was paid for;
        with False it is never derived.
        """

    def replay(
        self,
        definitions: Definitions,
        *,
        smooth: bool = False,
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Released:
        """What was released before at the ε the definitions name, or follows from that: free.

        A PPI of which nothing is known yet is not among the series.
        """

    def compare(
        self,
        definitions: Definitions,
        *,
        periods: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        by: str = "difference",
        total: Amount | None = None,
        ppi: Ids | None = None,
    ) -> Released:
        """Two periods, or two groups, of what is on record: how they differ, and if that is noise.

        By their "difference", in "percent", or by their "ratio". Nothing is charged.
        """

    # --- subscriptions and saved queries ---

    def subscribe(
        self,
        definitions: Definitions,
        until: date,
        epsilon: Amount | None = None,
        *,
        total: Amount | None = None,
        anyway: bool = False,
        ppi: Ids | None = None,
    ) -> Subscription:
        """Reserve what every block up to a day costs; each is released once it is sealed.

        What would tell nothing is refused, unless it is to be released `anyway`.
        """

    def subscriptions(self) -> tuple[Subscription, ...]:
        """Your subscriptions."""

    def unsubscribe(self, identity: str) -> int:
        """End a subscription and free its remaining reservations; returns how many."""

    def save(self, definitions: Definitions, *, total: Amount | None = None) -> SavedQuery | None:
        """Save a query for you to find again; None if there is no room for it."""

    def saved(self, log: str | None = None) -> tuple[SavedQuery, ...]:
        """Your saved queries, the latest first; for one log, or for all."""

    def forget(self, identity: str) -> None:
        """Remove a saved query; what was released stays on record."""
