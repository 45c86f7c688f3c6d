"""From a PPI to its plan: of the request and the declarations, and of nothing else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pappi.errors import Refused, UsageError
from pappi.planning.accuracy import DEAREST, epsilon_for, plan_spread, wanted_accuracy
from pappi.planning.parts import PublicFacts
from pappi.planning.plan import Plan, plan_ppi
from pappi.ppinot.checks import require_sound
from pappi.ppinot.defaults import with_default_bounds
from pappi.ppinot.model import Catalogue, Ppi
from pappi.ppinot.reduced import reduced
from pappi.store.declarations import LogDeclaration
from pappi.store.register import Register
from pappi.values.epsilon import Epsilon

DEFAULT_EPSILON = Epsilon.of("0.1")
LEAST_EPSILON = Epsilon.of("0.001")
# Used to predict errors where the owner has declared no expected number of cases.
ASSUMED_CASES = 100


def checked_log(register: Register, among: Collection[str], catalogue: Catalogue) -> LogDeclaration:
    """The log a catalogue is about, if every word of the catalogue fits it."""
    log = register.log(catalogue.log, among)
    require_sound(catalogue, log.vocabulary)
    return log


def planned(ppi: Ppi, epsilon: Epsilon | None, log: LogDeclaration) -> Plan:
    return plan_ppi(_settled(ppi, log), _epsilon(ppi, epsilon), facts_of(log))


def facts_of(log: LogDeclaration) -> PublicFacts:
    cases = log.expected_cases or ASSUMED_CASES
    return PublicFacts(log.unit, log.adjacency, log.vocabulary, cases)


def at_accuracy(ppi: Ppi, accuracy: str, log: LogDeclaration) -> Ppi:
    """The PPI with the epsilon that its wanted accuracy costs."""
    ppi = _settled(ppi, log)
    wanted = wanted_accuracy(accuracy, ppi)
    if wanted is None:
        raise UsageError(
            f"'{accuracy}' is not an accuracy of a value in {ppi.unit.name or 'plain numbers'}",
            hint='write e.g. "6 h", "2 %" or a plain number; with a confidence from 50 % to 99 %: '
            '"6 h, 90 %"',
        )
    epsilon = epsilon_for(ppi, wanted, facts_of(log))
    if epsilon is None:
        raise _unaffordable(ppi, accuracy, log)
    return replace(ppi, epsilon=epsilon)


def _unaffordable(ppi: Ppi, accuracy: str, log: LogDeclaration) -> Refused:
    facts = facts_of(log)
    if plan_spread(plan_ppi(ppi, DEAREST, facts), facts) is None:
        return Refused(
            f"no accuracy of PPI '{ppi.id}' can be promised: where its values are cut off is "
            "chosen privately",
            hint="ask with an epsilon, or declare bounds that fit",
        )
    return Refused(
        f"no epsilon up to {DEAREST} keeps PPI '{ppi.id}' within ±{accuracy.strip(' ±')}",
        hint="ask for less accuracy, or declare tighter bounds",
    )


def _settled(ppi: Ppi, log: LogDeclaration) -> Ppi:
    """The PPI with everything that the log's declarations add to it."""
    return with_default_bounds(reduced(ppi, log.anchor), log.bounds)


def _epsilon(ppi: Ppi, asked: Epsilon | None) -> Epsilon:
    epsilon = asked or ppi.epsilon or DEFAULT_EPSILON
    if epsilon < LEAST_EPSILON:
        raise UsageError(
            f"an epsilon of {epsilon} is below {LEAST_EPSILON}, where an answer is noise alone",
            hint="ask with an epsilon of e.g. 0.1",
        )
    return epsilon
