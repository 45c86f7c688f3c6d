"""The analyst's application: the checkpoint's verbs over HTTP.

Everything goes through one door, opened for the bearer of the key: it knows only the logs
that were granted to them, and asks again inside the charge's transaction whether the key
still holds.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Path

from pappi.errors import UsageError
from pappi.service.definitions import catalogue_in, with_remarks
from pappi.service.keys import Asking, Bearer, Doorkeeper, keyring_of
from pappi.service.layers import Frame, Service, frame_of, new_service
from pappi.service.models import (
    Definitions,
    Name,
    ToPreview,
    ToRehearse,
    ToRelease,
    ToSubscribe,
)
from pappi.service.paging import After, Limit, page_of
from pappi.service.problems import Audience
from pappi.service.replies import (
    budget_reply,
    check_reply,
    log_reply,
    preview_reply,
    rehearsal_reply,
    release_reply,
    releases_reply,
    standing_item,
)
from pappi.service.reply_models import (
    BudgetReply,
    CheckReply,
    EndedReply,
    LogReply,
    LogsReply,
    PreviewReply,
    RehearsalReply,
    ReleaseReply,
    ReleasesReply,
    StandingItem,
    StandingReply,
)
from pappi.service.routes import LOG, add_common_routes, add_route
from pappi.service.sessions import Sessions
from pappi.service.settings import Settings
from pappi.service.web.signing import add_way_in
from pappi.service.web.workbench import add_workbench
from pappi.values.access import Right
from pappi.workspace import Analyst, Workspace

LogName = Annotated[Name, Path()]


def analyst_app(
    workspace: Workspace, settings: Settings | None = None, frame: Frame | None = None
) -> Service:
    """The application for analysts of a workspace; `frame` is shared with the owner's."""
    frame = frame or frame_of(settings or Settings())
    workspace = frame.paced(workspace)
    limits = frame.settings
    sessions = Sessions(limits.session_hours, limits.session_idle_minutes)
    doorkeeper = Doorkeeper(Audience.ANALYST, keyring_of(workspace), sessions)
    app = new_service("PaPPI, for analysts", doorkeeper, frame)
    add_common_routes(app, Right.PREVIEW, workspace.logs)
    _add_routes(app, AnalystDesk(workspace, frame.settings))
    add_way_in(app, doorkeeper, frame.settings)
    add_workbench(app, workspace)
    return app


def _add_routes(app: Service, desk: AnalystDesk) -> None:
    preview, release = Right.PREVIEW, Right.RELEASE
    add_route(app, "GET", "/logs", desk.logs, preview)
    add_route(app, "GET", "/logs/{log}", desk.log, preview, LOG)
    add_route(app, "GET", "/logs/{log}/budget", desk.budget, preview, LOG)
    add_route(app, "GET", "/logs/{log}/releases", desk.releases, preview, LOG)
    add_route(app, "POST", "/check", desk.check, preview, LOG)
    add_route(app, "POST", "/preview", desk.preview, preview, LOG)
    add_route(app, "POST", "/rehearse", desk.rehearse, preview, LOG)
    add_route(app, "POST", "/release", desk.release, release, (402, *LOG))
    add_route(app, "GET", "/standing", desk.standing, preview)
    add_route(app, "POST", "/standing", desk.subscribe, release, (402, *LOG))
    add_route(app, "DELETE", "/standing/{question}", desk.end, release, (404,))


class AnalystDesk:
    """One method a route."""

    def __init__(self, workspace: Workspace, settings: Settings) -> None:
        self._workspace = workspace
        self._settings = settings

    def logs(self, bearer: Asking) -> LogsReply:
        """The logs you may ask about, and what is public about each."""
        return LogsReply(logs=[log_reply(log) for log in self._door(bearer).logs()])

    def log(self, log: LogName, bearer: Asking) -> LogReply:
        """What is public about a log."""
        return log_reply(self._door(bearer).log(log))

    def budget(self, log: LogName, bearer: Asking) -> BudgetReply:
        """What each block of a log may spend, and has spent."""
        return budget_reply(log, self._door(bearer).budget(log))

    def releases(
        self, log: LogName, bearer: Asking, after: After = 0, limit: Limit = None
    ) -> ReleasesReply:
        """What was asked of a log before, and can be had again at no cost."""
        releases = partial(self._door(bearer).releases, log)
        page, more = page_of(releases, after, limit, self._settings)
        return releases_reply(log, page, bearer.name, more)

    def check(self, asked: Definitions, bearer: Asking) -> CheckReply:
        """Whether definitions are sound, and what keeps them from being released."""
        catalogue, remarks = with_remarks(asked)
        return check_reply(catalogue, [*remarks, *self._door(bearer).unreleasable(catalogue)])

    def preview(self, asked: ToPreview, bearer: Asking) -> PreviewReply:
        """What each PPI would cost, and how far off it would be; nothing is spent."""
        if asked.epsilon is not None and asked.accuracy is not None:
            raise UsageError("epsilon and accuracy exclude each other", hint="send one of them")
        catalogue = catalogue_in(asked)
        door = self._door(bearer)
        quotes = door.preview(catalogue, asked.epsilon, accuracy=asked.accuracy)
        return preview_reply(catalogue.log, quotes)

    def rehearse(self, asked: ToRehearse, bearer: Asking) -> RehearsalReply:
        """What a release would look like, on made-up cases; nothing is read or spent."""
        catalogue = catalogue_in(asked)
        found = self._door(bearer).rehearse(catalogue, asked.epsilon)
        return rehearsal_reply(catalogue.log, found)

    def release(self, asked: ToRelease, bearer: Asking) -> ReleaseReply:
        """Charge and release every PPI, or replay what was released before."""
        catalogue = catalogue_in(asked)
        return release_reply(catalogue.log, self._door(bearer).release(catalogue, asked.epsilon))

    def standing(self, bearer: Asking) -> StandingReply:
        """Your questions that are asked again for every block."""
        found = self._door(bearer).standing()
        return StandingReply(standing=[standing_item(question) for question in found])

    def subscribe(self, asked: ToSubscribe, bearer: Asking) -> StandingItem:
        """Reserve the price of every block up to a day; each is released once it is sealed."""
        door = self._door(bearer)
        return standing_item(door.subscribe(catalogue_in(asked), asked.until, asked.epsilon))

    def end(self, question: Annotated[str, Path(max_length=64)], bearer: Asking) -> EndedReply:
        """End a standing question: what is still reserved for it becomes free."""
        return EndedReply(cancelled=self._door(bearer).unsubscribe(question))

    def _door(self, bearer: Bearer) -> Analyst:
        return self._workspace.granted_checkpoint(bearer.name, bearer.still_holds)
