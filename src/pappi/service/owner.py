"""The owner's application: custody's verbs over HTTP.

It gives exact values and takes personal data in: its port is for the trusted side alone.
Every act is on record under the name of the key that did it.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Path
from starlette.responses import PlainTextResponse

from pappi.custody.capture import event_of
from pappi.custody.door import Custody
from pappi.service.definitions import catalogue_in
from pappi.service.events import REQUEST_BODY, SentEvents, events_in
from pappi.service.keys import Asking, Bearer, Doorkeeper, keyring_of
from pappi.service.layers import Frame, Service, frame_of, new_service
from pappi.service.metrics import MEDIA_TYPE
from pappi.service.models import (
    Definitions,
    Name,
    NewKey,
    NewLog,
    Person,
    ToErase,
    ToGrant,
    ToGrantAnalyst,
    ToSeal,
    ToStop,
)
from pappi.service.paging import After, Limit, page_of
from pappi.service.problems import Audience
from pappi.service.replies import (
    charges_reply,
    exact_reply,
    grant_reply,
    key_reply,
    log_reply,
    trail_entry,
)
from pappi.service.reply_models import (
    CapturedReply,
    ChargesReply,
    ErasedReply,
    ExactReply,
    GrantReply,
    GrantsReply,
    IssuedKeyReply,
    KeyReply,
    KeysReply,
    LogReply,
    LogsReply,
    SealedReply,
    StoppedReply,
    TrailReply,
    VerifiedReply,
)
from pappi.service.requests import rights_in, terms_in, vocabulary_in
from pappi.service.routes import LOG, add_common_routes, add_route
from pappi.service.sessions import Sessions
from pappi.service.settings import Settings
from pappi.service.standing import run_standing
from pappi.service.web.console import add_console
from pappi.service.web.signing import add_way_in
from pappi.values.access import Right, Role
from pappi.values.epsilon import Epsilon
from pappi.workspace import Workspace

LogName = Annotated[Name, Path()]
AnalystName = Annotated[Person, Path()]
KeyId = Annotated[str, Path(max_length=64)]
_CONFLICT = 409


def owner_app(
    workspace: Workspace, settings: Settings | None = None, frame: Frame | None = None
) -> Service:
    """The application for the owner of a workspace; `frame` is shared with the analysts'."""
    frame = frame or frame_of(settings or Settings())
    workspace = frame.paced(workspace)
    limits = frame.settings
    sessions = Sessions(limits.session_hours, limits.session_idle_minutes)
    doorkeeper = Doorkeeper(Audience.OWNER, keyring_of(workspace), sessions)
    app = new_service("PaPPI, for the owner", doorkeeper, frame)
    add_common_routes(app, Right.READ, workspace.logs)
    desk = OwnerDesk(workspace, frame)
    _add_log_routes(app, desk)
    _add_office_routes(app, desk)
    add_way_in(app, doorkeeper, frame.settings)
    add_console(app, workspace)
    return app


def _add_log_routes(app: Service, desk: OwnerDesk) -> None:
    read, manage, changed = Right.READ, Right.MANAGE, (*LOG, _CONFLICT)
    add_route(app, "GET", "/logs", desk.logs, read)
    add_route(app, "POST", "/logs", desk.create_log, manage, (_CONFLICT,))
    add_route(app, "GET", "/logs/{log}", desk.log, read, LOG)
    add_route(app, "GET", "/logs/{log}/releases", desk.releases, read, LOG)
    events, body = (415, *changed), REQUEST_BODY
    add_route(
        app, "POST", "/logs/{log}/events", desk.capture, Right.CAPTURE, events, openapi_extra=body
    )
    add_route(app, "POST", "/logs/{log}/seal", desk.seal, manage, changed)
    add_route(app, "POST", "/logs/{log}/erase", desk.erase, manage, changed)
    add_route(app, "PUT", "/logs/{log}/budget", desk.grant, manage, LOG)
    add_route(app, "GET", "/logs/{log}/analysts", desk.analysts, read, LOG)
    add_route(app, "PUT", "/logs/{log}/analysts/{name}", desk.grant_analyst, manage, LOG)
    add_route(app, "DELETE", "/logs/{log}/analysts/{name}", desk.withdraw, manage, LOG)
    add_route(app, "POST", "/exact", desk.exact, manage, LOG)


def _add_office_routes(app: Service, desk: OwnerDesk) -> None:
    read, manage = Right.READ, Right.MANAGE
    add_route(app, "GET", "/keys", desk.keys, read)
    add_route(app, "POST", "/keys", desk.issue_key, manage)
    add_route(app, "DELETE", "/keys/{key}", desk.revoke_key, manage, (404,))
    add_route(app, "GET", "/stop", desk.stopped, read)
    add_route(app, "POST", "/stop", desk.stop, manage)
    add_route(app, "POST", "/resume", desk.resume, manage)
    add_route(app, "GET", "/trail", desk.trail, read)
    add_route(app, "GET", "/ledger", desk.verify, read)
    add_route(app, "GET", "/metrics", desk.metrics, read, response_class=PlainTextResponse)


class OwnerDesk:
    """One method a route."""

    def __init__(self, workspace: Workspace, frame: Frame) -> None:
        self._workspace = workspace
        self._settings = frame.settings
        self._metrics = frame.metrics

    # --- logs and their data ---

    def logs(self, bearer: Asking) -> LogsReply:
        """Every log, and what is declared about it."""
        return LogsReply(logs=[log_reply(log) for log in self._door(bearer).logs()])

    def log(self, log: LogName, bearer: Asking) -> LogReply:
        """What is declared about a log."""
        return log_reply(self._door(bearer).log(log))

    def create_log(self, asked: NewLog, bearer: Asking) -> LogReply:
        """Declare an empty log, to be fed with events."""
        door = self._door(bearer)
        return log_reply(door.create_log(asked.name, terms_in(asked), vocabulary_in(asked)))

    def capture(self, log: LogName, events: SentEvents, bearer: Asking) -> CapturedReply:
        """Take events in, all or none; they are durable when this answers."""
        found = [event_of(event, number) for number, event in enumerate(events_in(events), start=1)]
        captured = self._door(bearer).capture(log, found)
        return CapturedReply(accepted=captured.accepted, duplicates=captured.duplicates)

    def seal(self, log: LogName, asked: ToSeal, bearer: Asking) -> SealedReply:
        """Seal time up to a day: it can be asked about, and late events no longer change it."""
        sealed = self._door(bearer).seal(log, asked.until)
        return SealedReply(
            log=sealed.log,
            until=sealed.until,
            cases=sealed.cases,
            events=sealed.events,
            late=sealed.late,
            standing=run_standing(self._workspace),
        )

    def erase(self, log: LogName, asked: ToErase, bearer: Asking) -> ErasedReply:
        """Delete cases, persons or blocks from disk; what was released stays on record."""
        door = self._door(bearer)
        erased = door.erase(log, cases=asked.cases, persons=asked.persons, blocks=asked.blocks)
        return ErasedReply(cases=erased.cases, events=erased.events)

    def exact(self, asked: Definitions, bearer: Asking) -> ExactReply:
        """The values without noise, for the owner's eyes only; each look is on record."""
        catalogue = catalogue_in(asked)
        return exact_reply(catalogue.log, self._door(bearer).exact(catalogue))

    # --- budgets and who may spend them ---

    def grant(self, log: LogName, asked: ToGrant, bearer: Asking) -> LogReply:
        """Set what each block of a log, and all together, may spend."""
        total = None if asked.total is None else Epsilon.of(asked.total)
        return log_reply(self._door(bearer).grant(log, Epsilon.of(asked.per_block), total))

    def analysts(self, log: LogName, bearer: Asking) -> GrantsReply:
        """Who may ask about a log."""
        door = self._door(bearer)
        door.log(log)
        found = [grant_reply(grant) for grant in door.grants() if grant.log == log]
        return GrantsReply(log=log, analysts=found)

    def grant_analyst(
        self, log: LogName, name: AnalystName, asked: ToGrantAnalyst, bearer: Asking
    ) -> GrantReply:
        """Let an analyst ask about a log, and spend so much of each block."""
        epsilon = Epsilon.of(asked.per_block)
        return grant_reply(self._door(bearer).grant_analyst(log, name, epsilon))

    def withdraw(self, log: LogName, name: AnalystName, bearer: Asking) -> GrantsReply:
        """Let an analyst no longer ask about a log, nor their standing questions; who still may."""
        door = self._door(bearer)
        door.log(log)
        self._workspace.withdraw(log, name, bearer.name)
        return self.analysts(log, bearer)

    def releases(
        self, log: LogName, bearer: Asking, after: After = 0, limit: Limit = None
    ) -> ChargesReply:
        """Every charge to a log, by whom, and when it was released."""
        charges = partial(self._door(bearer).charges, log)
        page, more = page_of(charges, after, limit, self._settings)
        return charges_reply(log, page, more)

    # --- keys, the stop switch, the record ---

    def keys(self, bearer: Asking) -> KeysReply:
        """Every key, without its secret."""
        records = self._door(bearer).all_keys()
        return KeysReply(keys=[key_reply(record) for record in records])

    def issue_key(self, asked: NewKey, bearer: Asking) -> IssuedKeyReply:
        """A new key; its secret is shown this once."""
        door = self._door(bearer)
        issued = door.issue_key(Role(asked.role), asked.name, rights_in(asked), asked.expires)
        return IssuedKeyReply(key=key_reply(issued.record), secret=issued.secret)

    def revoke_key(self, key: KeyId, bearer: Asking) -> KeyReply:
        """Refuse a key from now on."""
        return key_reply(self._door(bearer).revoke_key(key))

    def stopped(self, bearer: Asking) -> StoppedReply:
        """Whether nothing is answered, and why."""
        reason = self._door(bearer).stopped()
        return StoppedReply(stopped=reason is not None, reason=reason)

    def stop(self, asked: ToStop, bearer: Asking) -> StoppedReply:
        """Refuse every answer to every analyst, until resumed."""
        self._door(bearer).stop(asked.reason)
        return self.stopped(bearer)

    def resume(self, bearer: Asking) -> StoppedReply:
        """Answer again."""
        self._door(bearer).resume()
        return self.stopped(bearer)

    def trail(self, bearer: Asking, after: After = 0, limit: Limit = None) -> TrailReply:
        """The audit trail: every act, charge and release, oldest first."""
        page, more = page_of(self._door(bearer).trail, after, limit, self._settings)
        return TrailReply(entries=[trail_entry(entry) for entry in page], next=more)

    def verify(self, bearer: Asking) -> VerifiedReply:
        """Check the ledger's chain from its first entry to its last."""
        found = self._door(bearer).verify()
        return VerifiedReply(
            verifies=found.ok, entries=found.entries, head=found.head, problem=found.problem
        )

    def metrics(self) -> PlainTextResponse:
        """Counts and durations of requests, for Prometheus."""
        return PlainTextResponse(self._metrics.text(), media_type=MEDIA_TYPE)

    def _door(self, bearer: Bearer) -> Custody:
        return self._workspace.custody_of(bearer.name)
