"""Logs and metrics say what happened to requests, and nothing of what was in them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from pappi.service.logs import LOGGER, JsonLines, write_logs
from pappi.service.metrics import Metrics, Seen
from tests.service.served import LOG, SOJOURN, Served, ask, served

PRIVATE = "Meyer-1964"


@pytest.fixture
def service(tmp_path: Path) -> Served:
    return served(tmp_path)


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLines())
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
        *("time", "level", "event"),
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
    metrics.count(Seen("analyst", "/release", "POST", 200, None, 0.2501))
    borders = [
        line.split('le="')[1].split('"')[0]
        for line in metrics.text().splitlines()
        if line.startswith("pappi_analyst_request_seconds_bucket")
    ]
    assert borders[:3] == ["0.25", "0.5", "1.0"]


def test_other_libraries_words_are_cut_to_their_template() -> None:
    written = io.StringIO()
    before = {name: list(logging.getLogger(name).handlers) for name in ("uvicorn", "pappi.service")}
    try:
        write_logs(written)
        logging.getLogger("uvicorn.error").warning("request of %s failed", PRIVATE)
        logging.getLogger("uvicorn.error").error("failed", exc_info=ValueError(PRIVATE))
    finally:
        for name, handlers in before.items():
            logging.getLogger(name).handlers = handlers
            logging.getLogger(name).propagate = True
    assert PRIVATE not in written.getvalue()
    assert len(written.getvalue().splitlines()) == 2
