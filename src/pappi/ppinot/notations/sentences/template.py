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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from fractions import Fraction
from typing import Any, Generic, TypeVar, cast

from pappi.errors import DefinitionError, Position, UsageError
from pappi.ppinot.expressions.parser import MAX_DIGITS, Origin, located, parse_expression, refusal
from pappi.ppinot.expressions.render import quote_text
from pappi.ppinot.model import (
    EVERY_MONTH,
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
from pappi.ppinot.notations.building import (
    ID,
    MAX_SUGGESTED,
    is_proportion,
    twins,
    unclear_share,
    usual_unit,
)
from pappi.ppinot.notations.document import Problems
from pappi.ppinot.notations.sentences.expressions import (
    NUMBER,
    number_words,
    read_amount,
    text_of,
    whole_number,
)
from pappi.ppinot.notations.sentences.measures import MULTI, SCOPE, definition, whole
from pappi.ppinot.notations.sentences.patterns import (
    Choice,
    Fixed,
    Form,
    Part,
    Pattern,
    pattern_of,
)
from pappi.ppinot.notations.sentences.words import MAX_SIZE, Cursor, Reading, Word, WordKind, Words
from pappi.ppinot.tree import aggregated_measures
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


MAX_PPIS = 5_000
_WIDTH = 98
_KEYS = {key.value.lower(): key for key in Key}
_KEY = re.compile(r'([^\W\d]\w*)[ \t]*(?:in[ \t]+("(?:[^"\\]++|\\.)*+")[ \t]*)?:')
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_SHARE = re.compile(r"([0-9]{0,9}\.?[0-9]{1,9})\s*(%?)")
_EXAMPLE = "as in Definition: the average of …"
_READING = Reading()
_MOST_BUCKETS = 10**9 - 1


# --- lines ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """What stands behind one key, as a part of the file."""

    key: Key
    group: str | None
    place: Position
    text: str
    origin: Origin
    reading: Reading

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
        return _between_quotes(text, self.position) if _QUOTED.fullmatch(text) else text


def _between_quotes(written: str, place: Position) -> str:
    return cast("Any", parse_expression(written, place)).value  # type: ignore[no-any-return]


def _lines(text: str, at: Origin, reading: Reading, problems: Problems) -> Iterator[_Line]:
    """All keys of a template with what stands behind them, in order."""
    for start, end in _paragraphs(text):
        line = _line(text[start:end], start, at, reading, problems)
        if line is not None:
            yield line


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Where each line begins that is not indented, and where those behind it that are end."""
    start, offset = None, 0
    while offset < len(text):
        end = text.find("\n", offset) + 1 or len(text) + 1
        line = text[offset : end - 1]
        if line.strip() and (start is None or not line[0].isspace()):
            if start is not None:
                yield start, offset
            start = offset
        offset = end
    if start is not None:
        yield start, len(text)


def _line(text: str, start: int, at: Origin, reading: Reading, problems: Problems) -> _Line | None:
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
        group = _between_quotes(match[2], place) if match[2] else None
        # Problems point at what is said, not at the spaces before it.
        said = text[match.end() :].lstrip()
        behind = start + len(text) - len(said)
        return _Line(key, group, place, said, lambda offset: at(behind + offset), reading)
    problems.add(place, message, hint)
    return None


def _is_plain(text: str) -> bool:
    """Whether a text can stand behind a colon as it is."""
    return text == text.strip() and not text.startswith('"') and "\n" not in text and bool(text)


def _text(text: str) -> str:
    return text if _is_plain(text) else quote_text(text)


def _folded(line: str) -> str:
    """A sentence over several lines, which break between words and never inside quotes."""
    words, rows, row, index = Words(line), list[str](), "", 0
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


# --- what stands behind the keys, read and written ------------------------------------


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    """What stands behind a key: how it is read, and how it is written."""

    read: Callable[[_Line], T]
    write: Callable[[Any], str]


def _sentence(form: Form[T], lead: str = "") -> _Entry[T]:
    """A sentence, before which PPINOT's own words may stand."""

    def read(line: _Line) -> T:
        def said(cursor: Cursor) -> T:
            cursor.accept(lead.lower())
            return form.read(cursor)

        return whole(line.text, line.reading, line.origin, said)

    return _Entry(read, lambda value: f"{lead} {form.write(value)}".strip())


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


# How a PPI is to be released: "verdict; mechanism threshold".


def _read_mechanism(cursor: Cursor) -> str:
    """A name of several words, with dashes or without."""
    first = last = cursor.take_kind("a mechanism", WordKind.WORD)
    while cursor.next.kind is WordKind.WORD or cursor.next.is_symbol("-"):
        if cursor.next.is_word("with"):
            break
        last = cursor.take()
    return cursor.words.text[first.start : last.end]


def _read_function(cursor: Cursor) -> str:
    """A variable, with dots to get deeper: a.b; also the id of the PPI, which may have dashes."""
    first = cursor.next
    while True:
        word = cursor.take_kind("a variable, or 'value'", WordKind.WORD)
        if not cursor.next.is_symbol(".", "-"):
            return cursor.words.text[first.start : word.end]
        cursor.take()


def _read_share(cursor: Cursor) -> Fraction:
    word, share = cursor.next, read_amount(cursor)
    if share.unit or not 0 < share.number <= 1:
        message = "a share of epsilon is above 0 and at most 1"
        raise cursor.refusal(message, "write e.g. 0.3", at=word)
    return share.number


def _read_several(cursor: Cursor) -> tuple[NoiseOn, ...]:
    several = [_NOISE.read(cursor)]
    while cursor.accept(","):
        several.append(_NOISE.read(cursor))
    return tuple(several)


_MECHANISM: Form[str] = Part(_read_mechanism, lambda name, _: name)
_NOISE = pattern_of(
    NoiseOn,
    "<function>[ by <mechanism>][ with share <share>]",
    function=Part(_read_function, lambda name, _: name),
    mechanism=_MECHANISM,
    share=Part(_read_share, number_words),
)
_RELEASE_BLANKS: dict[str, Form[Any]] = {
    "answer": Fixed({wanted.value: wanted for wanted in Wanted}),
    "mechanism": _MECHANISM,
    "noise": Part(_read_several, lambda noise, _: ", ".join(map(str, map(_NOISE.write, noise)))),
    "falloff": NUMBER,
    "buckets": Part(
        lambda cursor: whole_number(cursor, 1, _MOST_BUCKETS, "buckets"),
        lambda count, _: str(count),
    ),
    "in_set": Fixed({"set off": False}),
}
_RELEASE_PARTS: Choice[dict[str, Any]] = Choice(
    "a wish for the release",
    tuple(
        Pattern(text, _RELEASE_BLANKS, lambda _cursor, _first, said: said, lambda said: said)
        for text in (
            *("<answer>", "mechanism <mechanism>", "noise on <noise>", "falloff <falloff>"),
            *("buckets <buckets>", "<in_set>"),
        )
    ),
)


def _read_release(cursor: Cursor) -> ReleaseChoice:
    """Parts with semicolons between them, each of them once."""
    wishes: dict[str, Any] = {}
    place = cursor.position
    while True:
        word = cursor.next
        wish = _RELEASE_PARTS.read(cursor)
        if wish.keys() & wishes.keys():
            raise cursor.refusal("the release says this twice", at=word)
        place = cursor.place(word) if "mechanism" in wish else place
        wishes |= wish
        if not cursor.accept(";"):
            return ReleaseChoice(**wishes, position=place)


def _release_words(release: ReleaseChoice, _unsaid: object) -> str:
    plain = ReleaseChoice()
    wishes = {name: getattr(release, name) for name in _RELEASE_BLANKS}
    parts = ({name: wish} for name, wish in wishes.items() if wish != getattr(plain, name))
    return "; ".join(map(str, map(_RELEASE_PARTS.write, parts)))


_TEXT = _Entry(_Line.written, _text)
_TEXTS = _Entry(_Line.items, lambda texts: "".join(f"\n  - {_text(text)}" for text in texts))
_EPSILON = _Entry(_epsilon, str)
_DEFINITION = _sentence(MULTI, "The PPI is defined as")
_LEAD = "The process instances considered for this PPI are those of"
_ENTRIES: Mapping[Key, tuple[str, _Entry[Any]]] = {
    Key.NAME: ("name", _TEXT),
    Key.PROCESS: ("process", _TEXT),
    Key.GOALS: ("goals", _TEXTS),
    Key.SCOPE: ("scope", _sentence(SCOPE, _LEAD)),
    Key.RESPONSIBLE: ("responsible", _TEXT),
    Key.INFORMED: ("informed", _TEXTS),
    Key.COMMENTS: ("comments", _Entry(lambda line: line.written("\n"), _text)),
    Key.EPSILON: ("epsilon", _EPSILON),
    Key.RELEASE: ("release", _sentence(Part(_read_release, _release_words))),
    Key.EXPECTED: (
        "expected",
        _Entry(_expected, lambda share: f"{number_words(100 * share)} %"),
    ),
}
"""The attributes of a PPI that are written as they are."""

# --- units, targets and ranges --------------------------------------------------------
#
# A target is written in the unit of its PPI. What a label means as a unit depends on the measure;
# where it would be read as another unit than it is, its size is written behind it.


def _labelled(measure: MultiInstance, label: str) -> Unit | None:
    kind = measure_kind(measure, None)
    if kind is Kind.DURATION:
        return duration_unit(label)
    if is_proportion(measure):
        return {"percent": PERCENT, "%": PERCENT, "fraction": FRACTION}.get(label.lower())
    if kind is None and duration_unit(label) is not None:
        return duration_unit(label)
    return Unit(label, Fraction(1)) if label else None


def _unit_named(measure: MultiInstance, label: str, place: Position) -> Unit:
    unit = _labelled(measure, label)
    if unit is not None:
        return unit
    hint = "write percent or fraction"
    if measure_kind(measure, None) is Kind.DURATION:
        hint = did_you_mean(label, DURATIONS, f"the units are {listed(DURATIONS, 'and')}")
    raise refusal(place, f"the value cannot be shown in {quoted(label)}", hint)


def _unit_entry(measure: MultiInstance) -> _Entry[Unit]:
    def sized(cursor: Cursor) -> Unit:
        word = cursor.take_kind("a unit in quotes", WordKind.TEXT)
        label = text_of(cursor, word)
        if not cursor.accept("of"):
            return _unit_named(measure, label, cursor.place(word))
        size = read_amount(cursor)
        if size.internal <= 0:
            raise cursor.refusal("the size of a unit is above 0")
        return Unit(label, size.internal)

    def read(line: _Line) -> Unit:
        if line.text.startswith('"'):
            return whole(line.text, line.reading, line.origin, sized)
        return _unit_named(measure, line.written(), line.position)

    def write(unit: Unit) -> str:
        if _is_plain(unit.name) and _labelled(measure, unit.name) == unit:
            return unit.name
        return f"{quote_text(unit.name)} of {number_words(unit.factor)}"

    return _Entry(read, write)


def _limit_form(unit: Unit) -> Form[Fraction]:
    """An amount in the unit of the PPI, which may be named again."""
    is_time = DURATIONS.get(unit.name) == unit.factor

    def read(cursor: Cursor) -> Fraction:
        start, size = cursor.next, read_amount(cursor)
        word = cursor.words[cursor.index - 1].said if size.unit else cursor.next.said
        if size.unit and is_time:
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

    def write(internal: Fraction, _unsaid: object) -> str:
        number = number_words(internal / unit.factor)
        names_unit = "/" not in number and (is_time or unit.name == "percent")
        return f"{number} {unit.name}" if names_unit else number

    return Part(read, write)


def _rising(what: str, model: Callable[..., T]) -> Callable[[Cursor, Word, dict[str, Any]], T]:
    def build(cursor: Cursor, first: Word, said: dict[str, Any]) -> T:
        low, high = said.get("low"), said.get("high")
        if low is not None and high is not None and not low < high:
            raise cursor.refusal(f"the lower {what} must be below the upper one", at=first)
        return model(**{"low": None, "high": None, **said})

    return build


def target_form(unit: Unit) -> Form[Target]:
    """`below 7 days`, `between 1 and 2`, `at least 1 and below 2`.

    >>> target_form(PERCENT).write(Target(None, Fraction(80, 100), high_included=False))
    'below 80 percent'
    """
    limit = _limit_form(unit)
    blanks: dict[str, Form[Any]] = {
        "low": limit,
        "high": limit,
        "low_included": Fixed({"at least": True, "above": False}),
        "high_included": Fixed({"at most": True, "below": False}),
    }
    names = [own.name for own in fields(Target)]

    def values(target: Target) -> Mapping[str, Any]:
        return {name: getattr(target, name) for name in names}

    def between(target: Target) -> Mapping[str, Any] | None:
        return values(target) if target.low_included and target.high_included else None

    build = _rising("limit of the target", Target)
    low, high = "<low_included> <low>", "<high_included> <high>"
    return Choice(
        "a target",
        (
            Pattern("between <low> and <high>", blanks, build, between),
            Pattern(f"{low}[ and {high}]", blanks, build, values),
            Pattern(f"{high}[ and {low}]", blanks, build, values),
            Fixed({"anything": Target(None, None)}),
        ),
        "as in below 7 days",
    )


def _range_form(unit: Unit) -> Form[Bounds]:
    limit = _limit_form(unit)
    return Pattern(
        "from <low> to <high>",
        {"low": limit, "high": limit},
        _rising("end of the range", Bounds),
        lambda bounds: {"low": bounds.low, "high": bounds.high},
    )


_BANDS = {Key.TARGET: "The PPI value must be", Key.TOLERATED: "The PPI value may be"}

# --- writing --------------------------------------------------------------------------


def write_template(catalogue: Catalogue) -> str:
    """The catalogue as text, from which `read_template` makes it again."""
    blocks = ["\n".join(_ppi_lines(ppi)) for ppi in catalogue.ppis]
    total = "" if catalogue.total is None else f"\n{Key.TOTAL}: {catalogue.total}"
    return "\n\n".join([f"{Key.LOG}: {_text(catalogue.log)}{total}", *blocks]) + "\n"


def _ppi_lines(ppi: Ppi) -> Iterator[str]:
    yield f"{Key.PPI}: {ppi.id}"
    yield from _plain_lines(ppi, Key.NAME, Key.PROCESS, Key.GOALS)
    yield _folded(f"{Key.DEFINITION}: The PPI is defined as {definition(ppi)}")
    if ppi.unit != usual_unit(ppi.measure):
        yield f"{Key.UNIT}: {_unit_entry(ppi.measure).write(ppi.unit)}"
    targets: tuple[Ppi | GroupTarget, ...] = (ppi, *ppi.group_targets)
    for group in targets:
        where = f" in {quote_text(group.key)}" if isinstance(group, GroupTarget) else ""
        for (key, lead), target in zip(
            _BANDS.items(), (group.target, group.tolerated), strict=True
        ):
            if target is not None:
                yield f"{key}{where}: {_sentence(target_form(ppi.unit), lead).write(target)}"
    if ppi.value_range is not None:
        yield f"{Key.RANGE}: {_range_form(ppi.unit).write(ppi.value_range)}"
    yield from _plain_lines(ppi, Key.SCOPE, Key.RESPONSIBLE, Key.INFORMED, Key.COMMENTS)
    yield from _plain_lines(ppi, Key.EPSILON, Key.RELEASE, Key.EXPECTED)


def _plain_lines(ppi: Ppi, *keys: Key) -> Iterator[str]:
    defaults = {own.name: own.default for own in fields(Ppi)}
    for key in keys:
        name, entry = _ENTRIES[key]
        value = getattr(ppi, name)
        if value != defaults[name]:
            line = f"{key}: {entry.write(value)}"
            yield _folded(line) if key is Key.SCOPE else line.replace(": \n", ":\n")


# --- reading --------------------------------------------------------------------------


def read_template(text: str, file: str = "<template>", reading: Reading = _READING) -> Catalogue:
    """The catalogue that a template says; DefinitionError with every problem in it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    start = Position(file, 1, 1)
    if len(text) > MAX_SIZE:
        raise refusal(start, f"the file has more than {MAX_SIZE:,} characters")
    problems = Problems()
    head, blocks = _blocks(_lines(text, located(text, start), reading, problems), start, problems)
    log = head.read(Key.LOG, _TEXT)
    if not log:
        place = head.lines[Key.LOG].place if Key.LOG in head.lines else head.place
        problems.add(place, "the template does not say which log it is about", "as in Log: claims")
    total = head.read(Key.TOTAL, _EPSILON)
    ppis = tuple(ppi for block in blocks if (ppi := _ppi(block)) is not None)
    for position, message in twins(ppis):
        problems.add(position, message)
    if problems.found:
        in_order = sorted(problems.found, key=lambda it: (it.position.line, it.position.column))
        raise DefinitionError(in_order)
    return Catalogue(log or "", ppis, total, file=file)


@dataclass(slots=True)
class _Block:
    """What is said about one PPI, or before the first; of single groups by key and group.

    What is wrong with a line is kept among the problems, and the line counts as not there.
    """

    place: Position
    problems: Problems
    lines: dict[Key, _Line] = field(default_factory=dict)
    groups: dict[tuple[Key, str], _Line] = field(default_factory=dict)

    def add(self, line: _Line) -> None:
        if line.group is not None:
            if (line.key, line.group) in self.groups:
                message = f"this was already said for the group {quoted(line.group)}"
                self.problems.add(line.place, message)
            self.groups[line.key, line.group] = line
            return
        if line.key in self.lines:
            first = self.lines[line.key].place.line
            message = f"the line {quoted(line.key.value)} appears twice; first in line {first}"
            self.problems.add(line.place, message)
        self.lines.setdefault(line.key, line)

    def read(self, key: Key | _Line | None, entry: _Entry[T]) -> T | None:
        """What a line says, or None."""
        line = self.lines.get(key) if isinstance(key, Key) else key
        try:
            return None if line is None else entry.read(line)
        except DefinitionError as error:
            self.problems.extend(error.problems)
        except UsageError as error:
            self.problems.add(cast("_Line", line).position, error.message, error.hint)
        return None


def _blocks(
    lines: Iterator[_Line], start: Position, problems: Problems
) -> tuple[_Block, list[_Block]]:
    """What stands before the first PPI, and what about each."""
    head, blocks = _Block(start, problems), list[_Block]()
    for line in lines:
        if line.key is Key.PPI:
            if len(blocks) == MAX_PPIS:
                raise refusal(line.place, f"a template holds at most {MAX_PPIS:,} PPIs")
            blocks.append(_Block(line.place, problems))
        of_all = line.key in (Key.LOG, Key.TOTAL)
        if of_all and blocks:
            problems.add(line.place, f"'{line.key}' must come once, before all PPIs")
        elif not of_all and not blocks:
            message = f"{quoted(line.key.value)} must come after the 'PPI' it is about"
            problems.add(line.place, message)
        else:
            (blocks[-1] if blocks else head).add(line)
    return head, blocks


def _ppi(block: _Block) -> Ppi | None:
    """A PPI; None, with problems, where what it needs is not there."""
    key = block.read(Key.PPI, _Entry(_id, str))
    if Key.DEFINITION not in block.lines:
        block.problems.add(block.place, "this PPI has no definition", _EXAMPLE)
    measure = block.read(Key.DEFINITION, _DEFINITION)
    said: dict[str, Any] = {"name": key, "scope": EVERY_MONTH}
    for at, (name, entry) in _ENTRIES.items():
        if (value := block.read(at, entry)) is not None:
            said[name] = value
    unit = None
    if measure is not None and Key.UNIT in block.lines:
        unit = block.read(Key.UNIT, _unit_entry(measure))
    elif measure is not None:
        unit = usual_unit(measure)
    if key is None or measure is None or unit is None:
        return None
    green, amber = _bands(block, unit, *(block.lines.get(band) for band in _BANDS))
    return Ppi(
        id=key,
        measure=measure,
        unit=unit,
        target=green,
        tolerated=amber,
        value_range=block.read(Key.RANGE, _sentence(_range_form(unit))),
        group_targets=_group_targets(block, measure, unit),
        position=block.place,
        **said,
    )


def _bands(
    block: _Block, unit: Unit, target: _Line | None, tolerated: _Line | None
) -> tuple[Target | None, Target | None]:
    """What is green, and what is amber."""
    form = target_form(unit)
    green = block.read(target, _sentence(form, _BANDS[Key.TARGET]))
    amber = block.read(tolerated, _sentence(form, _BANDS[Key.TOLERATED]))
    if tolerated is not None and target is None:
        block.problems.add(tolerated.place, "there is a tolerated range, but no target")
    if green is not None and amber is not None and tolerated and not amber.contains(green):
        message = "the tolerated range must include all of the target"
        block.problems.add(tolerated.position, message)
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
            block.problems.add(line.position, *unclear_share(limit / PERCENT.factor))


def _group_targets(block: _Block, measure: MultiInstance, unit: Unit) -> tuple[GroupTarget, ...]:
    # All measures of a formula are grouped alike, says the checker, so the first tells.
    grouping = next(measure.grouping for _, measure in aggregated_measures(measure))
    keys = grouping.keys if grouping else ()
    for (_, group), line in block.groups.items():
        if group not in keys:
            known = f"the groups are {listed(keys, 'and')}" if keys else "the PPI has no groups"
            hint = did_you_mean(group, keys[:MAX_SUGGESTED], known)
            block.problems.add(line.place, f"this PPI has no group {quoted(group)}", hint)
    targets = []
    for group in dict.fromkeys(group for _, group in block.groups):
        green, amber = _bands(block, unit, *(block.groups.get((band, group)) for band in _BANDS))
        if green is not None:
            targets.append(GroupTarget(group, green, amber))
    return tuple(targets)
