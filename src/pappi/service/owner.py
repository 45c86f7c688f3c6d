"""The owner's application: custody's verbs over HTTP.

It returns exact values and accepts personal data: its port is for the trusted side only.
Every act is on record under the name of the key that did it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, NoReturn

from fastapi import Depends, Path, Request
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

from pappi.custody import Erased, IssuedKey, Removed, event_of
from pappi.errors import InputError
from pappi.ledger import Verification
from pappi.service import models
from pappi.service.keys import Authenticated
from pappi.service.middleware import Frame, Service
from pappi.service.models import Name, Person
from pappi.service.problems import Audience
from pappi.service.routes import (
    LOG,
    After,
    Limit,
    add_route,
    catalogue_in,
    new_application,
    page_of,
    run_subscriptions,
)
from pappi.service.settings import Settings
from pappi.service.telemetry import MEDIA_TYPE
from pappi.service.web.console import add_console
from pappi.session import Workspace
from pappi.store import Captured
from pappi.values import Epsilon, Grant, KeyRecord, PublicLog, Right

LogName = Annotated[Name, Path()]
AnalystName = Annotated[Person, Path()]
KeyId = Annotated[str, Path(max_length=64)]
_CONFLICT = 409


def owner_app(
    workspace: Workspace, settings: Settings | None = None, frame: Frame | None = None
) -> Service:
    """The application for the owner of a workspace; `frame` is shared with the analysts'."""
    app, frame = new_application(Audience.OWNER, workspace, settings, frame)
    view = OwnerView(frame)
    read, manage, changed = Right.READ, Right.MANAGE, (*LOG, _CONFLICT)
    add_route(app, "GET", "/logs", view.logs, read)
    add_route(app, "POST", "/logs", view.create_log, manage, (_CONFLICT,))
    add_route(app, "GET", "/logs/{log}", view.log, read, LOG)
    add_route(app, "GET", "/logs/{log}/releases", view.releases, read, LOG)
    events, body = (415, *changed), REQUEST_BODY
    add_route(
        app, "POST", "/logs/{log}/events", view.capture, Right.CAPTURE, events, openapi_extra=body
    )
    add_route(app, "POST", "/logs/{log}/seal", view.seal, manage, changed)
    add_route(app, "POST", "/logs/{log}/erase", view.erase, manage, changed)
    add_route(app, "POST", "/logs/{log}/rename", view.rename, manage, changed)
    add_route(app, "DELETE", "/logs/{log}", view.remove, manage, changed)
    add_route(app, "PUT", "/logs/{log}/budget", view.grant, manage, LOG)
    add_route(app, "GET", "/logs/{log}/analysts", view.analysts, read, LOG)
    add_route(app, "PUT", "/logs/{log}/analysts/{name}", view.grant_analyst, manage, LOG)
    add_route(app, "DELETE", "/logs/{log}/analysts/{name}", view.withdraw, manage, LOG)
    add_route(app, "POST", "/exact", view.exact, manage, LOG)
    add_route(app, "GET", "/keys", view.keys, read)
    add_route(app, "POST", "/keys", view.issue_key, manage)
    add_route(app, "DELETE", "/keys/{key}", view.revoke_key, manage, (404,))
    add_route(app, "GET", "/stop", view.stopped, read)
    add_route(app, "POST", "/stop", view.stop, manage)
    add_route(app, "POST", "/resume", view.resume, manage)
    add_route(app, "GET", "/trail", view.trail, read)
    add_route(app, "GET", "/ledger", view.verify, read)
    add_route(app, "GET", "/metrics", view.metrics, read, response_class=PlainTextResponse)
    add_console(app)
    return app


class OwnerView:
    """One method per route."""

    def __init__(self, frame: Frame) -> None:
        self._settings = frame.settings
        self._metrics = frame.metrics

    # --- logs and their data ---

    def logs(self, bearer: Authenticated) -> models.Logs:
        """Every log, and what is declared about it."""
        return models.Logs(tuple(log.public for log in bearer.custody.logs()))

    def log(self, log: LogName, bearer: Authenticated) -> PublicLog:
        """What is declared about a log."""
        return bearer.custody.log(log).public

    def create_log(self, sent: models.ToCreate, bearer: Authenticated) -> PublicLog:
        """Declare an empty log that will capture events."""
        custody = bearer.custody
        return custody.create_log(sent.name, sent.new(), sent.vocabulary()).public

    def capture(self, log: LogName, events: SentEvents, bearer: Authenticated) -> Captured:
        """Capture events, all or none; they are durable once this returns."""
        batch = [event_of(event, number) for number, event in enumerate(events_in(events), start=1)]
        return bearer.custody.capture(log, batch)

    def seal(self, log: LogName, sent: models.ToSeal, bearer: Authenticated) -> models.SealedLog:
        """Seal time up to a day: it can be queried, and late events no longer change it."""
        sealed = bearer.custody.seal(log, sent.until)
        answered = run_subscriptions(bearer.workspace)
        return models.SealedLog(**asdict(sealed), subscriptions=answered)

    def erase(self, log: LogName, sent: models.ToErase, bearer: Authenticated) -> Erased:
        """Delete cases, persons or blocks from disk; what was released stays on record."""
        custody = bearer.custody
        return custody.erase(log, cases=sent.cases, persons=sent.persons, blocks=sent.blocks)

    def rename(self, log: LogName, sent: models.ToRename, bearer: Authenticated) -> PublicLog:
        """Give a log another name, as long as nothing was charged for it."""
        return bearer.custody.rename(log, sent.to).public

    def remove(self, log: LogName, bearer: Authenticated) -> Removed:
        """Remove a log and delete its events; what was charged and released stays on record."""
        return bearer.workspace.remove_log(log, bearer.name)

    def exact(self, sent: models.Definitions, bearer: Authenticated) -> models.ExactAnswers:
        """The values without noise, for the owner only; each view is recorded."""
        catalogue = catalogue_in(sent)
        return models.ExactAnswers(catalogue.log, bearer.custody.exact(catalogue))

    # --- budgets and who may spend them ---

    def grant(self, log: LogName, sent: models.ToGrant, bearer: Authenticated) -> PublicLog:
        """Set what each block of a log, and all together, may spend."""
        total = None if sent.total is None else Epsilon.of(sent.total)
        return bearer.custody.grant(log, Epsilon.of(sent.per_block), total).public

    def analysts(self, log: LogName, bearer: Authenticated) -> models.Grants:
        """Who may query a log."""
        custody = bearer.custody
        custody.log(log)
        return models.Grants(log, tuple(grant for grant in custody.grants() if grant.log == log))

    def grant_analyst(
        self, log: LogName, name: AnalystName, sent: models.ToGrantAnalyst, bearer: Authenticated
    ) -> Grant:
        """Let an analyst query a log and spend up to this much of each block."""
        epsilon = Epsilon.of(sent.per_block)
        return bearer.custody.grant_analyst(log, name, epsilon)

    def withdraw(self, log: LogName, name: AnalystName, bearer: Authenticated) -> models.Grants:
        """Withdraw an analyst's access to a log, and end their subscriptions."""
        custody = bearer.custody
        custody.log(log)
        bearer.workspace.withdraw(log, name, bearer.name)
        return self.analysts(log, bearer)

    def releases(
        self, log: LogName, bearer: Authenticated, after: After = 0, limit: Limit = None
    ) -> models.Charges:
        """Every charge to a log, by whom, and when it was released."""
        charges = partial(bearer.custody.charges, log)
        page, following = page_of(charges, after, limit, self._settings, attrgetter("seq"))
        return models.Charges(log, tuple(map(models.OwnersCharge.of, page)), following)

    # --- keys, the stop switch, the record ---

    def keys(self, bearer: Authenticated) -> models.Keys:
        """Every key, without its secret."""
        return models.Keys(tuple(bearer.custody.all_keys()))

    def issue_key(self, sent: models.NewKey, bearer: Authenticated) -> IssuedKey:
        """Issue a key; its secret is shown only once."""
        custody = bearer.custody
        return custody.issue_key(sent.role, sent.name, sent.rights, sent.expires)

    def revoke_key(self, key: KeyId, bearer: Authenticated) -> KeyRecord:
        """Revoke a key."""
        return bearer.custody.revoke_key(key)

    def stopped(self, bearer: Authenticated) -> models.StopSwitch:
        """Whether all answers are stopped, and why."""
        reason = bearer.custody.stopped()
        return models.StopSwitch(reason is not None, reason)

    def stop(self, sent: models.ToStop, bearer: Authenticated) -> models.StopSwitch:
        """Stop all answers to all analysts until resumed."""
        bearer.custody.stop(sent.reason)
        return self.stopped(bearer)

    def resume(self, bearer: Authenticated) -> models.StopSwitch:
        """Answer again."""
        bearer.custody.resume()
        return self.stopped(bearer)

    def trail(self, bearer: Authenticated, after: After = 0, limit: Limit = None) -> models.Trail:
        """The audit trail: every act, charge and release, oldest first."""
        entries = bearer.custody.trail
        return models.Trail(*page_of(entries, after, limit, self._settings, attrgetter("seq")))

    def verify(self, bearer: Authenticated) -> Verification:
        """Check the ledger's chain from its first entry to its last."""
        return bearer.custody.verify()

    def metrics(self) -> PlainTextResponse:
        """Counts and durations of requests, for Prometheus."""
        return PlainTextResponse(self._metrics.text(), media_type=MEDIA_TYPE)


# --- events as they are sent for capture: a JSON array, or a JSON object per line -------------

ARRAY = "application/json"
LINES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})
_ITEM = {
    "type": "object",
    "required": ["id", "case", "activity", "time"],
    "properties": {
        "id": {"type": "string", "minLength": 1, "maxLength": 1000},
        "case": {"type": "string", "minLength": 1, "maxLength": 1000},
        "activity": {"type": "string", "minLength": 1, "maxLength": 1000},
        "time": {"type": "string", "format": "date-time"},
        "attributes": {
            "type": "object",
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        },
    },
    "additionalProperties": False,
}
REQUEST_BODY = {
    "requestBody": {
        "required": True,
        "description": "Repeating an event with the same id and content is not an error.",
        "content": {
            ARRAY: {"schema": {"type": "array", "maxItems": 10_000, "items": _ITEM}},
            "application/x-ndjson": {"schema": {"type": "string"}},
        },
    }
}
"""For the OpenAPI document: bodies of captures are read by hand, a line at a time."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A raw body, to be parsed in a thread because that takes time."""

    body: bytes
    kind: str


async def _sent(request: Request) -> Batch:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Batch(await request.body(), kind)


SentEvents = Annotated[Batch, Depends(_sent)]


def events_in(batch: Batch) -> list[Any]:
    """The objects in a body; custody checks what is in them."""
    body, kind = batch.body, batch.kind
    if kind in LINES:
        lines = enumerate(body.split(b"\n"), start=1)
        return [_json(line, f"line {number}") for number, line in lines if line.strip()]
    if kind != ARRAY:
        raise HTTPException(415)
    events = _json(body, "the body")
    if not isinstance(events, list):
        raise InputError("events are sent as an array", hint="send [{…}, …], or NDJSON")
    return events


def _json(text: bytes, place: str) -> Any:  # noqa: ANN401 - whatever JSON says
    """Fails with the place only: the content may be personal."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InputError(f"{place} is not JSON", hint="send UTF-8 without NaN") from None


def _no_constant(_name: str) -> NoReturn:
    raise ValueError("NaN and infinities are not JSON")
