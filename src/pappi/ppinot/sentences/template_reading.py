"""Templates into catalogues, with all their problems at once."""

from __future__ import annotations

import re

from pappi.errors import DefinitionError, Position, Problem
from pappi.ppinot.catalogue.origins import Lines
from pappi.ppinot.catalogue.scopes import EVERY_MONTH
from pappi.ppinot.expressions.lexer import MAX_DIGITS, refusal
from pappi.ppinot.model import (
    AggregatedMeasure,
    Catalogue,
    Grouping,
    GroupTarget,
    MultiInstance,
    Ppi,
    ReleaseChoice,
    Target,
)
from pappi.ppinot.sentences.blocks import Block, blocks_of
from pappi.ppinot.sentences.cursor import Cursor, Reading
from pappi.ppinot.sentences.lines import MAX_PROBLEMS, Key, Line, read_lines
from pappi.ppinot.sentences.parse import considered, definition
from pappi.ppinot.sentences.quantities import amount
from pappi.ppinot.sentences.releases import release
from pappi.ppinot.sentences.spans import text_of
from pappi.ppinot.sentences.targets import (
    target,
    unit_hint,
    unit_of,
    usual_unit,
    value_range,
)
from pappi.ppinot.sentences.words import MAX_SIZE, WordKind
from pappi.ppinot.wording import did_you_mean, listed, quoted
from pappi.values.epsilon import ZERO, Epsilon
from pappi.values.units import Unit

MAX_PPIS = 5_000
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_\-]{0,63}")
_LEADS = ("the ppi value must be", "the ppi value may be", "the value must be", "must be")
_READING = Reading()


def read_template(text: str, file: str = "<template>", reading: Reading = _READING) -> Catalogue:
    """The catalogue that a template says; DefinitionError with every problem in it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if len(text) > MAX_SIZE:
        raise refusal(Position(file, 1, 1), f"the file has more than {MAX_SIZE:,} characters")
    problems: list[Problem] = []
    lines = read_lines(Lines.of(text, file), problems)
    head, blocks = blocks_of(lines, file, reading, problems)
    log = _log(head)
    ppis = _ppis(blocks, problems)
    _refuse_twins(ppis, head)
    if problems:
        in_order = sorted(problems, key=lambda each: (each.position.line, each.position.column))
        raise DefinitionError(in_order[:MAX_PROBLEMS])
    return Catalogue(log, tuple(ppis), file=file)


def _log(head: Block) -> str:
    log = head.text(Key.LOG)
    if not log:
        place = head.lines[Key.LOG].place if Key.LOG in head.lines else head.place
        head.report(place, "the template does not say which log it is about", "as in Log: claims")
    return log or ""


def _ppis(blocks: list[Block], problems: list[Problem]) -> list[Ppi]:
    """All PPIs that can be read; when there are problems enough, no more are looked for."""
    found = []
    if len(blocks) > MAX_PPIS:
        raise refusal(blocks[MAX_PPIS].place, f"a template holds at most {MAX_PPIS:,} PPIs")
    for block in blocks:
        ppi = _ppi(block) if len(problems) < MAX_PROBLEMS else None
        if ppi is not None:
            found.append(ppi)
    return found


def _refuse_twins(ppis: list[Ppi], head: Block) -> None:
    first: dict[str, int] = {}
    for ppi in ppis:
        if ppi.id in first:
            message = f"the id {quoted(ppi.id)} is taken by the PPI in line {first[ppi.id]}"
            head.report(ppi.position, message)
        first.setdefault(ppi.id, ppi.position.line)


# --- one PPI --------------------------------------------------------------------------


def _ppi(block: Block) -> Ppi | None:
    """A PPI; None, with problems, where what it needs is not there."""
    key = block.tried(block.lines.get(Key.PPI), _id)
    if Key.DEFINITION not in block.lines:
        block.report(
            block.place, "this PPI has no definition", "as in Definition: the average of …"
        )
    measure = block.sentence(Key.DEFINITION, definition)
    scope = block.sentence(Key.SCOPE, considered) or EVERY_MONTH
    chosen = block.sentence(Key.RELEASE, release) or ReleaseChoice()
    epsilon = block.tried(block.lines.get(Key.EPSILON), _epsilon)
    name, unit = block.text(Key.NAME), _unit(block, measure) if measure else None
    if key is None or measure is None or unit is None:
        return None
    green, amber = _bands(block, unit, block.lines.get(Key.TARGET), block.lines.get(Key.TOLERATED))
    return Ppi(
        id=key,
        name=key if name is None else name,
        measure=measure,
        unit=unit,
        scope=scope,
        target=green,
        value_range=block.sentence(Key.RANGE, lambda cursor: value_range(cursor, unit)),
        epsilon=epsilon,
        release=chosen,
        process=block.text(Key.PROCESS) or "",
        goals=block.texts(Key.GOALS),
        responsible=block.text(Key.RESPONSIBLE) or "",
        informed=block.texts(Key.INFORMED),
        comments=block.text(Key.COMMENTS, "\n") or "",
        tolerated=amber,
        group_targets=_group_targets(block, unit, _grouping(measure)),
        position=block.place,
    )


def _id(line: Line) -> str:
    key = line.written()
    if not _ID.fullmatch(key):
        message = (
            f"expected an id of letters, digits, - and _, with a letter first, found {quoted(key)}"
        )
        raise refusal(line.position, message, "what people call it goes into Name: …")
    return key


def _epsilon(line: Line) -> Epsilon:
    written = line.written()
    if len(written) > MAX_DIGITS:
        raise refusal(line.position, "this is not an epsilon", "write e.g. 0.1")
    epsilon = Epsilon.of(written)
    if epsilon == ZERO:
        raise refusal(line.position, "epsilon must be above 0", "nothing can be answered for it")
    return epsilon


# --- units and targets ----------------------------------------------------------------


def _unit(block: Block, measure: MultiInstance) -> Unit | None:
    line = block.lines.get(Key.UNIT)
    if line is None:
        return usual_unit(measure)
    if line.text.startswith('"'):
        return block.spoken(line, lambda cursor: _sized_unit(cursor, measure))
    return block.tried(line, lambda line: _labelled(line.position, line.written(), measure))


def _labelled(place: Position, label: str, measure: MultiInstance) -> Unit:
    unit = unit_of(measure, label) if label else None
    if unit is None:
        hint = unit_hint(measure, label)
        raise refusal(place, f"the value cannot be shown in {quoted(label)}", hint)
    return unit


def _sized_unit(cursor: Cursor, measure: MultiInstance) -> Unit:
    """A label in quotes, with the size of the unit behind it where it is not the usual one."""
    place = cursor.position
    word = cursor.accept_kind(WordKind.TEXT, "a unit in quotes")
    if word is None:
        raise cursor.unexpected()
    label = text_of(cursor, word)
    if not cursor.accept("of"):
        return _labelled(place, label, measure)
    size = amount(cursor)
    if size.internal <= 0:
        raise cursor.refusal("the size of a unit is above 0")
    return Unit(label, size.internal)


def _grouping(measure: MultiInstance) -> Grouping | None:
    while not isinstance(measure, AggregatedMeasure):
        _, measure = measure.variables[0]
    return measure.grouping


def _target(cursor: Cursor, unit: Unit) -> Target:
    cursor.also(*_LEADS)
    return target(cursor, unit)


def _bands(
    block: Block, unit: Unit, target: Line | None, tolerated: Line | None
) -> tuple[Target | None, Target | None]:
    """What is green, and what is amber."""
    green = block.spoken(target, lambda cursor: _target(cursor, unit))
    amber = block.spoken(tolerated, lambda cursor: _target(cursor, unit))
    if tolerated is not None and target is None:
        block.report(tolerated.place, "something is tolerated, and there is no target")
    if green is not None and amber is not None and tolerated and not amber.contains(green):
        block.report(tolerated.position, "what is tolerated must hold all of the target")
    return green, amber


def _group_targets(block: Block, unit: Unit, grouping: Grouping | None) -> tuple[GroupTarget, ...]:
    keys = grouping.keys if grouping else ()
    found = []
    for (_, group), line in block.groups.items():
        if group not in keys:
            known = f"the groups are {listed(keys, 'and')}" if keys else "the PPI has no groups"
            hint = did_you_mean(group, keys[:MAX_PROBLEMS], known)
            block.report(line.place, f"no group of this PPI is {quoted(group)}", hint)
    for group in dict.fromkeys(group for _, group in block.groups):
        lines = (block.groups.get((Key.TARGET, group)), block.groups.get((Key.TOLERATED, group)))
        green, amber = _bands(block, unit, *lines)
        if green is not None:
            found.append(GroupTarget(group, green, amber))
    return tuple(found)
