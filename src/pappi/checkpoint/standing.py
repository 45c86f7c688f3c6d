"""Questions that stand: reserved for blocks to come, released as soon as each is sealed.

What will be charged, and to which blocks, is known beforehand: the cells of time that is
not sealed yet have the same keys as they will have when they are asked. So a reservation
is a list of charges to be made later, and running a standing question is asking it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from pappi.budget.accounts import KeyState
from pappi.budget.journal import END, STAND
from pappi.checkpoint.door import Caller, Checkpoint, Rules, Step, go_on
from pappi.checkpoint.limits import refuse_too_many, refuse_too_many_answers, refuse_too_much
from pappi.checkpoint.pace import AT_ONCE, Pace
from pappi.checkpoint.plans import checked_log, planned
from pappi.checkpoint.questions import CellQuestion, questions_of
from pappi.errors import NotFound, NotReleasable, PappiError, Refused, UsageError
from pappi.mechanisms.noise import secret_bytes
from pappi.planning.plan import Plan
from pappi.ppinot.catalogue import parse_catalogue, write_yaml
from pappi.ppinot.model import Catalogue, Scope
from pappi.store.declarations import LogDeclaration
from pappi.store.ledger import Ledger
from pappi.store.ledger.journal import utc_now
from pappi.store.office import Office
from pappi.store.register import Register, StandingQuestion, acts_on, day_of, standing_payload
from pappi.values.answers import Series
from pappi.values.epsilon import Epsilon

_ID_BYTES = 6
_FILE = "standing"
_LONGEST = 100_000
_MOST_YEARS = 5
_MOST_CELLS = 600
_MOST_OPEN = 50
_MOST_A_DAY = 20


def subscribe(
    office: Office, caller: Caller, catalogue: Catalogue, until: date, epsilon: Epsilon | None
) -> StandingQuestion:
    """Reserve the price of every block from what is sealed now up to `until`, or of none."""
    with office.ledger() as ledger:
        register = office.register(ledger)
        caller.permit(register)
        refuse_too_many(catalogue)
        log = checked_log(register, caller.logs(register), catalogue)
        _refuse_far(until, log)
        question = StandingQuestion(
            id=secret_bytes(_ID_BYTES).hex(),
            analyst=caller.name,
            log=log.name,
            definitions=write_yaml(catalogue),
            epsilon=epsilon,
            first=log.until,
            until=until,
            granted=caller.only_granted,
        )
        asked = _questions(question, log, until)
        _require_blocks(asked, log)
        refuse_too_much(asked)
        rules = Rules(office, ledger, caller, log)
        act = (STAND, standing_payload(question))

        def permit() -> None:
            rules.permit()
            _refuse_hoarding(question, len(asked), office.register(ledger))

        ledger.reserve([one.charge for one in asked], rules.limit, act, permit)
        return question


def _refuse_far(until: date, log: LogDeclaration) -> None:
    most = log.horizon.now.year + _MOST_YEARS
    if until.year > most:
        raise UsageError(f"a question stands until {most} at most", hint="renew it in time")


def _refuse_hoarding(question: StandingQuestion, cells: int, register: Register) -> None:
    """The journal keeps every question for ever, and reserving one costs nothing in the end."""
    theirs = list(_open_of(register, question.analyst))
    today = acts_on(register.asked, question.analyst, day_of(utc_now()))
    for found, most, what in (
        (len(question.definitions), _LONGEST, "characters in a standing question"),
        (cells, _MOST_CELLS, "reservations in a standing question"),
        (1 + len(theirs), _MOST_OPEN, "standing questions"),
        (1 + today, _MOST_A_DAY, "new standing questions a day, ended ones included"),
    ):
        if found > most:
            raise Refused(
                f"an analyst may have at most {most:,} {what}",
                hint="put several PPIs into one question, or ask for fewer of them",
            )
    if any(_same(each, question) for each in theirs):
        raise Refused("this question stands already", hint="see the list of standing questions")


def _same(one: StandingQuestion, other: StandingQuestion) -> bool:
    return (one.definitions, one.epsilon, one.until) == (
        other.definitions,
        other.epsilon,
        other.until,
    )


def end(office: Office, caller: Caller, identity: str) -> int:
    """Give up what is still reserved for a question alone; gives how many cells that were.

    What somebody else reserved stays, and what another question of this analyst stands for.
    """
    with office.ledger() as ledger:
        register = office.register(ledger)
        caller.permit(register)
        question = register.standing.get(identity)
        if question is None or question.analyst != caller.name:
            raise NotFound("there is no such standing question", hint="list them first")
        log = register.logs[question.log]
        others = (each for each in _open_of(register, caller.name) if each.log == question.log)
        kept = {
            one.key
            for other in others
            if other.id != identity
            for one in _questions(other, log, other.until)
        }
        asked = (one.key for one in _questions(question, log, question.until))
        own = [key for key in asked if key not in kept]
        return ledger.cancel(own, caller.name, (END, {"id": identity}))


def end_all(office: Office, analyst: str, log: str) -> int:
    """End every question of an analyst about a log, as its owner; gives how many that were."""
    caller = Caller(analyst)
    ended = [each for each in standing_of(office, caller) if each.log == log]
    for question in ended:
        end(office, caller, question.id)
    return len(ended)


def _open_of(register: Register, analyst: str) -> Iterator[StandingQuestion]:
    for each in register.standing.values():
        if each.analyst == analyst:
            yield each


def standing_of(office: Office, caller: Caller) -> tuple[StandingQuestion, ...]:
    """The questions of an analyst that still stand."""
    with office.ledger() as ledger:
        register = office.register(ledger)
        caller.permit(register)
        return tuple(_open_of(register, caller.name))


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a standing question: the releases that were due, or why there are none."""

    question: StandingQuestion
    series: tuple[Series, ...] = ()
    problem: PappiError | None = None


def run_due(office: Office, on_step: Step = go_on, pace: Pace = AT_ONCE) -> Iterator[Run]:
    """Release what is due of every question that stands: its sealed blocks, once each.

    One after the other, each at the pace of a release: when the next one is charged would
    else tell how long the one before took.
    """
    with office.ledger() as ledger:
        register = office.register(ledger)
        for question in register.standing.values():
            door = Checkpoint(office, _asking(question), on_step, pace)
            yield from _run(door, ledger, question, register.logs[question.log])


def _run(
    door: Checkpoint, ledger: Ledger, question: StandingQuestion, log: LogDeclaration
) -> Iterator[Run]:
    """One failure must not keep the others from their answers."""
    try:
        due = _due(ledger, _questions(question, log, min(question.until, log.until)))
        if due:
            yield Run(question, door.answer(ledger, due, log))
    except PappiError as problem:
        yield Run(question, problem=problem)


def _asking(question: StandingQuestion) -> Caller:
    """Whoever asked for it; one who needs a grant is refused once it is withdrawn."""
    if not question.granted:
        return Caller(question.analyst)

    def still_granted(register: Register) -> None:
        register.log(question.log, register.granted_to(question.analyst))

    return Caller(question.analyst, still_granted, only_granted=True)


def _due(ledger: Ledger, questions: Sequence[CellQuestion]) -> list[CellQuestion]:
    states = ledger.states(question.key for question in questions)
    return [one for one in questions if states[one.key] is not KeyState.RELEASED]


def _questions(question: StandingQuestion, log: LogDeclaration, until: date) -> list[CellQuestion]:
    """What a standing question asks in the blocks from its first day up to a later one."""
    if until <= question.first:
        return []
    horizon = replace(log.horizon, first=question.first, until=until)
    catalogue = parse_catalogue(question.definitions, _FILE)
    begun = (ppi for ppi in catalogue.ppis if ppi.scope.start is None or ppi.scope.start < until)
    plans = [planned(ppi, question.epsilon, log) for ppi in begun]
    for plan in plans:
        _require_blockwise(plan.ppi.scope, plan)
    refuse_too_many_answers(plans, horizon)
    return [
        one
        for plan in plans
        for one in questions_of(plan, _sealed_up_to(log, until), question.analyst, horizon)
        if _lies_within(one, question.first, until)
    ]


def _sealed_up_to(log: LogDeclaration, until: date) -> LogDeclaration:
    """The log as it will be when the question is asked: the key must be the same then."""
    return replace(log, until=max(log.until, until))


def _lies_within(question: CellQuestion, first: date, until: date) -> bool:
    blocks = question.cell.blocks
    return all(first <= block.start and block.end <= until for block in blocks)


def _require_blocks(questions: Sequence[CellQuestion], log: LogDeclaration) -> None:
    if not questions:
        raise UsageError(
            f"no whole {log.blocks.unit} after {log.until}, up to which the log is sealed, lies "
            "before that day",
            hint="name a later day, and periods that blocks can be cut into",
        )


def _require_blockwise(scope: Scope, plan: Plan) -> None:
    """Refuse what has no answer of its own for each block."""
    anew: Sequence[object] = (scope.anchor, scope.recent, scope.last_cases)
    if scope.grid is None or any(each is not None for each in anew):
        raise NotReleasable(
            f"PPI '{plan.ppi.id}' cannot stand: it has no value of its own for every period",
            hint="let its scope be every month, or another period that blocks are cut into",
        )
