"""Every failure is problem+json with a stable code, and says nothing it should not."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

import pappi.errors
from pappi.custody import Custody
from pappi.errors import (
    DefinitionError,
    LedgerBroken,
    LogFormatError,
    NotAuthenticated,
    PappiError,
    Position,
    Problem,
    ReleaseFailed,
    WorkspaceError,
)
from pappi.service.problems import CODES, Audience, Fault, code_of, fault_of
from pappi.service.telemetry import LOGGER, JsonFormatter
from pappi.session import LocalSession
from tests.service.served import SOJOURN, Served, ask, served

PRIVATE = "patient Meyer, 1964-02-29, /srv/hospital"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return served(tmp_path_factory.mktemp("served"))


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the service logs, as it is written."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    yield written
    LOGGER.removeHandler(handler)


def kinds_of_error() -> list[type[PappiError]]:
    found = (getattr(pappi.errors, name) for name in dir(pappi.errors))
    return [kind for kind in found if isinstance(kind, type) and issubclass(kind, PappiError)]


def example(kind: type[PappiError], text: str) -> PappiError:
    if issubclass(kind, DefinitionError):
        return kind([Problem(Position("a.yaml", 1, 2), text)])
    if issubclass(kind, LogFormatError):
        return kind("a.xes", 3, text)
    if issubclass(kind, ReleaseFailed):
        return kind(detail=text)
    if issubclass(kind, NotAuthenticated):
        return kind()
    return kind(text, detail="private")


def assert_shape(record: dict[str, object], status: int) -> None:
    assert {"type", "title", "status", "code", "detail", "hint"} <= record.keys()
    assert record.keys() <= {"type", "title", "status", "code", "detail", "hint", "problems"}
    assert record["type"] == f"urn:pappi:error:{record['code']}"
    assert record["status"] == status
    assert record["code"] in CODES


def test_every_error_of_the_library_has_its_own_status() -> None:
    for kind in kinds_of_error():
        if kind is not PappiError:
            assert kind.code in CODES, kind
            fault = fault_of(example(kind, "words"), Audience.OWNER)
            assert fault.code == kind.code
            assert_shape(fault.record(), fault.status)


def test_an_error_of_a_later_kind_is_told_as_the_kind_it_belongs_to() -> None:
    class Later(WorkspaceError):
        code = "later"

    assert code_of(Later("words")) == "workspace"
    assert fault_of(PappiError("words"), Audience.OWNER).code == "internal"


@pytest.mark.parametrize("kind", [WorkspaceError, LedgerBroken, ReleaseFailed])
def test_an_analyst_is_told_nothing_about_the_workspace(kind: type[PappiError]) -> None:
    said = json.dumps(fault_of(example(kind, PRIVATE), Audience.ANALYST).record())
    assert PRIVATE not in said
    assert "private" not in said


def test_a_private_detail_is_told_to_nobody() -> None:
    for kind in kinds_of_error():
        for audience in Audience:
            assert "private" not in str(fault_of(example(kind, "words"), audience).record())


def test_definition_problems_come_with_their_places(service: Served) -> None:
    body = {"definitions": "log: small\nppis:\n  - id: 3\n"}
    for path in ("/check", "/preview", "/release"):
        reply = ask(service.analyst, "POST", path, service.alice, body)
        assert_shape(reply.json(), 422)
        assert reply.json()["code"] == "definition"
        first = reply.json()["problems"][0]
        assert (first["line"], first["column"]) == (3, 5)


def test_what_breaks_unexpectedly_is_a_fixed_sentence_and_a_kind_in_the_log(
    service: Served, lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError(PRIVATE)

    monkeypatch.setattr(LocalSession, "release", broken)
    reply = ask(service.analyst, "POST", "/release", service.alice, {"definitions": SOJOURN})
    assert_shape(reply.json(), 500)
    assert reply.json()["code"] == "internal"
    assert PRIVATE not in reply.text
    assert PRIVATE not in lines.getvalue()
    failure = json.loads(lines.getvalue().splitlines()[0])
    assert (failure["event"], failure["error"]) == ("failure", "KeyError")


def test_a_workspace_that_cannot_be_read_is_503_and_not_ready(
    service: Served, lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise WorkspaceError(PRIVATE, detail=PRIVATE)

    key = service.alice
    monkeypatch.setattr(Custody, "logs", unreadable)
    monkeypatch.setattr(LocalSession, "logs", unreadable)
    for path in ("/ready", "/logs"):
        reply = ask(service.analyst, "GET", path, key)
        assert_shape(reply.json(), 503)
        assert PRIVATE not in reply.text
    assert PRIVATE not in lines.getvalue()


DEEP = "[" * 100_000
WRONG_BODIES = [
    (b"{", 422, "invalid-request"),
    (b"\xff", 400, "malformed"),
    (DEEP.encode(), 400, "malformed"),
    (b'{"definitions": 1' + b"0" * 5_000 + b"}", 400, "malformed"),
    (b"[]", 422, "invalid-request"),
    (b"null", 422, "invalid-request"),
    (b"", 422, "invalid-request"),
    (b'{"definitions": "x", "epsilon": 0.1}', 422, "invalid-request"),
    (b'{"definitions": "x", "epsilon": "1e400"}', 422, "invalid-request"),
    (b'{"definitions": "x", "epsilon": "NaN"}', 422, "invalid-request"),
    (b'{"definitions": "x", "other": 1}', 422, "invalid-request"),
    (b'{"definitions": ""}', 422, "invalid-request"),
    (b'{"definitions": "\\ud800"}', 422, "invalid-request"),
    (b'{"definitions": "x", "notation": "pickle"}', 422, "invalid-request"),
    (b'{"definitions": "log: small\\nppis: []", "epsilon": "9999999"}', 422, "definition"),
]


@pytest.mark.parametrize(("body", "status", "code"), WRONG_BODIES)
def test_a_body_that_makes_no_sense_is_refused_in_the_same_shape(
    service: Served, body: bytes, status: int, code: str
) -> None:
    headers = {"content-type": "application/json"}
    key = service.alice
    reply = ask(service.analyst, "POST", "/release", key, content=body, headers=headers)
    assert_shape(reply.json(), status)
    assert reply.json()["code"] == code


def test_addresses_and_methods_that_do_not_exist_have_the_shape_too(service: Served) -> None:
    key = service.alice
    assert_shape(ask(service.analyst, "GET", "/nothing", key).json(), 404)
    reply = ask(service.analyst, "PATCH", "/logs", key)
    assert_shape(reply.json(), 405)
    assert reply.headers["allow"] == "GET"


def test_a_missing_key_says_how_to_send_one(service: Served) -> None:
    reply = ask(service.analyst, "GET", "/logs")
    assert_shape(reply.json(), 401)
    assert reply.headers["www-authenticate"] == "Bearer"


def test_the_openapi_documents_describe_failures_as_problems(service: Served) -> None:
    for app in (service.analyst, service.owner):
        for path, item in app.openapi()["paths"].items():
            for operation in item.values():
                failures = {s: r for s, r in operation["responses"].items() if s >= "400"}
                assert all(
                    list(r["content"]) == ["application/problem+json"] for r in failures.values()
                )
                assert path in ("/health", "/ready") or {"401", "403", "429"} <= failures.keys()


def test_a_fault_is_the_same_record_as_its_response() -> None:
    fault = Fault("busy", "words")
    assert json.loads(bytes(fault.response().body)) == fault.record()
