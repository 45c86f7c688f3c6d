"""PPIs, as they are read."""

from __future__ import annotations

import re
from fractions import Fraction

from pappi.errors import Position, Problem, UsageError
from pappi.ppinot.catalogue.document import MapNode, Node
from pappi.ppinot.catalogue.releases import MECHANISM_NAMES
from pappi.ppinot.java.case_measures import Read
from pappi.ppinot.java.fields import Fields
from pappi.ppinot.java.measures import read_measure
from pappi.ppinot.java.numbers import exact, read_range
from pappi.ppinot.java.scopes import read_group_targets, read_scope, read_target
from pappi.ppinot.java.units import labelled, read_unit
from pappi.ppinot.model import MultiInstance, NoiseOn, Ppi, ReleaseChoice, Scope, Wanted
from pappi.ppinot.wording import quoted
from pappi.values.bounds import Bounds
from pappi.values.epsilon import ZERO, Epsilon
from pappi.values.units import Unit

ID = re.compile(r"[A-Za-z][A-Za-z0-9_\-]{0,63}")

_MOST_BUCKETS = 10**9
_WANTED = {wanted.value: wanted for wanted in Wanted}
_MECHANISMS = {name: name for name in MECHANISM_NAMES}


class NotAPpi(Exception):
    """What measures one case only cannot be released, and is no PPI here."""

    def __init__(self, position: Position, called: str) -> None:
        super().__init__(called)
        message = f"{quoted(called)} measures one case only: it is no PPI here, and left out"
        hint = "aggregate it: an AggregatedMeasure with it as 'baseMeasure'"
        self.remark = Problem(position, message, hint, level="warning")


def read_ppi(fields: Fields, number: int, process: str, remarks: list[Problem]) -> Ppi | None:
    """A PPI; raises NotAPpi if it measures one case only."""
    process = fields.text("process") or process
    fields.context = fields.context.within(process)
    fields.require("measuredBy", "a PPI")
    node = fields.get("measuredBy")
    read = None if node is None else read_measure(node, fields.context)
    identifier = _identifier(fields, number, remarks)
    scope = read_scope(fields, "scope", read.anchor if read else None)
    if read is None or scope is None:
        return None
    measure = _of_many(read, fields.position, fields.text("name") or identifier)
    usual = usual_unit(measure, read)
    unit = read_unit(fields, measure, usual)
    scale = read.unit.factor if read.unit else unit.factor
    return Ppi(
        id=identifier,
        name=fields.text("name") or identifier,
        measure=measure,
        unit=unit,
        scope=scope,
        target=read_target(fields.object("target", "a target"), scale),
        value_range=_value_range(fields, unit),
        epsilon=_epsilon(fields),
        release=_release(fields),
        process=process,
        goals=fields.texts("goals"),
        responsible=fields.text("responsible"),
        informed=fields.texts("informed"),
        comments=fields.text("comments"),
        tolerated=read_target(fields.object("tolerated", "a target"), scale),
        group_targets=read_group_targets(fields, "groupTargets", scale),
        position=fields.place("id"),
    )


def ppi_of_measure(
    fields: Fields, node: Node, number: int, process: str, remarks: list[Problem]
) -> Ppi | None:
    """A measure as a PPI of its own, over all of the log; raises NotAPpi if it is of one case."""
    read = read_measure(node, fields.context)
    if read is None:
        return None
    identifier = _identifier(fields, number, remarks)
    measure = _of_many(read, fields.position, fields.text("name") or identifier)
    return Ppi(
        id=identifier,
        name=fields.text("name") or identifier,
        measure=measure,
        unit=usual_unit(measure, read),
        scope=Scope(None, anchor=read.anchor),
        process=fields.text("process") or process,
        comments=fields.text("description"),
        position=fields.place("id"),
    )


def _of_many(read: Read, position: Position, called: str) -> MultiInstance:
    if isinstance(read.measure, MultiInstance):
        return read.measure
    raise NotAPpi(position, called)


def usual_unit(measure: MultiInstance, read: Read) -> Unit:
    """The unit a measure is in for Java, or the one its label stands for."""
    return read.unit or labelled(measure, read.label)


def _identifier(fields: Fields, number: int, remarks: list[Problem]) -> str:
    """The id as written, or the closest that an id can be here."""
    written = fields.text("id")
    if ID.fullmatch(written):
        return written
    made = re.sub(r"[^A-Za-z0-9_\-]+", "-", written or fields.text("name")).strip("-")
    found = made if re.match("[A-Za-z]", made) else f"ppi-{made or number}"
    if written:
        message = f"the id {quoted(written)} becomes {quoted(found[:64])}"
        hint = "an id has letters, digits, - and _, with a letter first"
        remarks.append(Problem(fields.place("id"), message, hint, level="warning"))
    return found[:64]


# --- privacy --------------------------------------------------------------------------


def _value_range(fields: Fields, unit: Unit) -> Bounds | None:
    written = fields.object("valueRange", "a range such as {'low': 0, 'high': 100}")
    return None if written is None else read_range(written, unit.factor)


def _epsilon(fields: Fields) -> Epsilon | None:
    privacy = fields.object("privacy")
    if privacy is None or "epsilon" not in privacy:
        return None
    try:
        epsilon = Epsilon.of(privacy.text("epsilon")[:100])
    except UsageError as error:
        privacy.refuse("epsilon", error.message, error.hint)
        return None
    if epsilon == ZERO:
        privacy.refuse("epsilon", "epsilon must be above 0")
    return epsilon


def _release(fields: Fields) -> ReleaseChoice:
    privacy = fields.object("privacy")
    if privacy is None:
        return ReleaseChoice()
    return ReleaseChoice(
        answer=privacy.word("answer", _WANTED, "'value' or 'verdict'") or Wanted.VALUE,
        mechanism=privacy.word("mechanism", _MECHANISMS, "a mechanism"),
        noise=_noise(privacy),
        falloff=_falloff(privacy),
        buckets=privacy.whole("buckets", 1, _MOST_BUCKETS),
    )


def _noise(privacy: Fields) -> tuple[NoiseOn, ...]:
    """Functions by name, or each with a mechanism and a share of its own."""
    if not isinstance(privacy.get("noise"), MapNode):
        return tuple(NoiseOn(name) for name in privacy.texts("noise"))
    return tuple(_own(key.text, node, privacy) for key, node in privacy.entries("noise"))


def _own(function: str, node: Node, privacy: Fields) -> NoiseOn:
    own = privacy.opened(node, "an object with 'mechanism' and 'share'")
    if own is None:
        return NoiseOn(function)
    share = exact(own.text("share")) if "share" in own else None
    if "share" in own and (share is None or not 0 < share <= 1):
        own.refuse("share", "a share of epsilon is above 0 and at most 1", "write e.g. 0.3")
        share = None
    return NoiseOn(function, own.word("mechanism", _MECHANISMS, "a mechanism"), share)


def _falloff(privacy: Fields) -> Fraction | None:
    if "falloff" not in privacy:
        return None
    number = exact(privacy.text("falloff"))
    if number is None:
        privacy.refuse("falloff", "expected a number")
    return number
