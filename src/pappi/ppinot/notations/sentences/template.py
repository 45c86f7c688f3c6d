r"""Catalogues as text: PPINOT's template, one block of lines per PPI, written and read.

    Log: claims

    PPI: sojourn
    Name: Mean sojourn time
    Definition: The PPI is defined as the average of the duration between …
    Target: The PPI value must be below 7 days
    Scope: The process instances considered for this PPI are those of every month

What a line says goes on in lines that begin with a space; of several texts each is in a line of
its own, behind a dash. `Target in "group": …` is about one group. A text that would not come back
as it is stands in double quotes, with \n for a new line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import TypeVar

from pappi.errors import DefinitionError, Position, Problem, UsageError
from pappi.ppinot.expressions.nodes import NOWHERE, NumberLiteral, Operator, TextLiteral
from pappi.ppinot.expressions.parser import MAX_DIGITS, Origin, located, parse_expression, refusal
from pappi.ppinot.expressions.render import quote_text, render
from pappi.ppinot.model import (
    EVERY_MONTH,
    AggregatedMeasure,
    Catalogue,
    GroupTarget,
    MultiInstance,
    NoiseOn,
    Ppi,
    ReleaseChoice,
    Target,
    Wanted,
    measure_kind,
)
from pappi.ppinot.notations.building import ID, is_proportion, twins, unclear_share, usual_unit
from pappi.ppinot.notations.sentences.expressions import amount, comparator, text_of, whole_number
from pappi.ppinot.notations.sentences.parse import considered, defined_measure, whole
from pappi.ppinot.notations.sentences.render import definition, scope_words
from pappi.ppinot.notations.sentences.words import MAX_SIZE, Cursor, Reading, WordKind, Words
from pappi.ppinot.wording import CONTROL, did_you_mean, listed, quoted
from pappi.values import (
    DURATIONS,
    FRACTION,
    PERCENT,
    ZERO,
    Bounds,
    Epsilon,
    Kind,
    Unit,
    duration_unit,
)

T = TypeVar("T")


class Key(StrEnum):
    """The keys of a template, as they are written; PPINOT's own first."""

    LOG = "Log"
    TOTAL = "Total"
    PPI = "PPI"
    NAME = "Name"
    PROCESS = "Process"
    GOALS = "Goals"
    DEFINITION = "Definition"
    TARGET = "Target"
    SCOPE = "Scope"
    RESPONSIBLE = "Responsible"
    INFORMED = "Informed"
    COMMENTS = "Comments"
    TOLERATED = "Tolerated"
    RANGE = "Range"
    UNIT = "Unit"
    EPSILON = "Epsilon"
    RELEASE = "Release"
    EXPECTED = "Expected"


MAX_PROBLEMS = 200
MAX_PPIS = 5_000
_WIDTH = 98
_KEYS = {key.value.lower(): key for key in Key}
_KEY = re.compile(r'([^\W\d]\w*)[ \t]*(?:in[ \t]+("(?:[^"\\]++|\\.)*+")[ \t]*)?:')
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_SHARE = re.compile(r"([0-9]{0,9}\.?[0-9]{1,9})\s*(%?)")
_EXAMPLE = "as in Definition: the average of …"
_READING = Reading()
_SIDES = {
    Operator.LESS: "below",
    Operator.AT_MOST: "at most",
    Operator.GREATER: "above",
    Operator.AT_LEAST: "at least",
}
_MOST_BUCKETS = 10**9 - 1

# --- writing --------------------------------------------------------------------------


def write_template(catalogue: Catalogue) -> str:
    """The catalogue as text, from which `read_template` makes it again."""
    blocks = ["\n".join(_ppi_lines(ppi)) for ppi in catalogue.ppis]
    total = "" if catalogue.total is None else f"\n{Key.TOTAL}: {catalogue.total}"
    return "\n\n".join([f"{Key.LOG}: {_text(catalogue.log)}{total}", *blocks]) + "\n"


def _ppi_lines(ppi: Ppi) -> Iterator[str]:
    yield f"{Key.PPI}: {ppi.id}"
    yield f"{Key.NAME}: {_text(ppi.name)}"
    yield from _text_line(Key.PROCESS, ppi.process)
    yield from _list_lines(Key.GOALS, ppi.goals)
    yield _folded(f"{Key.DEFINITION}: The PPI is defined as {definition(ppi)}")
    if unit := unit_words(ppi.measure, ppi.unit):
        yield f"{Key.UNIT}: {unit}"
    yield from _band_lines("", ppi.target, ppi.tolerated, ppi.unit)
    for group in ppi.group_targets:
        where = f" in {quote_text(group.key)}"
        yield from _band_lines(where, group.target, group.tolerated, ppi.unit)
    if ppi.value_range is not None:
        low, high = (_shown(end, ppi.unit) for end in (ppi.value_range.low, ppi.value_range.high))
        yield f"{Key.RANGE}: from {low} to {high}"
    lead = "The process instances considered for this PPI are those of"
    yield _folded(f"{Key.SCOPE}: {lead} {scope_words(ppi.scope)}")
    yield from _text_line(Key.RESPONSIBLE, ppi.responsible)
    yield from _list_lines(Key.INFORMED, ppi.informed)
    yield from _text_line(Key.COMMENTS, ppi.comments)
    if ppi.epsilon is not None:
        yield f"{Key.EPSILON}: {ppi.epsilon}"
    if release := "; ".join(_release_parts(ppi.release)):
        yield f"{Key.RELEASE}: {release}"
    if ppi.expected is not None:
        yield f"{Key.EXPECTED}: {render(NumberLiteral(100 * ppi.expected))} %"


def _text(text: str) -> str:
    return text if is_plain(text) else quote_text(text)


def _text_line(key: Key, text: str) -> Iterator[str]:
    if text:
        yield f"{key}: {_text(text)}"


def _list_lines(key: Key, texts: tuple[str, ...]) -> Iterator[str]:
    if texts:
        yield f"{key}:"
        yield from (f"  - {_text(text)}" for text in texts)


def _band_lines(
    where: str, target: Target | None, tolerated: Target | None, unit: Unit
) -> Iterator[str]:
    if target is not None:
        yield f"{Key.TARGET}{where}: The PPI value must be {target_words(target, unit)}"
    if tolerated is not None:
        yield f"{Key.TOLERATED}{where}: The PPI value may be {target_words(tolerated, unit)}"


def _folded(line: str) -> str:
    """A sentence over several lines, which break between words and never inside quotes."""
    words = Words(line, lambda _: NOWHERE)
    rows, row, index = [], "", 0
    while words[index].kind is not WordKind.END:
        glued = words[index].start == words[index - 1].end if index else False
        piece = words[index].written
        if row and not glued and len(row) + 1 + len(piece) > _WIDTH:
            rows.append(row)
            row = f"  {piece}"
        else:
            row += piece if glued or not row else f" {piece}"
        index += 1
    return "\n".join([*rows, row])


# --- reading --------------------------------------------------------------------------


def read_template(text: str, file: str = "<template>", reading: Reading = _READING) -> Catalogue:
    """The catalogue that a template says; DefinitionError with every problem in it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if len(text) > MAX_SIZE:
        raise refusal(Position(file, 1, 1), f"the file has more than {MAX_SIZE:,} characters")
    problems: list[Problem] = []
    lines = _lines(text, located(text, Position(file, 1, 1)), problems)
    head, blocks = _blocks(lines, file, reading, problems)
    log = head.text(Key.LOG)
    if not log:
        place = head.lines[Key.LOG].place if Key.LOG in head.lines else head.place
        head.report(place, "the template does not say which log it is about", "as in Log: claims")
    total = head.read(head.lines.get(Key.TOTAL), _epsilon)
    if len(blocks) > MAX_PPIS:
        raise refusal(blocks[MAX_PPIS].place, f"a template holds at most {MAX_PPIS:,} PPIs")
    # When there are problems enough, no more are looked for.
    read = [_ppi(block) if len(problems) < MAX_PROBLEMS else None for block in blocks]
    ppis = tuple(ppi for ppi in read if ppi is not None)
    problems += [Problem(position, message) for position, message in twins(ppis)]
    if problems:
        problems.sort(key=lambda problem: (problem.position.line, problem.position.column))
        raise DefinitionError(problems[:MAX_PROBLEMS])
    return Catalogue(log or "", ppis, total, file=file)


def _ppi(block: _Block) -> Ppi | None:
    """A PPI; None, with problems, where what it needs is not there."""
    key = block.read(block.lines.get(Key.PPI), _id)
    if Key.DEFINITION not in block.lines:
        block.report(block.place, "this PPI has no definition", _EXAMPLE)
    measure = block.sentence(Key.DEFINITION, defined_measure)
    scope = block.sentence(Key.SCOPE, considered) or EVERY_MONTH
    release = block.sentence(Key.RELEASE, read_release) or ReleaseChoice()
    epsilon = block.read(block.lines.get(Key.EPSILON), _epsilon)
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
        value_range=block.sentence(Key.RANGE, lambda cursor: read_range(cursor, unit)),
        epsilon=epsilon,
        release=release,
        process=block.text(Key.PROCESS) or "",
        goals=block.texts(Key.GOALS),
        responsible=block.text(Key.RESPONSIBLE) or "",
        informed=block.texts(Key.INFORMED),
        comments=block.text(Key.COMMENTS, "\n") or "",
        tolerated=amber,
        group_targets=_group_targets(block, measure, unit),
        expected=block.read(block.lines.get(Key.EXPECTED), _expected),
        position=block.place,
    )


def _id(line: _Line) -> str:
    key = line.written()
    if not ID.fullmatch(key):
        message = (
            "expected an id of letters, digits, - and _, starting with a letter, "
            f"found {quoted(key)}"
        )
        raise refusal(line.position, message, "put the display name into Name: …")
    return key


def _epsilon(line: _Line) -> Epsilon:
    written = line.written()
    if len(written) > MAX_DIGITS:
        raise refusal(line.position, "this is not an epsilon", "write e.g. 0.1")
    epsilon = Epsilon.of(written)
    if epsilon == ZERO:
        hint = "with ε = 0 nothing can be answered"
        raise refusal(line.position, "epsilon must be above 0", hint)
    return epsilon


def _expected(line: _Line) -> Fraction:
    written = _SHARE.fullmatch(line.written())
    share = Fraction(written[1]) / (100 if written[2] else 1) if written else Fraction(0)
    if not 0 < share <= 1:
        message = "a share of cases is above 0 and at most 100 %"
        raise refusal(line.position, message, "write e.g. 30 %")
    return share


def _unit(block: _Block, measure: MultiInstance) -> Unit | None:
    line = block.lines.get(Key.UNIT)
    if line is None:
        return usual_unit(measure)
    if line.text.startswith('"'):
        return block.spoken(line, lambda cursor: sized_unit(cursor, measure))
    return block.read(line, lambda line: unit_of(measure, line.written(), line.position))


def _bands(
    block: _Block, unit: Unit, target: _Line | None, tolerated: _Line | None
) -> tuple[Target | None, Target | None]:
    """What is green, and what is amber."""
    green = block.spoken(target, lambda cursor: read_target(cursor, unit))
    amber = block.spoken(tolerated, lambda cursor: read_target(cursor, unit))
    if tolerated is not None and target is None:
        block.report(tolerated.place, "there is a tolerated range, but no target")
    if green is not None and amber is not None and tolerated and not amber.contains(green):
        block.report(tolerated.position, "the tolerated range must include all of the target")
    if unit == PERCENT and Key.UNIT not in block.lines:
        for line, read in ((target, green), (tolerated, amber)):
            if line is not None and read is not None:
                _ask_about_shares(block, line, read)
    return green, amber


def _ask_about_shares(block: _Block, line: _Line, read: Target) -> None:
    """Where its unit goes without saying, nobody can tell whether 0.9 is a part of 1."""
    if any(sign in line.text.lower() for sign in ("%", "percent", "/")):
        return
    for limit in (read.low, read.high):
        if limit is not None and 0 < limit < PERCENT.factor:
            block.report(line.position, *unclear_share(limit / PERCENT.factor))


def _group_targets(block: _Block, measure: MultiInstance, unit: Unit) -> tuple[GroupTarget, ...]:
    while not isinstance(measure, AggregatedMeasure):
        _, measure = measure.variables[0]
    keys = measure.grouping.keys if measure.grouping else ()
    for (_, group), line in block.groups.items():
        if group not in keys:
            known = f"the groups are {listed(keys, 'and')}" if keys else "the PPI has no groups"
            hint = did_you_mean(group, keys[:MAX_PROBLEMS], known)
            block.report(line.place, f"this PPI has no group {quoted(group)}", hint)
    targets = []
    for group in dict.fromkeys(group for _, group in block.groups):
        lines = (block.groups.get((Key.TARGET, group)), block.groups.get((Key.TOLERATED, group)))
        green, amber = _bands(block, unit, *lines)
        if green is not None:
            targets.append(GroupTarget(group, green, amber))
    return tuple(targets)


# --- the lines about one PPI ----------------------------------------------------------


@dataclass(slots=True)
class _Block:
    """What is said about one PPI, or before the first; of single groups by key and group.

    What is wrong with a line is kept among the problems, and the line counts as not there.
    """

    place: Position
    reading: Reading
    problems: list[Problem]
    lines: dict[Key, _Line] = field(default_factory=dict)
    groups: dict[tuple[Key, str], _Line] = field(default_factory=dict)

    def report(self, place: Position, message: str, hint: str = "") -> None:
        self.problems.append(Problem(place, message, hint))

    def add(self, line: _Line) -> None:
        if line.group is not None:
            if (line.key, line.group) in self.groups:
                self.report(line.place, f"this was already said for the group {quoted(line.group)}")
            self.groups[line.key, line.group] = line
            return
        if line.key in self.lines:
            first = self.lines[line.key].place.line
            message = f"the line {quoted(line.key.value)} appears twice; first in line {first}"
            self.report(line.place, message)
        self.lines.setdefault(line.key, line)

    def read(self, line: _Line | None, read: Callable[[_Line], T]) -> T | None:
        """What a line says, or None."""
        if line is None:
            return None
        try:
            return read(line)
        except DefinitionError as error:
            self.problems.extend(error.problems)
        except UsageError as error:
            self.report(line.position, error.message, error.hint)
        return None

    def text(self, key: Key, separator: str = " ") -> str | None:
        return self.read(self.lines.get(key), lambda line: line.written(separator))

    def texts(self, key: Key) -> tuple[str, ...]:
        return self.read(self.lines.get(key), lambda line: line.items()) or ()

    def sentence(self, key: Key, read: Callable[[Cursor], T]) -> T | None:
        return self.spoken(self.lines.get(key), read)

    def spoken(self, line: _Line | None, read: Callable[[Cursor], T]) -> T | None:
        """What the whole of a line says as a sentence, or None."""
        return self.read(line, lambda line: whole(line.text, self.reading, line.origin, read))


def _blocks(
    lines: list[_Line], file: str, reading: Reading, problems: list[Problem]
) -> tuple[_Block, list[_Block]]:
    """What stands before the first PPI, and what about each."""
    head = _Block(Position(file, 1, 1), reading, problems)
    blocks: list[_Block] = []
    for line in lines:
        if line.key is Key.PPI:
            blocks.append(_Block(line.place, reading, problems))
        of_all = line.key in (Key.LOG, Key.TOTAL)
        if of_all and blocks:
            head.report(line.place, f"'{line.key}' must come once, before all PPIs")
        elif not of_all and not blocks:
            message = f"{quoted(line.key.value)} must come after the 'PPI' it is about"
            head.report(line.place, message)
        else:
            (blocks[-1] if blocks else head).add(line)
    return head, blocks


@dataclass(frozen=True, slots=True)
class _Line:
    """What stands behind one key, as a part of the file."""

    key: Key
    group: str | None
    place: Position
    text: str
    origin: Origin

    @property
    def position(self) -> Position:
        return self.origin(0) if self.text else self.place

    def written(self, separator: str = " ") -> str:
        """The text, which may go on in several lines, and may be in quotes."""
        return self._unquoted(separator.join(filter(None, map(str.strip, self.text.split("\n")))))

    def items(self) -> tuple[str, ...]:
        """Several texts with a dash before each, or one without."""
        parts = [part for part in map(str.strip, self.text.split("\n")) if part]
        if not parts or not all(part == "-" or part.startswith("- ") for part in parts):
            return tuple(filter(None, [self.written()]))
        return tuple(self._unquoted(part[1:].strip()) for part in parts)

    def _unquoted(self, text: str) -> str:
        return _quoted_text(text, self.position) if _QUOTED.fullmatch(text) else text


def _quoted_text(written: str, place: Position) -> str:
    match parse_expression(written, place):
        case TextLiteral(value):
            return value
    raise AssertionError("quotes hold a text")


def _lines(text: str, at: Origin, problems: list[Problem]) -> list[_Line]:
    """All keys of a template with what stands behind them, in order."""
    lines: list[_Line] = []
    for start, end in _paragraphs(text):
        line = _line(text[start:end], start, at, problems)
        if line is not None:
            lines.append(line)
        if len(problems) >= MAX_PROBLEMS:
            break
    return lines


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Where each line begins that is not indented, and where those behind it that are end."""
    start, offset = None, 0
    for line in text.split("\n"):
        if line.strip() and not line[0].isspace():
            if start is not None:
                yield start, offset
            start = offset
        elif start is None and line.strip():
            start = offset
        offset += len(line) + 1
    if start is not None:
        yield start, len(text)


def _line(text: str, start: int, at: Origin, problems: list[Problem]) -> _Line | None:
    place = at(start)
    match = _KEY.match(text)
    key = _KEYS.get(match[1].lower()) if match else None
    hint = ""
    if match is None or key is None:
        word = match[1] if match else text.split("\n", maxsplit=1)[0].split(":", maxsplit=1)[0]
        message = f"no line of a template begins with {quoted(word)}"
        hint = did_you_mean(word, [known.value for known in Key], _EXAMPLE)
    elif match[2] and key not in (Key.TARGET, Key.TOLERATED):
        message = f"{quoted(key.value)} is the same for every group"
    elif CONTROL.search(text):
        message = "this text contains a control character"
    else:
        group = _quoted_text(match[2], place) if match[2] else None
        # Problems point at what is said, not at the spaces before it.
        said = text[match.end() :].lstrip()
        behind = start + len(text) - len(said)
        return _Line(key, group, place, said, lambda offset: at(behind + offset))
    problems.append(Problem(place, message, hint))
    return None


# --- units ----------------------------------------------------------------------------
#
# A target is written in the unit of its PPI. What a label means as a unit depends on the measure;
# where it would be read as another unit than it is, its size is written behind it.


def unit_of(measure: MultiInstance, label: str, place: Position) -> Unit:
    """The unit that a label names for a measure; refused if the value cannot be shown in that."""
    unit = _labelled(measure, label)
    if unit is not None:
        return unit
    hint = "write percent or fraction"
    if measure_kind(measure, None) is Kind.DURATION:
        hint = did_you_mean(label, DURATIONS, f"the units are {listed(DURATIONS, 'and')}")
    raise refusal(place, f"the value cannot be shown in {quoted(label)}", hint)


def _labelled(measure: MultiInstance, label: str) -> Unit | None:
    kind = measure_kind(measure, None)
    if kind is Kind.DURATION:
        return duration_unit(label)
    if is_proportion(measure):
        return {"percent": PERCENT, "%": PERCENT, "fraction": FRACTION}.get(label.lower())
    if kind is None and duration_unit(label) is not None:
        return duration_unit(label)
    return Unit(label, Fraction(1)) if label else None


def sized_unit(cursor: Cursor, measure: MultiInstance) -> Unit:
    """A label in quotes, with the size of the unit behind it where it is not the usual one."""
    place = cursor.position
    word = cursor.accept_kind(WordKind.TEXT, "a unit in quotes")
    if word is None:
        raise cursor.unexpected()
    label = text_of(cursor, word)
    if not cursor.accept("of"):
        return unit_of(measure, label, place)
    size = amount(cursor)
    if size.internal <= 0:
        raise cursor.refusal("the size of a unit is above 0")
    return Unit(label, size.internal)


def unit_words(measure: MultiInstance, unit: Unit) -> str:
    """How a unit is named, empty if it need not be."""
    if unit == usual_unit(measure):
        return ""
    if is_plain(unit.name) and _labelled(measure, unit.name) == unit:
        return unit.name
    return f"{quote_text(unit.name)} of {render(NumberLiteral(unit.factor))}"


def is_plain(text: str) -> bool:
    """Whether a text can stand behind a colon as it is."""
    return text == text.strip() and not text.startswith('"') and "\n" not in text and bool(text)


def _is_time(unit: Unit) -> bool:
    return DURATIONS.get(unit.name) == unit.factor


# --- targets and ranges ---------------------------------------------------------------


def target_words(target: Target, unit: Unit) -> str:
    """
    >>> target_words(Target(None, Fraction(80, 100), high_included=False), PERCENT)
    'below 80 percent'
    """
    low, high = target.low, target.high
    if low is not None and high is not None and target.low_included and target.high_included:
        return f"between {_shown(low, unit)} and {_shown(high, unit)}"
    least = Operator.AT_LEAST if target.low_included else Operator.GREATER
    most = Operator.AT_MOST if target.high_included else Operator.LESS
    sides = [(least, low), (most, high)]
    said = [f"{_SIDES[side]} {_shown(limit, unit)}" for side, limit in sides if limit is not None]
    return " and ".join(said) or "anything"


def _shown(internal: Fraction, unit: Unit) -> str:
    number = render(NumberLiteral(internal / unit.factor))
    names_unit = "/" not in number and (_is_time(unit) or unit.name == "percent")
    return f"{number} {unit.name}" if names_unit else number


def read_target(cursor: Cursor, unit: Unit) -> Target:
    """`below 7 days`, `between 1 and 2`, `at least 1 and below 2`."""
    cursor.also("the ppi value must be", "the ppi value may be", "the value must be", "must be")
    if cursor.accept("anything"):
        return Target(None, None)
    start = cursor.next
    if cursor.accept("between"):
        low = _limit(cursor, unit)
        cursor.expect("and")
        target = Target(low, _limit(cursor, unit))
    else:
        target = _sided(cursor, unit)
    if target.low is not None and target.high is not None and not target.low < target.high:
        message = "the lower limit of the target must be below the upper one"
        raise cursor.refusal(message, at=start)
    return target


def _sided(cursor: Cursor, unit: Unit) -> Target:
    limits: dict[str, tuple[Fraction, bool]] = {}
    while True:
        word, side = cursor.next, comparator(cursor)
        if side not in _SIDES:
            for words in ("below", "at most", "above", "at least", "between"):
                cursor.at(words)
            raise cursor.unexpected("as in below 7 days")
        which = "high" if side in (Operator.LESS, Operator.AT_MOST) else "low"
        if which in limits:
            message = "a target has one lower and one upper limit, but this is the same limit again"
            raise cursor.refusal(message, at=word)
        limits[which] = _limit(cursor, unit), side in (Operator.AT_MOST, Operator.AT_LEAST)
        if not cursor.accept("and"):
            break
    low, low_included = limits.get("low", (None, True))
    high, high_included = limits.get("high", (None, True))
    return Target(low, high, low_included, high_included)


def read_range(cursor: Cursor, unit: Unit) -> Bounds:
    cursor.expect("from", "between")
    start, low = cursor.next, _limit(cursor, unit)
    cursor.expect("to", "and")
    high = _limit(cursor, unit)
    if not low < high:
        raise cursor.refusal("the lower end of the range must be below the upper one", at=start)
    return Bounds(low, high)


def _limit(cursor: Cursor, unit: Unit) -> Fraction:
    """An amount in the unit of the PPI, which may be named again."""
    start = cursor.next
    size = amount(cursor)
    word = cursor.words[cursor.index - 1].said if size.unit else cursor.next.said
    if size.unit and _is_time(unit):
        return size.internal
    if size.unit and word != unit.name.lower():
        message = f"{quoted(size.unit)} does not fit: the value is shown in {quoted(unit.name)}"
        raise cursor.refusal(message, at=start)
    if cursor.next.said in ("percent", "%") and unit in (PERCENT, FRACTION):
        cursor.take()
        return size.number / 100
    if not size.unit and word == unit.name.lower():
        cursor.take()
    return unit.read(size.number)


# --- how a PPI is to be released: "verdict; mechanism threshold" ----------------------


def _release_parts(release: ReleaseChoice) -> Iterator[str]:
    if release.answer is not Wanted.VALUE:
        yield str(release.answer)
    if release.mechanism is not None:
        yield f"mechanism {release.mechanism}"
    if release.noise:
        yield f"noise on {', '.join(map(_noise_words, release.noise))}"
    if release.falloff is not None:
        yield f"falloff {render(NumberLiteral(release.falloff))}"
    if release.buckets is not None:
        yield f"buckets {release.buckets}"
    if not release.in_set:
        yield "set off"
    if not release.clipping:
        yield "clipping off"


def _noise_words(noise: NoiseOn) -> str:
    mechanism = "" if noise.mechanism is None else f" by {noise.mechanism}"
    share = "" if noise.share is None else f" with share {render(NumberLiteral(noise.share))}"
    return noise.function + mechanism + share


def read_release(cursor: Cursor) -> ReleaseChoice:
    """Parts with semicolons between them, each of them once."""
    release, said = ReleaseChoice(), set[str]()
    while True:
        word = cursor.next
        what, release = _release_part(cursor, release)
        if what in said:
            raise cursor.refusal(f"the {what} is said twice", at=word)
        said.add(what)
        if not cursor.accept(";"):
            return release


def _release_part(cursor: Cursor, release: ReleaseChoice) -> tuple[str, ReleaseChoice]:
    """What is said next, and the choice with it."""
    answer = cursor.accept(*(wanted.value for wanted in Wanted))
    if answer:
        return "answer", replace(release, answer=Wanted(answer))
    if cursor.accept("mechanism"):
        name, place = _mechanism(cursor)
        return "mechanism", replace(release, mechanism=name, position=place)
    if cursor.accept("noise on"):
        noise = [_noise_on(cursor)]
        while cursor.accept(","):
            noise.append(_noise_on(cursor))
        return "noise", replace(release, noise=tuple(noise))
    if cursor.accept("falloff"):
        return "falloff", replace(release, falloff=amount(cursor).number)
    if cursor.accept("set off"):
        return "set", replace(release, in_set=False)
    if cursor.accept("clipping off"):
        return "clipping", replace(release, clipping=False)
    cursor.expect("buckets")
    count = whole_number(cursor, 1, _MOST_BUCKETS, "buckets")
    return "buckets", replace(release, buckets=count)


def _mechanism(cursor: Cursor) -> tuple[str, Position]:
    """A name of several words, with dashes or without, and where it stands."""
    first, last = cursor.next, None
    while cursor.next.kind is WordKind.WORD or cursor.next.is_symbol("-"):
        if cursor.says("with"):
            break
        last = cursor.take()
    cursor.want_thing("a mechanism")
    if last is None:
        raise cursor.unexpected()
    return cursor.words.text[first.start : last.end], cursor.place(first)


def _noise_on(cursor: Cursor) -> NoiseOn:
    """A function, and what is wanted for it: "a by laplace with share 0.3"."""
    function = _function(cursor)
    mechanism, place = _mechanism(cursor) if cursor.accept("by") else (None, NOWHERE)
    if not cursor.accept("with share"):
        return NoiseOn(function, mechanism, position=place)
    word, share = cursor.next, amount(cursor)
    if share.unit or not 0 < share.number <= 1:
        message = "a share of epsilon is above 0 and at most 1"
        raise cursor.refusal(message, "write e.g. 0.3", at=word)
    return NoiseOn(function, mechanism, share.number, position=place)


def _function(cursor: Cursor) -> str:
    """A variable, with dots to get deeper: a.b; also the id of the PPI, which may have dashes."""
    first = cursor.next
    while True:
        word = cursor.accept_kind(WordKind.WORD, "a variable, or 'value'")
        if word is None:
            raise cursor.unexpected()
        if not cursor.next.is_symbol(".", "-"):
            return cursor.words.text[first.start : word.end]
        cursor.take()
