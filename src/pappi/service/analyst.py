"""The analyst's application: the verbs of a session over HTTP.

Everything goes through one session, opened for the bearer of the key: it has only the logs
that were granted to them, and checks again inside the charge's transaction that the key is
still valid.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Annotated

from fastapi import Path, Query

from pappi.checkpoint import Released
from pappi.ppinot import Understanding
from pappi.service import models
from pappi.service.keys import Authenticated
from pappi.service.middleware import Frame, Service
from pappi.service.models import Name
from pappi.service.problems import Audience
from pappi.service.routes import (
    LOG,
    After,
    Limit,
    add_route,
    catalogue_in,
    new_application,
    page_of,
    with_remarks,
    written,
)
from pappi.service.settings import Settings
from pappi.service.web.workbench import add_workbench
from pappi.session import Workspace
from pappi.store import Subscription
from pappi.values import PublicLog, Right

LogName = Annotated[Name, Path()]
Identity = Annotated[str, Path(max_length=64)]


def analyst_app(
    workspace: Workspace, settings: Settings | None = None, frame: Frame | None = None
) -> Service:
    """The application for analysts of a workspace; `frame` is shared with the owner's."""
    app, frame = new_application(Audience.ANALYST, workspace, settings, frame)
    view = AnalystView(frame.settings)
    preview, release = Right.PREVIEW, Right.RELEASE
    add_route(app, "GET", "/logs", view.logs, preview)
    add_route(app, "GET", "/logs/{log}", view.log, preview, LOG)
    add_route(app, "GET", "/logs/{log}/budget", view.budget, preview, LOG)
    add_route(app, "GET", "/logs/{log}/releases", view.releases, preview, LOG)
    add_route(app, "GET", "/logs/{log}/suggestion", view.suggest, preview, LOG)
    add_route(app, "POST", "/understand", view.understand, preview, LOG)
    add_route(app, "POST", "/check", view.check, preview, LOG)
    add_route(app, "POST", "/preview", view.preview, preview, LOG)
    add_route(app, "POST", "/advise", view.advise, preview, LOG)
    add_route(app, "POST", "/price", view.price, preview, LOG)
    add_route(app, "POST", "/forecast", view.forecast, preview, LOG)
    add_route(app, "POST", "/rehearse", view.rehearse, preview, LOG)
    add_route(app, "POST", "/release", view.release, release, (402, 409, *LOG))
    add_route(app, "POST", "/replay", view.replay, preview, LOG)
    add_route(app, "POST", "/compare", view.compare, preview, LOG)
    add_route(app, "GET", "/subscriptions", view.subscriptions, preview)
    add_route(app, "POST", "/subscriptions", view.subscribe, release, (402, *LOG))
    add_route(app, "DELETE", "/subscriptions/{subscription}", view.unsubscribe, release, (404,))
    add_route(app, "GET", "/saved", view.saved, preview, LOG)
    add_route(app, "POST", "/saved", view.save, release, LOG)
    add_route(app, "DELETE", "/saved/{query}", view.forget, release, (404,))
    add_workbench(app)
    return app


class AnalystView:
    """One method per route: a verb of the session of the key's bearer."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def logs(self, bearer: Authenticated) -> models.Logs:
        """The logs you may query, and what is public about each."""
        return models.Logs(bearer.session.logs())

    def log(self, log: LogName, bearer: Authenticated) -> PublicLog:
        """What is public about a log."""
        return bearer.session.log(log)

    def budget(self, log: LogName, bearer: Authenticated) -> models.Budget:
        """What each block of a log may spend, and has spent."""
        return models.Budget(log, bearer.session.budget(log))

    def releases(
        self, log: LogName, bearer: Authenticated, after: After = 0, limit: Limit = None
    ) -> models.Releases:
        """Past releases of a log, which can be repeated for free."""
        releases = partial(bearer.session.releases, log)
        return models.Releases(
            log, *page_of(releases, after, limit, self._settings, attrgetter("number"))
        )

    def suggest(self, log: LogName, bearer: Authenticated) -> models.SuggestedDefinitions:
        """A first catalogue in YAML, from what is public about a log."""
        return models.SuggestedDefinitions(log, bearer.session.suggest(log))

    def understand(self, sent: models.ToUnderstand, bearer: Authenticated) -> Understanding:
        """PPIs that a sentence in everyday words may mean, best first; no data is read."""
        return bearer.session.understand(sent.text, sent.log)

    def check(self, sent: models.Definitions, bearer: Authenticated) -> models.CheckedDefinitions:
        """Check definitions: are they valid, and can they be released?"""
        catalogue, remarks = with_remarks(sent)
        warnings = (*remarks, *bearer.session.unreleasable(catalogue))
        ppis = tuple(models.CheckedPpi(ppi.id, ppi.name) for ppi in catalogue.ppis)
        return models.CheckedDefinitions(catalogue.log, ppis, warnings)

    def preview(self, sent: models.ToPreview, bearer: Authenticated) -> models.Preview:
        """What each PPI would cost, and how far off it would be; nothing is spent."""
        catalogue, session = catalogue_in(sent), bearer.session
        quotes = session.preview(catalogue, sent.epsilon, accuracy=sent.accuracy)
        return models.Preview(catalogue.log, quotes)

    def advise(self, sent: models.ToAdvise, bearer: Authenticated) -> models.Preview:
        """A preview with alternatives to every PPI whose verdict may well be undecided."""
        catalogue, session = catalogue_in(sent), bearer.session
        return models.Preview(catalogue.log, session.advise(catalogue, sent.epsilon))

    def price(self, sent: models.Definitions, bearer: Authenticated) -> models.Priced:
        """What releasing all PPIs together would cost; nothing is spent."""
        catalogue = catalogue_in(sent)
        return models.Priced(catalogue.log, bearer.session.price(catalogue))

    def forecast(self, sent: models.Definitions, bearer: Authenticated) -> models.Forecasts:
        """How long the budget lasts if PPIs are released, at the ε they name."""
        catalogue, session = catalogue_in(sent), bearer.session
        return models.Forecasts(
            catalogue.log, session.forecasts(catalogue), session.outlook(catalogue)
        )

    def rehearse(self, sent: models.ToRehearse, bearer: Authenticated) -> models.Rehearsal:
        """What a release would look like, on made-up cases; nothing is read or spent."""
        catalogue, session = catalogue_in(sent), bearer.session
        series = session.rehearse(catalogue, sent.epsilon, smooth=sent.smooth)
        return models.Rehearsal(catalogue.log, series)

    def release(self, sent: models.ToRelease, bearer: Authenticated) -> models.ReleasedSeries:
        """Charge and release every PPI, or replay what was released before."""
        catalogue, session = catalogue_in(sent), bearer.session
        series = session.release(
            catalogue,
            sent.epsilon,
            smooth=sent.smooth,
            whole=sent.whole,
            price=sent.price,
            anyway=sent.anyway,
            derived=sent.derived,
        )
        return models.ReleasedSeries(catalogue.log, series)

    def replay(
        self, sent: models.ToReplay, bearer: Authenticated
    ) -> Annotated[bytes, models.ReleasedSeries]:
        """What was released before, at the ε the definitions name; never charges."""
        session = bearer.session
        return session.replay_as(_written_series, catalogue_in(sent), smooth=sent.smooth)

    def compare(self, sent: models.ToCompare, bearer: Authenticated) -> models.ReleasedSeries:
        """Two periods, or two groups, of what is on record; never charges."""
        catalogue, session = catalogue_in(sent), bearer.session
        series = session.compare(
            catalogue, periods=sent.periods, groups=sent.groups, by=str(sent.by)
        )
        return models.ReleasedSeries(catalogue.log, series)

    def subscriptions(self, bearer: Authenticated) -> models.Subscriptions:
        """Your subscriptions."""
        return models.Subscriptions(bearer.session.subscriptions())

    def subscribe(self, sent: models.ToSubscribe, bearer: Authenticated) -> Subscription:
        """Reserve the price of every block up to a day; each is released once it is sealed."""
        return bearer.session.subscribe(
            catalogue_in(sent), sent.until, sent.epsilon, anyway=sent.anyway
        )

    def unsubscribe(self, subscription: Identity, bearer: Authenticated) -> models.Ended:
        """End a subscription and free its remaining reservations."""
        return models.Ended(bearer.session.unsubscribe(subscription))

    def saved(
        self, bearer: Authenticated, log: Annotated[Name | None, Query()] = None
    ) -> models.SavedQueries:
        """Your saved queries, the latest first; of one log, or of all."""
        return models.SavedQueries(bearer.session.saved(log))

    def save(self, sent: models.Definitions, bearer: Authenticated) -> models.Saved:
        """Save a query under an id of its own; the same query twice is saved once."""
        return models.Saved(bearer.session.save(catalogue_in(sent)))

    def forget(self, query: Identity, bearer: Authenticated) -> models.Forgotten:
        """Remove a saved query; what was released stays on record."""
        bearer.session.forget(query)
        return models.Forgotten(query)


def _written_series(log: str, series: Released) -> bytes:
    return written(models.ReleasedSeries(log, series))
