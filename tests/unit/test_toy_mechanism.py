"""A new mechanism is one module and one line: nothing else has to know it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import pappi
from pappi import mechanisms
from pappi.audit import Column, audit_joint, steered_by, subjects_named
from pappi.checkpoint.audits import audit_plan
from pappi.custody import NewLog
from pappi.errors import NotReleasable
from pappi.mechanisms import (
    Mechanism,
    mechanism_for,
    mechanism_names,
    mechanisms_of,
    registry,
)
from pappi.planning import Plan, plan_error_law, plan_options, plan_ppi
from pappi.ppinot import (
    WRITTEN,
    Catalogue,
    Ppi,
    ReleaseChoice,
    check_catalogue,
    parse_catalogue,
    parse_definitions,
    write_definitions,
)
from pappi.values import (
    UNIT_INTERVAL,
    Adjacency,
    Bounds,
    Epsilon,
    PublicLog,
    Terms,
    Vocabulary,
)
from tests.public_logs import public_log
from tests.small_logs import claims, workspace_with
from tests.unit.toy_mean import ToyMean

HALF = Epsilon.of("0.5")
MEAN = """
log: small
ppis:
  - id: sojourn
    measure: {mean: {time: {from: case start, to: case end}, unit: days}}
    bounds: [0 days, 10 days]
    target: below 4 days
"""
FORMULA = """
log: small
ppis:
  - id: gap
    measure: {derive: a - b, a: {mean: {data: x}}, b: {mean: {data: y}}}
    bounds: {a: [0, 10], b: [0, 10]}
"""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "REGISTERED", (*registry.REGISTERED, ToyMean))


def by_toy(text: str) -> Ppi:
    (ppi,) = parse_catalogue(text + "    release: {mechanism: toy}\n").ppis
    return ppi


def facts(adjacency: Adjacency = Adjacency.ADD_REMOVE) -> PublicLog:
    return public_log(Vocabulary(()), adjacency=adjacency)


def planned(adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Plan:
    return plan_ppi(by_toy(MEAN), HALF, facts(adjacency))


def test_it_is_known_by_name() -> None:
    assert mechanisms_of("mean") == ("two-bin", "interval", "toy")
    hours = Bounds(Fraction(0), Fraction(24))
    args = (hours, Fraction(1), Adjacency.ADD_REMOVE)
    assert isinstance(mechanism_for("mean", *args, integral=False, name="toy"), ToyMean)


def test_without_the_line_nobody_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(NotReleasable, match="'toy' cannot release its mean"):
        planned()


@pytest.mark.parametrize("notation", WRITTEN)
def test_every_notation_may_name_it(notation: str) -> None:
    text = write_definitions(Catalogue("small", (by_toy(MEAN),)), notation)
    catalogue = parse_definitions(text, notation, "file").catalogue
    assert catalogue.ppis[0].release == ReleaseChoice(mechanism="toy")
    assert check_catalogue(catalogue, None, mechanism_names()) == []


@pytest.mark.parametrize("notation", WRITTEN)
def test_without_the_line_every_notation_is_told_so(
    notation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = write_definitions(Catalogue("small", (by_toy(MEAN),)), notation)
    monkeypatch.undo()
    catalogue = parse_definitions(text, notation, "file").catalogue
    (problem,) = check_catalogue(catalogue, None, mechanism_names())
    assert problem.message == "there is no mechanism 'toy'"


def test_it_is_planned_where_a_ppi_names_it_and_compared_where_none_is_named() -> None:
    assert planned().mechanism == "toy"
    (ppi,) = parse_catalogue(MEAN).ppis
    options = {o.plan.mechanism: o.plan for o in plan_options(ppi, HALF, facts()) if o.plan}
    assert options["toy"].predicted_error > options["two-bin"].predicted_error
    assert plan_ppi(ppi, HALF, facts()).mechanism == "two-bin"


def test_it_shares_epsilon_with_others_in_a_formula() -> None:
    plan = plan_ppi(by_toy(FORMULA), HALF, facts())
    assert plan.mechanism == "toy"
    assert sum(part.mechanism.epsilon for part in plan.measurements) == HALF.fraction
    law = plan_error_law(plan)
    assert law is not None
    assert law.assumes
    assert 0 < law.within(0.5) < law.within(0.95)


@pytest.mark.outside
def test_it_is_previewed_drawn_and_given_an_interval(tmp_path: Path) -> None:
    workspace = workspace_with(
        tmp_path / "w", claims(90), NewLog(terms=Terms(block_budget=Epsilon.of(9)))
    )
    analyst, catalogue = workspace.checkpoint(), Catalogue("small", (by_toy(MEAN),))
    (quote,) = analyst.preview(catalogue, Epsilon.of(4))
    assert quote.mechanism == "toy"
    assert quote.typical_error is not None
    assert {option.mechanism for option in quote.options} >= {"toy", "two-bin"}
    (series,) = analyst.release(catalogue, Epsilon.of(4))
    for answer in series.answers:
        assert answer.guarantee.mechanism == "toy"
        assert answer.value is not None
        assert answer.interval.low is not None
        assert answer.interval.high is not None
        assert answer.interval.low <= answer.value <= answer.interval.high
        assert answer.verdict is not None
    (again,) = analyst.release(catalogue, Epsilon.of(4))
    assert [a.value for a in again.answers] == [a.value for a in series.answers]
    assert all(answer.replayed for answer in again.answers)


def test_its_interval_covers_the_mean_as_often_as_it_says() -> None:
    mechanism = ToyMean(UNIT_INTERVAL, Fraction(1), Adjacency.ADD_REMOVE, False)  # noqa: FBT003
    values = np.linspace(0, 1, 50)
    intervals = [mechanism.interval(mechanism.release(values), 0.9) for _ in range(300)]
    assert sum(low <= 0.5 <= high for low, high in intervals) >= 250


# --- audited like all others -------------------------------------------------------------


@pytest.mark.parametrize("adjacency", Adjacency)
def test_it_is_audited(adjacency: Adjacency) -> None:
    report = audit_plan(planned(adjacency), adjacency, pairs=500)
    assert report.passed, report.failure


def test_it_is_audited_by_name() -> None:
    subjects = subjects_named(ToyMean.name)
    assert {subject.function for subject in subjects} == {"mean", "share"}
    assert {type(each) for subject in subjects for each in subject.mechanisms} == {ToyMean}


def test_it_is_audited_by_itself() -> None:
    bounds, epsilon = Bounds(Fraction(-5), Fraction(5)), Fraction(1, 3)
    mechanism = ToyMean(bounds, epsilon, Adjacency.REPLACE, True)  # noqa: FBT003
    report = audit_joint(
        (mechanism,),
        (Column(bounds),),
        adjacency=Adjacency.REPLACE,
        epsilon=epsilon,
        draw=steered_by(1),
        pairs=500,
    )
    assert report.passed, report.failure
    assert report.worst > epsilon / 2


def test_a_toy_with_the_sensitivity_of_its_sum_alone_is_caught() -> None:
    class Careless(ToyMean):
        @property
        def sensitivity(self) -> int:
            return self.lattice.span

    (part,) = planned().measurements
    mechanism = part.mechanism
    args = (mechanism.bounds, mechanism.epsilon, mechanism.adjacency, mechanism.integral)
    fault = replace(planned(), measurements=(replace(part, mechanism=Careless(*args)),))
    assert not audit_plan(fault, Adjacency.ADD_REMOVE, pairs=500).passed


# --- nobody knows a mechanism by its class or name ---------------------------------------

SOURCE = Path(inspect.getfile(pappi)).parent


def concrete_classes() -> set[str]:
    """Every mechanism class there is, registered or not, but for those that are extended."""
    return {
        name
        for name, found in vars(mechanisms).items()
        if inspect.isclass(found) and issubclass(found, Mechanism) and not inspect.isabstract(found)
    }


def mechanism_modules() -> set[str]:
    return {found.__module__ for found in registry.REGISTERED if found is not ToyMean}


def known_mechanisms(source: str) -> Iterator[str]:
    """What a source knows of concrete mechanisms: their classes, and the modules they are in."""
    classes, modules = concrete_classes(), mechanism_modules()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=str(module), names=imported):
                yield from {module, *(f"{module}.{alias.name}" for alias in imported)} & modules
                yield from {alias.name for alias in imported} & classes
            case ast.Import(names=imported):
                yield from {alias.name for alias in imported} & modules
            case ast.Attribute(attr=attribute) if attribute in classes:
                yield attribute


def known_names(source: str) -> set[str]:
    """The names of mechanisms that a source spells out."""
    names = {mechanism.name for mechanism in registry.REGISTERED}
    constants = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return {str(constant.value) for constant in constants} & names


def sources(package: str) -> Iterator[tuple[Path, str]]:
    for path in sorted((SOURCE / package).rglob("*.py")):
        yield path, path.read_text(encoding="utf-8")


OTHERS = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())
OTHERS.remove("mechanisms")


@pytest.mark.parametrize("package", OTHERS)
def test_a_package_knows_no_class_of_a_mechanism(package: str) -> None:
    for path, source in sources(package):
        assert not list(known_mechanisms(source)), path


@pytest.mark.parametrize(
    ("package", "examples"),
    # Everyday sentences ask for a histogram, too.
    [("planning", set()), ("ppinot", {"two-bin", "histogram"})],
)
def test_a_package_knows_no_mechanism_by_name(package: str, examples: set[str]) -> None:
    for path, source in sources(package):
        assert known_names(source) <= examples, path


@pytest.mark.parametrize(
    "fault",
    [
        "from pappi.mechanisms import Mechanism, TwoBin",
        "from pappi.mechanisms.two_bin import drawn_in",
        "from pappi.mechanisms import hexagon",
        "import pappi.mechanisms.laplace",
        "from pappi import mechanisms\nmechanisms.SampleAndAggregate",
    ],
)
def test_a_module_that_knows_a_mechanism_is_caught(fault: str) -> None:
    assert list(known_mechanisms(fault))
    assert not list(known_mechanisms("from pappi.mechanisms import Mechanism, Task, registered"))


def test_a_table_by_the_names_of_mechanisms_is_caught() -> None:
    assert known_names("CAUTIONS = {'private clipping bound': 'larger values count less'}")
    assert not known_names("CAUTIONS = {}")


def test_every_mechanism_is_registered_and_says_what_it_answers() -> None:
    for mechanism in registry.REGISTERED:
        assert mechanism.functions, mechanism
    not_registered = concrete_classes() - {m.__name__ for m in registry.REGISTERED}
    assert not not_registered
