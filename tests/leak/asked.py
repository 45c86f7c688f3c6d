"""What an analyst can ask over HTTP: every kind of question, sound and unsound.

All of it is about the log `small`, whose public names are those of `tests.small_logs.claims`
and the attributes `customer` and `channel`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.lengths import LONG

JSON_TYPE = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of an analyst."""

    method: str
    path: str
    body: Any = None
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def call(self) -> dict[str, Any]:
        """As keyword arguments of httpx."""
        if self.raw is not None:
            return {"content": self.raw, "headers": {**JSON_TYPE, **self.headers}}
        found: dict[str, Any] = {"headers": self.headers}
        return found if self.body is None else {**found, "json": self.body}


FORMULA = "formula"
"""PPIs with this id are formulas: the noise may leave them without a value."""

_A = 'condition: activity == "Receive"'
_REJECTED = 'count: activity == "Reject"'
_N = f"n: {{sum: {{{_A}}}}}"
_RECEIVED, _PAID = "{activity: Receive}", "{activity: Pay}"
_WHOLE = "from: case start, to: case end"
_STAY = "time: {from: case start, to: case end}, unit: days"
_RATIO = (
    f"{{derive: r / n, r: {{sum: {{{_REJECTED}}}, bounds: [0, 1]}}, "
    f"n: {{sum: {{{_A}}}, bounds: [0, 1]}}}}"
)
_DAYS = "bounds: [0 days, 10 days]"
_MONEY = "bounds: [0, 1000]"
_BY = "by: {data: channel, values: [web, phone, letter]}"

MEASURES: dict[str, tuple[str, ...]] = {
    "mean time": (f"measure: {{mean: {{{_STAY}}}}}", _DAYS),
    "sum of counts": (f"measure: {{sum: {{{_REJECTED}}}}}", "bounds: [0, 3]"),
    "number of cases": ("measure: {number: cases}",),
    "number with a value": ("measure: {number: {data: damage}}",),
    "mean of data": ("measure: {mean: {data: damage}}", _MONEY),
    "sum of data": ("measure: {sum: {data: damage}}", _MONEY),
    "min": ("measure: {min: {data: damage}}", _MONEY),
    "max": ("measure: {max: {data: damage}}", _MONEY),
    "median": (f"measure: {{median: {{{_STAY}}}}}", _DAYS),
    "percentile": (f"measure: {{percentile: {{{_STAY}}}, percent: 90}}", _DAYS),
    "share": (f'measure: {{share: {{condition: {{activity: Reject}}}}, among: {{{_A}}}}}',),
    "share of nothing": ("measure: {share: {derive: d > 10000, d: {data: damage}}}",),
    "filtered by nothing": (
        "measure: {mean: {data: damage}, where: {derive: c == \"none\", c: {data: channel}}}",
        _MONEY,
    ),
    "groups": (f"measure: {{share: {{condition: {{activity: Reject}}}}, {_BY}}}",),
    "groups of data": (f"measure: {{mean: {{data: damage}}, {_BY}}}", _MONEY),
    "persons": (
        'measure: {mean: {data: damage}, by: {data: customer, values: ["k1", "k2", "collector"]}}',
        _MONEY,
    ),
    "cycles": (
        'measure: {mean: {time: {from: {activity: Receive}, to: {activity: Pay}, cycles: sum}}}',
        "bounds: [0 h, 100 h]",
    ),
    "sequence": (
        f"measure: {{sum: {{count: {{sequence: [{_RECEIVED}, {_PAID}], order: leads to}}}}}}",
        "bounds: [0, 2]",
    ),
    "state": ("measure: {share: {state: {is: activity == \"Pay\"}}}",),
    "working hours": (
        f"measure: {{mean: {{time: {{{_WHOLE}, calendar: Mon-Fri 09:00-17:00}}}}}}",
        "bounds: [0 h, 80 h]",
    ),
    "formula of a case": (
        "measure: {mean: {derive: 100 / d, d: {data: damage}}}",
        "bounds: [0, 10]",
    ),
    "loose": ("measure: {max: {data: damage}}", "bounds: [0, 100000, loose]"),
    "private clipping bound": (
        "measure: {mean: {data: damage}}", "bounds: [0, 100000, loose]",
        "release: {mechanism: private clipping bound}",
    ),
    "buckets": (
        "measure: {mean: {data: damage}}", _MONEY,
        "release: {mechanism: sample-and-aggregate, buckets: 5}",
    ),
    "aimed": (f"measure: {{mean: {{{_STAY}}}}}", _DAYS, "target: below 4 days",
              "release: {mechanism: threshold}"),
    "verdict alone": (f"measure: {{mean: {{{_STAY}}}}}", _DAYS, "target: below 4 days",
                      "release: {answer: verdict}"),
    "bands": (f"measure: {{mean: {{{_STAY}}}}}", _DAYS,
              "target: {green: below 3 days, amber: below 5 days}"),
    "targets of groups": (f"measure: {{mean: {{data: damage}}, {_BY}}}", _MONEY,
                          "target: {groups: {web: below 200}, otherwise: below 300}"),
}  # fmt: skip

FORMULAS: dict[str, tuple[str, ...]] = {
    "ratio": (f"measure: {_RATIO}",),
    "ratio with a target": (f"measure: {_RATIO}", "target: below 0.3"),
    "hexagon": (f"measure: {_RATIO}", "release: {mechanism: hexagon}"),
    "ratio in a range": (f"measure: {_RATIO}", "bounds: {value: [0, 1]}"),
    "part of a whole": (
        f"measure: {{derive: 100 * r / n, r: {{sum: {{{_REJECTED}}}, within: n}}, {_N}}}",
        "bounds: {r: [0, 1], n: [0, 1]}", "target: below 30",
    ),
    "difference": (
        "measure: {derive: a - b, a: {mean: {data: damage}}, b: {median: {data: damage}}}",
        "bounds: {a: [0, 1000], b: [0, 1000]}",
    ),
    "formula over buckets": (
        f"measure: {_RATIO}", "bounds: {value: [0, 1]}",
        "release: {mechanism: sample-and-aggregate, buckets: 4}",
    ),
}  # fmt: skip

SCOPES = (
    "every week",
    "every quarter",
    "every 2 months",
    "whole time",
    "between 2024-02-01 and 2024-02-29",
    "between 2024-05-01 and 2024-05-31",
    "between 2023-01-01 and 2023-12-31",
    "last 2 months",
    "every month in the last 3 months",
    "last 5 cases",
    "last 500 cases",
    "{every: month, anchor: {first: {activity: Receive}}}",
    "{every: month, anchor: {activity: Reject}}",
    "{every: month, finished: {activity: Pay}}",
    "{every: month, ongoing: {activity: Pay}}",
    "{every: quarter, started: after 2024-02-15, ended: before 2024-03-10}",
    "{every: month, cases: {derive: d > 1000000, d: {data: damage}}}",
    "{every: month, not: {finished: {activity: Receive}}}",
)

UNSOUND: dict[str, tuple[str, ...]] = {
    "no bounds": ("measure: {mean: {data: damage}}",),
    "unknown attribute": ("measure: {mean: {data: dammage}}", _MONEY),
    "unknown activity": ('measure: {sum: {count: activity == "Refuse"}}', "bounds: [0, 1]"),
    "no number": ("measure: {mean: {data: channel}}", _MONEY),
    "target out of bounds": (f"measure: {{mean: {{{_STAY}}}}}", _DAYS, "target: below 40 days"),
    "verdict without target": (f"measure: {{mean: {{{_STAY}}}}}", _DAYS,
                               "release: {answer: verdict}"),
    "wrong mechanism": (f"measure: {{median: {{{_STAY}}}}}", _DAYS,
                        "release: {mechanism: two-bin}"),
    "too many answers": ("measure: {number: cases}", "scope: every day",
                         "epsilon: 0.001"),
    "empty bounds": ("measure: {mean: {data: damage}}", "bounds: [5, 5]"),
    "no such day": ("measure: {number: cases}", "scope: between 2024-02-30 and 2024-03-01"),
    "no such calendar": (
        "measure: {mean: {time: {from: case start, to: case end, calendar: nowhere}}}",
        "bounds: [0 h, 80 h]",
    ),
    "injected": ('measure: {sum: {count: \'`damage"; DROP TABLE events; --` > 1\'}}',
                 "bounds: [0, 1]"),
}  # fmt: skip


def definitions(lines: tuple[str, ...], ppi: str = "p", log: str = "small") -> str:
    return f"log: {log}\nppis:\n  - id: {ppi}\n" + "".join(f"    {line}\n" for line in lines)


def asks(path: str, text: str, **more: str) -> Asked:
    return Asked("POST", path, {"definitions": text, **more})


def sound_questions() -> Iterator[str]:
    """Every measure, formula and scope; in `make test` each scope of one of two measures."""
    for lines in MEASURES.values():
        yield definitions(lines)
    for lines in FORMULAS.values():
        yield definitions(lines, FORMULA)
    scoped = (MEASURES["mean time"], MEASURES["groups"])
    for number, scope in enumerate(SCOPES):
        for lines in scoped if LONG else scoped[number % 2 :][:1]:
            yield definitions((*lines, f"scope: {scope}"))


def everything() -> Iterator[Asked]:
    """All of it, in an order in which the budget is used up at the end."""
    yield from _reads()
    for number, text in enumerate(sound_questions()):
        yield asks("/release", text, epsilon="0.1")
        yield asks(("/check", "/preview")[number % 2], text)
        if number % 5 == 0:
            yield asks("/release", text, epsilon="0.1")
            yield asks("/rehearse", text, epsilon="0.1")
    for lines in UNSOUND.values():
        for path in ("/check", "/preview", "/rehearse", "/release"):
            yield asks(path, definitions(lines))
    yield from _malformed()
    yield from _standing()
    yield from _sets()
    yield from BEYOND
    yield from _reads()
    yield from _told_again()


def _told_again() -> Iterator[Asked]:
    """What is on record, smoothed, and what it and the rest would cost."""
    for number, text in enumerate(sound_questions()):
        if number % 4 == 0:
            yield Asked("POST", "/replay", {"definitions": text, "smooth": True})
            yield from (asks(path, text) for path in ("/price", "/forecast", "/saved"))
    yield from (Asked("GET", f"/saved{which}") for which in ("", "?log=small", "?log=hidden"))


def _reads() -> Iterator[Asked]:
    for path in (
        *("/logs", "/logs/small", "/logs/small/budget", "/logs/small/releases", "/subscriptions"),
        *("/logs/small/releases?limit=7", "/logs/small/releases?after=12&limit=5"),
        *("/logs/hidden", "/logs/hidden/budget", "/logs/none", "/logs/none/releases"),
        *("/health", "/ready", "/nothing", "/logs/small/releases?after=-1", "/logs/a b"),
    ):
        yield Asked("GET", path)


def _sets() -> Iterator[Asked]:
    """Several PPIs under one total: all of them, some of them, and some that come later."""
    for names in (("mean time", "share"), ("share",), ("mean time", "share", "groups")):
        ppis = [
            definitions(MEASURES[name], f"m{n}").partition("ppis:\n")[2]
            for n, name in enumerate(names)
        ]
        text = "log: small\nppis:\n" + "".join(ppis)
        for path in ("/preview", "/rehearse", "/release", "/replay"):
            yield asks(path, text, total="0.1")


BOTH = {"definitions": definitions(MEASURES["mean time"]), "epsilon": "0.1", "total": "1"}


def _malformed() -> Iterator[Asked]:
    mean = definitions(MEASURES["mean time"])
    bodies: tuple[object, ...] = (
        *({}, [], 7, None, {"definitions": 7}, {"definitions": ""}, {"definitions": "a: ["}),
        *({"definitions": mean, "epsilon": each} for each in (0.1, "-1", "0", "1e9", "0.0000001")),
        {"definitions": mean, "epsilon": "0.1", "unknown": 1},
        {"definitions": mean, "notation": "prolog"},
        {"definitions": mean, "notation": "bpmn"},
        {"definitions": mean, "log": "hidden"},
        {"definitions": mean.replace("log: small", "log: hidden")},
        {"definitions": mean.replace("log: small", "log: none")},
        {"definitions": mean.replace("log: small\n", ""), "log": "small"},
        {"definitions": mean, "accuracy": "1 day"},
        {"definitions": mean, "accuracy": "1 day", "epsilon": "0.1"},
        {"definitions": mean, "accuracy": "soon"},
        {"definitions": mean, "accuracy": "1 us"},
        BOTH,
    )
    for body in bodies:
        for path in ("/preview", "/release"):
            yield Asked("POST", path, raw=json.dumps(body).encode())
    for raw in (b"", b"{", b"\xff\xfe", b"[" * 5_000, b'{"definitions": "\\ud800"}'):
        yield Asked("POST", "/release", raw=raw)
    yield Asked("POST", "/release", raw=b"x", headers={"Content-Type": "text/plain"})
    yield Asked("GET", "/release")
    yield Asked("DELETE", "/logs/small")
    yield Asked("GET", "/logs", headers={"Authorization": "Bearer pappi_0_0"})
    yield Asked("GET", "/logs", headers={"Authorization": "nonsense"})


def _standing() -> Iterator[Asked]:
    text = definitions((*MEASURES["groups"], "scope: every month"))
    for until in ("2024-09-01", "2024-05-01", "2024-06-15", "yesterday"):
        yield asks("/subscriptions", text, until=until, epsilon="0.2")
    yield asks("/subscriptions", text)
    yield asks(
        "/subscriptions",
        definitions((*MEASURES["share"], "scope: last 5 cases")),
        until="2024-09-01",
    )
    yield Asked("GET", "/subscriptions")
    yield Asked("DELETE", "/subscriptions/none")
    yield Asked("GET", "/logs/small/budget")


def _beyond() -> Iterator[Asked]:
    """More than is left, of the analyst's own share and of the blocks."""
    for number, epsilon in enumerate(("20", "10", "1000", "20", "9", "5", "1", "0.5")):
        lines = (*MEASURES["mean time"][:1], f"bounds: [0 days, {20 + number} days]")
        yield asks("/preview", definitions(lines), epsilon=epsilon)
        yield asks("/release", definitions(lines), epsilon=epsilon)


BEYOND = tuple(_beyond())
