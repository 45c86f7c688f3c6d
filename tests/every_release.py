"""Every shape a PPI can have, and every way to ask for its release: what planning must bear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from pappi.mechanisms import mechanism_names
from pappi.ppinot import Ppi, ReleaseChoice, parse_catalogue, reduced_form
from pappi.values import CASE, Adjacency, CaseBorder, Kind, PrivacyUnit, PublicLog, Vocabulary
from tests.public_logs import public_log

VOCABULARY = Vocabulary(
    ("A", "B", "C"),
    {"amount": Kind.NUMBER, "channel": Kind.TEXT, "person": Kind.TEXT},
    {"channel": ("web", "phone")},
)
PERSON = PrivacyUnit("person", 3)
SAMPLED = "sample-and-aggregate"

A, B, C = (f"{{count: activity == '{name}'}}" for name in "ABC")
TIME = "{time: {from: activity == 'A', to: activity == 'B'}}"
AMOUNT = "{data: amount}"
TRUTH = "{condition: activity == 'A'}"
GROUPED = "by: {data: channel, values: [web, phone]}"
FILTERED = "where: {condition: activity == 'B'}"
HOURS, FEW, SIGNED = "[0 h, 10 h]", "[0, 5]", "[-100, 10]"
LOOSE_HOURS, LOOSE = "[0 h, 1000 h, loose]", "[0, 1000, loose]"
MONTHLY, LATEST = "every month", "last 50 cases"
OF_SOME = "{every: month, cases: {condition: activity == 'C'}}"
ANCHORED = "{every: month, anchor: {first: activity == 'A'}}"


@dataclass(frozen=True)
class Shape:
    """A PPI without its release. `sets` are its admissible sets, by the names `noise` takes."""

    name: str
    keys: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...] = (("value",),)
    wrong: tuple[tuple[str, ...], ...] = (("a",),)

    def text(self, release: str = "") -> str:
        keys = (*self.keys, *([f"release: {release}"] if release else []))
        return "log: l\nppis:\n  - id: r\n" + "".join(f"    {key}\n" for key in keys)

    def ppi(self, release: str = "") -> Ppi:
        return replace(_read(self.text()), release=_choice(release))


@cache
def _read(text: str) -> Ppi:
    (found,) = parse_catalogue(text, "shapes.yaml").ppis
    return reduced_form(found, CaseBorder.END)


@cache
def _choice(release: str) -> ReleaseChoice:
    """Read once, whatever PPI it stands in."""
    return _read(Shape("", ("measure: {number: cases}",)).text(release)).release


def _single() -> Iterator[Shape]:
    for function in ("mean", "min", "max", "median"):
        for base, name, bounds, loose in (
            (TIME, "time", HOURS, LOOSE_HOURS),
            (A, "count", FEW, LOOSE),
            (AMOUNT, "amount", SIGNED, "[0, 1000, loose]"),
        ):
            measure = f"measure: {{{function}: {base}}}"
            for kind, written in (("", bounds), ("loose ", loose), ("private ", "private")):
                yield Shape(f"{kind}{function} of {name}", (measure, f"bounds: {written}"))
    yield Shape("percentile", (f"measure: {{percentile: {TIME}, percent: 90}}", f"bounds: {HOURS}"))
    yield Shape("distribution", (f"measure: {{distribution: {TIME}}}", f"bounds: {HOURS}"))
    named = f"measure: {{distribution: {AMOUNT}, limits: [-50, 0, 5], {GROUPED}}}"
    yield Shape("grouped distribution", (named, f"bounds: {SIGNED}"))
    yield Shape("share", (f"measure: {{share: {TRUTH}}}",))
    yield Shape("number of cases", ("measure: {number: cases}",))
    yield Shape("number with a value", (f"measure: {{number: {TIME}}}",))
    for name, base, written in (
        ("count", A, FEW),
        ("amounts", AMOUNT, SIGNED),
        ("loose count", A, LOOSE),
        ("private count", A, "private"),
        ("private amounts", AMOUNT, "private"),
    ):
        yield Shape(f"sum of {name}", (f"measure: {{sum: {base}}}", f"bounds: {written}"))
    ranged = (f"measure: {{sum: {A}, bounds: {FEW}}}", "bounds: {value: [0, 500]}")
    yield Shape("sum within a range", ranged)
    for name, more in (("filtered", FILTERED), ("grouped", GROUPED)):
        for function in ("mean", "sum", "max", "median"):
            keys = (f"measure: {{{function}: {A}, {more}}}", f"bounds: {FEW}")
            yield Shape(f"{name} {function}", keys)
        yield Shape(f"{name} share", (f"measure: {{share: {TRUTH}, {more}}}",))


_BOTH = (("value",), ("a", "b"))
_HALF = (("a",), ("a", "b", "value"), ("a", "c"))


def _formula(name: str, formula: str, bounds: str, variables: str) -> Shape:
    measure = f"measure: {{derive: '{formula}', {variables}}}"
    return Shape(name, (measure, f"bounds: {{{bounds}}}"), _BOTH, _HALF)


def _formulas() -> Iterator[Shape]:
    sums = f"a: {{sum: {A}}}, b: {{sum: {B}}}"
    known = f"a: {FEW}, b: [0, 2]"
    yield _formula("ratio of sums", "a / b", f"{known}, value: [0, 9]", sums)
    yield _formula("percentage of sums", "100 * a / b", known, sums)
    yield _formula("difference of sums", "a - b", known, sums)
    yield _formula("difference in a range", "a - b", f"{known}, value: [-99, 99]", sums)
    yield _formula("loose sums", "a - b", f"a: {LOOSE}, b: [0, 2]", sums)
    yield _formula("private sums", "a / b", "a: private, b: private, value: [0, 9]", sums)
    part = f"a: {{sum: {A}, within: b}}, b: {{sum: {B}}}"
    whole = _formula("part of a whole", "a / b", known, part)
    yield Shape(whole.name, whole.keys, (("value",),), (("a", "b"), ("a",)))
    counts = f"a: {{number: {TIME}}}, b: {{number: cases}}"
    yield _formula("ratio of counts", "a / b", "value: [0, 1]", counts)
    means = f"a: {{mean: {A}}}, b: {{mean: {B}}}"
    yield _formula("ratio of means", "a / b", f"{known}, value: [0, 9]", means)
    medians = f"a: {{median: {TIME}}}, b: {{median: {TIME}}}"
    hours = f"a: {HOURS}, b: {HOURS}"
    yield _formula("ratio of medians", "a / b", f"{hours}, value: [0, 3]", medians)
    yield _formula("range", "a - b", hours, f"a: {{max: {TIME}}}, b: {{min: {TIME}}}")
    yield _formula("sum by maximum", "a / b", known, f"a: {{sum: {A}}}, b: {{max: {B}}}")
    mixed = f"a: {{sum: {A}}}, b: {{mean: {B}}}"
    yield _formula("sum by mean", "a / b", f"{known}, value: [0, 99]", mixed)
    for name, more in (("filtered", FILTERED), ("grouped", GROUPED)):
        own = f"a: {{sum: {A}, {more}}}, b: {{sum: {B}, {more}}}"
        yield _formula(f"{name} ratio", "a / b", f"{known}, value: [0, 9]", own)
        own = f"a: {{mean: {A}, {more}}}, b: {{sum: {B}, {more}}}"
        yield _formula(f"{name} difference", "a - b", known, own)
    same = f"r: {{sum: {A}}}, b: {{sum: {B}}}"
    named = _formula("variable of the PPI's name", "r / b", f"r: {FEW}, b: [0, 2]", same)
    yield Shape(named.name, named.keys, (("value",), ("r", "b")), (("b",), ("r",)))
    inner = f"x: {{derive: a / b, {sums}}}, c: {{mean: {C}}}"
    yield Shape(
        "nested",
        (
            f"measure: {{derive: x * c, {inner}}}",
            f"bounds: {{x.a: {FEW}, x.b: [0, 2], c: {FEW}, value: [0, 99]}}",
        ),
        (("value",), ("x", "c"), ("x.a", "x.b", "c")),
        (("x",), ("x.a", "c"), ("x", "x.a", "c"), ("a", "b", "c")),
    )
    deep = f"x: {{derive: y + 1, y: {{derive: a / b, {part}}}}}, c: {{median: {C}}}"
    yield Shape(
        "nested part",
        (
            f"measure: {{derive: x - c, {deep}}}",
            f"bounds: {{x.y.a: {FEW}, x.y.b: [0, 2], c: {FEW}}}",
        ),
        (("value",), ("x", "c"), ("x.y", "c")),
        (("x.y.a", "x.y.b", "c"), ("c",)),
    )


def _limit(shape: Shape) -> str:
    if "time" in shape.name:
        return "below 4 h"
    limits = {"share": "below 0.5 %", "part of a whole": "below 0.5"}
    return limits.get(shape.name, "below 2")


AIMED = (
    *("mean of time", "mean of count", "max of time", "median of time", "share", "sum of count"),
    *("ratio of sums", "part of a whole", "difference of sums", "grouped mean", "ratio of medians"),
    *("loose mean of count", "private sums", "filtered sum"),
)
SCOPED = (
    *("mean of count", "mean of time", "sum of count", "max of count", "share"),
    *("ratio of sums", "part of a whole", "difference of sums", "sum by mean", "nested"),
)


@cache
def shapes() -> tuple[Shape, ...]:
    plain = {shape.name: shape for shape in (*_single(), *_formulas())}
    aimed = [
        replace(
            plain[name],
            name=f"{name}, with a target",
            keys=(*plain[name].keys, f"target: {_limit(plain[name])}"),
        )
        for name in AIMED
    ]
    scoped = [
        replace(plain[name], name=f"{name}, {scope}", keys=(*plain[name].keys, f"scope: {scope}"))
        for name in SCOPED
        for scope in (LATEST, OF_SOME, ANCHORED)
    ]
    return (*plain.values(), *aimed, *scoped)


SETTINGS = (("add-remove", CASE), ("replace", CASE), ("add-remove", PERSON))


def facts(adjacency: str, unit: PrivacyUnit, cases: int = 100) -> PublicLog:
    return public_log(VOCABULARY, cases, Adjacency(adjacency), unit)


def plain_releases(shape: Shape) -> Iterator[str]:
    """The ways to ask for a release before a function could have a mechanism of its own."""
    yield ""
    sets = [f"noise: [{', '.join(names)}]" for names in (*shape.sets, *shape.wrong)]
    for mechanism in (None, *mechanism_names()):
        named = [f"mechanism: {mechanism}"] if mechanism else []
        for noise in ([], *([each] for each in sets)):
            if named or noise:
                yield f"{{{', '.join((*named, *noise))}}}"
    yield "{answer: verdict}"
    yield "{answer: verdict, mechanism: laplace}"
    yield "{answer: verdict, noise: value}"
    yield f"{{answer: verdict, noise: [{', '.join(shape.sets[-1])}]}}"
    yield "{falloff: 2}"
    yield "{mechanism: threshold, falloff: 2}"
    yield "{buckets: 5}"
    yield "{mechanism: sample-and-aggregate, buckets: 5}"


def own_releases(shape: Shape) -> Iterator[str]:
    """The ways to ask for a mechanism and a share of epsilon for each function."""
    for names in (*shape.sets, *shape.wrong):
        for first in (*mechanism_names(), None):
            for others in (first, None):
                wishes = [first, *([others] * (len(names) - 1))]
                for shares in _some_shares(len(names)):
                    yield f"{{noise: {_mapping(names, wishes, shares)}}}"
    names = shape.sets[-1]
    many = len(names)
    for mechanisms in product(("laplace", "interval", "two-bin"), repeat=min(many, 2)):
        wishes = [*mechanisms, *([None] * (many - 2))]
        yield f"{{noise: {_mapping(names, wishes, [0.3, 0.6, None][:many])}}}"
    nothing: list[None] = [None] * many
    yield f"{{mechanism: interval, noise: {_mapping(names, ['laplace', *nothing[1:]], nothing)}}}"
    yield f"{{mechanism: laplace, noise: {_mapping(names, nothing, [0.25, *nothing[1:]])}}}"
    yield f"{{answer: verdict, noise: {_mapping(names, nothing, [0.25, *nothing[1:]])}}}"
    yield f"{{noise: {_mapping(names, nothing, [0.9] * many)}}}"
    yield f"{{noise: {_mapping(names, nothing, [1, *nothing[1:]])}}}"
    yield f"{{noise: {_mapping(names, [SAMPLED, *nothing[1:]], nothing)}, buckets: 5}}"
    yield f"{{noise: {_mapping(names, ['threshold', *nothing[1:]], nothing)}, falloff: 2}}"
    shown = [f"r.{name}" if name != "value" else "r" for name in names]
    if "r" not in names:
        yield f"{{noise: [{', '.join(shown)}]}}"
        yield f"{{noise: [{', '.join([*shown, names[0]])}]}}"


def _some_shares(many: int) -> Iterator[list[float | None]]:
    yield [None] * many
    yield [0.3, *([None] * (many - 1))]
    if many > 1:
        yield [0.3, *([round(0.7 / (many - 1), 3)] * (many - 1))]


def _mapping(
    names: Sequence[str], mechanisms: Sequence[str | None], shares: Sequence[float | None]
) -> str:
    entries = []
    for name, mechanism, share in zip(names, mechanisms, shares, strict=True):
        wishes = [f"mechanism: {mechanism}"] if mechanism else []
        wishes += [f"share: {share}"] if share else []
        entries.append(f"{name}: {{{', '.join(wishes)}}}")
    return f"{{{', '.join(entries)}}}"
