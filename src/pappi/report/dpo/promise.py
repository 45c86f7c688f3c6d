"""The guarantee of a whole log in plain sentences: never more than holds.

Why the numbers are right. A case lies in one block, by the log's anchor, and a release is
charged to every block whose cases it reads. So

- one case moves only what was charged to its block: the most charged block bounds it all;
- of a person at most k cases count, each in releases at ε/k. If they are counted in the whole
  log, the k of them lie in some blocks and lose at most the largest account; if in each block
  anew, the guarantee is per block, and over all blocks it is the sum of all accounts;
- under `replace` the two logs compared have the same number of cases on every day, so that a
  case keeps its day, and its block: the most charged block again, but the day is not protected.

All of this needs cases that stay in their block. Sealing sees to that in the workspace. At a
source nobody can but those who keep it: there the sentences say so.

Factors are rounded up. Where e to the ε says nothing any more, the sentence says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pappi.report.dpo.facts import LogFacts
from pappi.report.wording import compared, promise, times
from pappi.values.epsilon import Epsilon
from pappi.values.privacy import UNDER_REPLACE, Adjacency, Per, PrivacyUnit

# Beyond this ε the factor is over 400,000.
_HOPELESS = Epsilon.of(13)


@dataclass(frozen=True, slots=True)
class Bound:
    """A sentence and the ε it rests on; none where nothing was published or nothing bounds it."""

    of: str
    epsilon: Epsilon | None
    sentence: str


def bounds_of(log: LogFacts) -> tuple[Bound, ...]:
    """The guarantee: of one figure, of all so far, of all to come; and what adds up."""
    return (_single(log), _together(log), _ever(log), *_adding_up(log))


def compared_text(log: LogFacts) -> str:
    """Which two logs the guarantee compares."""
    return compared([log.adjacency], log.unit)


def ever_of(log: LogFacts) -> Epsilon:
    """What any one block can come to, by the budgets of today; what is spent stays spent."""
    limits = [log.block_budget]
    if log.total_budget is not None:
        # All blocks together spend at least what one of them does.
        limits.append(log.total_budget)
    return max(log.spent_most, min(limits))


def likelier(epsilon: Epsilon) -> str:
    """
    >>> likelier(Epsilon.of("0.1")), likelier(Epsilon.of(20))
    ('at most 1.11 times likelier', 'at most e^20 times likelier, which protects nobody,')
    """
    if epsilon > _HOPELESS:
        return f"at most e^{epsilon} times likelier, which protects nobody,"
    return f"at most {times(epsilon)} likelier"


def _single(log: LogFacts) -> Bound:
    largest = log.largest_release
    if largest is None:
        return Bound("one release", None, "Nothing has been published about this log yet.")
    if largest > _HOPELESS:
        sentence = f"One published figure may become {likelier(largest)} because of {_whom(log)}."
        return Bound("one release", largest, sentence)
    return Bound("one release", largest, promise(largest, log.unit))


def _together(log: LogFacts) -> Bound:
    spent = log.spent_most
    sentence = (
        f"All figures published so far about {_about(log.unit)}, taken together, become "
        f"{likelier(spent)} because of {_whom(log)} (ε = {spent}, which is what the most "
        f"charged block has spent){_of_its_source(log, ', if ')}."
    )
    return Bound("all releases so far", spent, sentence)


def _ever(log: LogFacts) -> Bound:
    ever = ever_of(log)
    sentence = (
        f"Whatever is asked in future, all figures about {_about(log.unit)} together become "
        f"{likelier(ever)} because of {_whom(log)} (ε = {ever}), as long as the owner does "
        f"not raise the budget{_of_its_source(log, ' and ')}; raising it "
        "would be an entry of the ledger."
    )
    return Bound("all releases ever", ever, sentence)


def _of_its_source(log: LogFacts, joined: str) -> str:
    """A condition that nobody but the source can see to; none for the workspace's own events."""
    if not log.source:
        return ""
    # Of a person's cases the first so many count: one more, or less, lets others count.
    moved = "come, gone or changed its block" if _counted_in_all(log) else "changed its block"
    return f"{joined}no case of sealed time has {moved} at the source"


def _counted_in_all(log: LogFacts) -> bool:
    return log.unit.column is not None and log.unit.per is Per.LOG


def _adding_up(log: LogFacts) -> Iterator[Bound]:
    """What a guarantee per case, or per person and block, does not say about a person."""
    if _counted_in_all(log):
        return
    if log.unit.column is None:
        whom = "somebody with one case in every block"
        first = (
            "A person with several cases is not protected as one: what their cases tell adds up."
        )
    else:
        whom = f"one '{log.unit.column}' with cases in every block"
        first = f"What different blocks tell about the same '{log.unit.column}' adds up."
    spent, total = log.spent_in_all, log.total_budget
    so_far = f"All figures so far become {likelier(spent)} because of {whom} (ε = {spent})."
    yield Bound("all blocks together, so far", spent, f"{first} {so_far}")
    if total is None:
        each = f"ε {log.block_budget} with every block that is asked about"
        sentence = f"No budget for all blocks together is set: this sum may grow by {each}."
        yield Bound("all blocks together, ever", None, sentence)
    else:
        most = max(total, spent)
        sentence = f"The budget for all blocks together keeps this sum at or below ε = {most}."
        yield Bound("all blocks together, ever", most, sentence)


def _about(unit: PrivacyUnit) -> str:
    per_block = unit.column is not None and unit.per is Per.BLOCK
    return "any one block" if per_block else "this log"


def _whom(log: LogFacts) -> str:
    unit = log.unit
    if unit.column is None:
        add_remove = log.adjacency is Adjacency.ADD_REMOVE
        return "one case" if add_remove else "what one case contains"
    cases = "1 case counts" if unit.max_cases == 1 else f"{unit.max_cases} cases count"
    where = " in that block" if unit.per is Per.BLOCK else ""
    return f"the cases of one '{unit.column}'{where}, of whom at most {cases}"


# --- what the guarantee does not speak of ---------------------------------------------


def not_covered(log: LogFacts) -> tuple[str, ...]:
    """What a reader might take to be protected, and is not."""
    return (
        "What the owner has declared public about the log: it is listed below.",
        (
            "Who asked what, when and at which ε: the questions are on record, and everybody who "
            "may ask about the log can see them. A definition may name values; they are the "
            "analyst's words, not the log's."
        ),
        *_of_the_unit(log),
        *(_of_the_source(log) if log.source else ()),
        (
            "Other logs about the same people, in this workspace or elsewhere, and whatever other "
            "systems publish: each has a guarantee of its own or none, and what they tell adds up."
        ),
        (
            "Exact values that the owner computes for the owner's own use: passing them on is "
            "outside of the guarantee. Who looked at them is on record, and listed below."
        ),
        (
            "A dishonest owner, a stolen workspace, somebody on the same machine, and somebody who "
            "writes the whole ledger anew. How long replies take, and when results appear, is "
            "narrowed to a fixed time grid: in how many steps of it an answer comes may depend on "
            "the data."
        ),
    )


def _of_the_unit(log: LogFacts) -> Iterator[str]:
    if log.unit.column is None:
        yield (
            "Persons: the unit is the case. What several cases of the same person tell adds up, "
            "and cases of different people that depend on each other are protected one by one."
        )
    else:
        yield (
            f"What ties different values of '{log.unit.column}' together, such as families, or "
            "one person written in two ways."
        )
    if log.adjacency is Adjacency.REPLACE:
        yield UNDER_REPLACE


def _of_the_source(log: LogFacts) -> Iterator[str]:
    yield (
        f"What others can read or change at {log.source}. That its rows of sealed time stay as "
        "they are is trusted, not enforced."
    )
    yield (
        "Whether the source fails while an answer is computed. An analyst is told that a release "
        "was not completed, and no ε covers that: if something in the data made the source fail, "
        "that much would be told. Look into releases that were charged without a result."
    )


def late_data(log: LogFacts) -> str:
    sealed = f"Time is sealed until {log.until}" if log.first < log.until else "Nothing is sealed"
    unsealed = f"{sealed}; nothing is answered about time that is not sealed."
    if log.source:
        return f"{unsealed} {_late_at_source(log)}"
    return (
        f"{unsealed} What arrives later about "
        "sealed time is kept apart and never answered, so that no published figure changes and "
        "no case counts in two blocks. It is erased together with its case."
    )


def _late_at_source(log: LogFacts) -> str:
    """What `LogFacts.anchor` means for a case that goes on at its source after it was answered."""
    moved = (
        "A case stays in the block of its first event, unless that event is changed"
        if log.anchor == "case start"
        else "A case that was answered and gets another event moves to a later block"
    )
    return (
        "The events are read at their source, where PaPPI cannot keep apart what arrives later "
        "about sealed time: a new question sees it. What was published does not change. "
        f"{moved}; it then counts in two blocks, and its guarantee is the sum of what both have "
        f"spent. {_erased_there(log)}"
    )


def _erased_there(log: LogFacts) -> str:
    if not _counted_in_all(log):
        return "Events are erased at the source."
    return (
        f"One '{log.unit.column}' is erased at the source as a whole: without some of their cases "
        "others would begin to count."
    )
