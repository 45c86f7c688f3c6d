"""Logs and metrics say what happened to requests, and nothing of what was in them."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pappi.checkpoint import LocalSession
from pappi.service.telemetry import (
    LOGGER,
    AnsweredRequest,
    JsonFormatter,
    Metrics,
    Paced,
    write_logs,
)
from tests.service.served import LOG, SOJOURN, Served, ask, served

PRIVATE = "Meyer-1964"


@pytest.fixture
def service(tmp_path: Path) -> Served:
    return served(tmp_path)


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    yield written
    LOGGER.removeHandler(handler)


def test_a_line_has_route_status_and_key_and_nothing_that_was_sent(
    service: Served, lines: io.StringIO
) -> None:
    alice, boss = service.alice, service.boss
    event = {"id": PRIVATE, "case": PRIVATE, "activity": PRIVATE, "time": "2024-05-02T10:00:00Z"}
    ask(service.analyst, "GET", f"/logs/{PRIVATE}?{PRIVATE}={PRIVATE}", alice)
    ask(service.analyst, "GET", f"/{PRIVATE}", alice)
    ask(service.analyst, "GET", "/logs", PRIVATE)
    ask(service.analyst, "POST", "/release", alice, {"definitions": SOJOURN})
    ask(service.analyst, PRIVATE, "/logs", alice)
    ask(service.owner, "POST", f"/logs/{LOG}/events", boss, [event, {PRIVATE: PRIVATE}])
    ask(service.owner, "POST", f"/logs/{LOG}/erase", boss, {"cases": [PRIVATE]})
    assert PRIVATE not in lines.getvalue()
    assert alice not in lines.getvalue()
    found = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [(line["route"], line["status"]) for line in found] == [
        ("/logs/{log}", 404),
        ("none", 404),
        ("none", 401),
        ("/release", 200),
        ("/logs", 405),
        ("/logs/{log}/events", 422),
        ("/logs/{log}/erase", 200),
    ]
    assert found[0]["key"] == alice.split("_")[1]
    assert set(found[0]) == {
        *("time", "level", "event", "request", "client"),
        *("application", "method", "route", "status", "key", "seconds"),
    }


def test_metrics_count_requests_of_both_applications_by_template(service: Served) -> None:
    alice, boss = service.alice, service.boss
    ask(service.analyst, "GET", f"/logs/{LOG}", alice)
    ask(service.analyst, "GET", f"/logs/{PRIVATE}", alice)
    ask(service.analyst, PRIVATE, "/logs", alice)
    ask(service.analyst, "POST", "/release", alice, {"definitions": SOJOURN})
    text = ask(service.owner, "GET", "/metrics", boss).text
    assert PRIVATE not in text
    assert 'route="/logs/{log}",status="200"} 1.0' in text
    assert 'method="other",route="/logs",status="405"} 1.0' in text
    assert ask(service.owner, "GET", "/metrics", boss).headers["content-type"].startswith("text/")


def test_metrics_do_not_depend_on_what_was_released(tmp_path: Path) -> None:
    """The same requests to two logs give the same counters, whatever the values are."""
    texts = []
    for name in ("one", "two"):
        service = served(tmp_path / name)
        ask(service.analyst, "POST", "/release", service.alice, {"definitions": SOJOURN})
        text = service.frame.metrics.text().splitlines()
        texts.append([line for line in text if line.startswith("pappi_requests_total")])
    assert texts[0] == texts[1]


def test_durations_of_analysts_requests_are_counted_in_steps_of_the_grid() -> None:
    metrics = Metrics(0.25)
    metrics.count(AnsweredRequest("analyst", "/release", "POST", 200, None, 0.2501))
    borders = [
        line.split('le="')[1].split('"')[0]
        for line in metrics.text().splitlines()
        if line.startswith("pappi_analyst_request_seconds_bucket")
    ]
    assert borders[:3] == ["0.25", "0.5", "1.0"]


@contextmanager
def written_logs() -> Iterator[io.StringIO]:
    """What the service's handler writes; afterwards every logger is as it was."""
    written = io.StringIO()
    loggers = [logging.getLogger(name) for name in (None, "pappi.service", "uvicorn", "asyncio")]
    before = [(each, each.handlers, each.level, each.propagate) for each in loggers]
    try:
        write_logs(written)
        yield written
    finally:
        for logger, handlers, level, propagate in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)


def test_other_libraries_words_are_cut_to_their_template() -> None:
    with written_logs() as written:
        logging.getLogger("uvicorn.error").warning("request of %s failed", PRIVATE)
        logging.getLogger("uvicorn.error").error("failed", exc_info=ValueError(PRIVATE))
        logging.getLogger("some.library").error(f"{PRIVATE} is wrong")  # noqa: G004 - as some do
    assert PRIVATE not in written.getvalue()
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["request of %s failed", "failed", "library"]
    assert lines[1]["error"] == "ValueError"
    assert lines[2]["logger"] == "some.library"


def said_without_descriptors(times: int) -> list[dict[str, Any]]:
    """What is written of asyncio's words when it cannot take a connection."""
    with written_logs() as written:
        loop = asyncio.new_event_loop()
        for _ in range(times):
            error = OSError(errno.EMFILE, "Too many open files")
            loop.call_exception_handler({"message": "socket.accept() failed", "exception": error})
        loop.close()
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_what_asyncio_says_without_descriptors_is_a_few_lines_with_the_cause() -> None:
    """Its tracebacks, thousands of them, once filled a disk."""
    lines = said_without_descriptors(2_000)
    assert 1 <= len(lines) <= 100
    assert {line["code"] for line in lines} == {"EMFILE"}


def test_without_a_pace_every_one_would_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Paced, "filter", lambda *_: True)
    assert len(said_without_descriptors(2_000)) == 2_000


def record_of(event: str, **fields: object) -> logging.LogRecord:
    record = logging.LogRecord("pappi.service", logging.INFO, "", 0, event, (), None)
    record.pappi = fields
    return record


def test_a_flood_of_one_sender_hides_neither_others_nor_failures() -> None:
    paced = Paced(clock=lambda: 0.0)
    flood = [paced.filter(record_of("request", key=None, client="10.0.0.1")) for _ in range(9_000)]
    assert sum(flood) == 1_200
    other = record_of("request", key="k1", client="10.0.0.2")
    assert paced.filter(other)
    assert json.loads(JsonFormatter().format(other))["kept_back"] == 9_000 - 1_200
    assert paced.filter(record_of("failure", error="ValueError"))
    assert paced.filter(record_of("request", key=None, client="10.0.0.3"))


def test_senders_without_a_key_cannot_flood_together() -> None:
    paced = Paced(clock=lambda: 0.0)
    senders = [
        record_of("request", key=None, client=f"10.0.{n // 250}.{n % 250}") for n in range(20_000)
    ]
    assert sum(map(paced.filter, senders)) == 6_000
    assert paced.filter(record_of("request", key="k1", client="10.0.0.2"))


def test_every_reply_has_the_id_of_its_line_and_is_kept_by_nobody(
    service: Served, lines: io.StringIO
) -> None:
    boss = service.boss
    replies = [
        ask(service.analyst, "GET", "/health"),
        ask(service.analyst, "GET", "/nowhere", service.alice),
        ask(service.analyst, "GET", "/logs"),
        ask(service.owner, "POST", "/keys", boss, {"role": "analyst", "name": "bob"}),
        ask(service.owner, "GET", "/sign-in"),
    ]
    assert [reply.status_code for reply in replies] == [200, 404, 401, 200, 200]
    for reply in replies:
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"
    found = [json.loads(line) for line in lines.getvalue().splitlines()]
    ids = [line["request"] for line in found]
    assert ids == [reply.headers["x-request-id"] for reply in replies]
    assert len(set(ids)) == len(ids)
    assert {line["client"] for line in found} == {"127.0.0.1"}


def test_a_failure_carries_the_id_of_its_request(
    service: Served, lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError(PRIVATE)

    monkeypatch.setattr(LocalSession, "log", fail)
    reply = ask(service.analyst, "GET", f"/logs/{LOG}", service.alice)
    assert reply.status_code == 500
    found = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [line["event"] for line in found] == ["failure", "request"]
    assert {line["request"] for line in found} == {reply.headers["x-request-id"]}
    assert {line["client"] for line in found} == {"127.0.0.1"}
    assert PRIVATE not in lines.getvalue()
