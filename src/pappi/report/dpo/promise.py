"""The guarantee of a whole log in plain sentences: never more than holds.

Why the numbers are right. A case lies in one block, by the log's anchor, and a release is
charged to every block whose cases it reads. So

- one case affects only what was charged to its block: the most charged block is the bound;
- of a person at most k cases count, each in releases at ε/k. If they are counted in the whole
  log, the k of them lie in some blocks and lose at most the largest account; if they are counted
  in each block, the guarantee is per block, and over all blocks it is the sum of all accounts;
- under `replace` the two logs compared have the same number of cases on every day, so that a
  case keeps its day, and its block: the most charged block again, but the day is not protected.

All of this needs cases that stay in their block. Sealing ensures that in the workspace. At a
source only its operators can: there the sentences say so.

Factors are rounded up. If e to the ε is too large to protect anybody, the sentence says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pappi.report.dpo.facts import LogFacts
from pappi.report.wording import HOPELESS, compared, counted, promise, their_cases, times
from pappi.values import UNDER_REPLACE, Adjacency, Epsilon, Per, PrivacyUnit


@dataclass(frozen=True, slots=True)
class Bound:
    """A sentence and its ε; None where nothing was published or nothing bounds it."""

    of: str
    epsilon: Epsilon | None
    sentence: str


def bounds_of(log: LogFacts) -> tuple[Bound, ...]:
    """The guarantee for one figure, for all so far, for all ever; and what adds up."""
    return (_single(log), _together(log), _ever(log), *_adding_up(log))


def compared_text(log: LogFacts) -> str:
    """Which two logs the guarantee compares."""
    return compared([log.terms.adjacency], log.terms.unit)


def ever_of(log: LogFacts) -> Epsilon:
    """The most ε that any one block can spend under today's budgets."""
    limits = [log.terms.block_budget]
    if log.terms.total_budget is not None:
        # All blocks together spend at least what one of them does.
        limits.append(log.terms.total_budget)
    return max(log.spent_most, min(limits))


def likelier(epsilon: Epsilon) -> str:
    """
    >>> likelier(Epsilon.of("0.1")), likelier(Epsilon.of(20))
    ('at most 1.11 times likelier', 'at most e^20 times likelier, which protects nobody,')
    """
    remark = ", which protects nobody," if epsilon > HOPELESS else ""
    return f"at most {times(epsilon)} likelier{remark}"


def _single(log: LogFacts) -> Bound:
    largest = log.largest_release
    if largest is None:
        return Bound("one release", None, "Nothing has been published about this log yet.")
    if largest > HOPELESS:
        sentence = f"One published figure may become {likelier(largest)} because of {_whom(log)}."
        return Bound("one release", largest, sentence)
    return Bound("one release", largest, promise(largest, log.terms.unit))


def _together(log: LogFacts) -> Bound:
    spent = log.spent_most
    sentence = (
        f"All figures published so far about {_about(log.terms.unit)}, taken together, become "
        f"{likelier(spent)} because of {_whom(log)} (ε = {spent}, spent by the most charged "
        f"block){_of_its_source(log, ', if ')}."
    )
    return Bound("all releases so far", spent, sentence)


def _ever(log: LogFacts) -> Bound:
    ever = ever_of(log)
    sentence = (
        f"Whatever is asked in future, all figures about {_about(log.terms.unit)} together become "
        f"{likelier(ever)} because of {_whom(log)} (ε = {ever}), as long as the owner does "
        f"not raise the budget{_of_its_source(log, ' and ')}; raising it would be recorded in the "
        "ledger."
    )
    return Bound("all releases ever", ever, sentence)


def _of_its_source(log: LogFacts, joined: str) -> str:
    """A condition that only the source can ensure; none for events in the workspace."""
    if not log.source:
        return ""
    # Only the first cases of a person count: one more or less changes which ones count.
    moved = "come, gone or changed its block" if _counted_in_all(log) else "changed its block"
    return f"{joined}no case from sealed time has {moved} at the source"


def _counted_in_all(log: LogFacts) -> bool:
    return log.terms.unit.column is not None and log.terms.unit.per is Per.LOG


def _adding_up(log: LogFacts) -> Iterator[Bound]:
    """What a guarantee per case, or per person and block, does not say about a person."""
    if _counted_in_all(log):
        return
    if log.terms.unit.column is None:
        whom = "somebody with one case in every block"
        first = (
            "A person with several cases is not protected as a whole: what their cases reveal adds "
            "up."
        )
    else:
        whom = f"one '{log.terms.unit.column}' with cases in every block"
        first = f"What different blocks reveal about the same '{log.terms.unit.column}' adds up."
    spent, total = log.spent_in_all, log.terms.total_budget
    so_far = f"All figures so far become {likelier(spent)} because of {whom} (ε = {spent})."
    yield Bound("all blocks together, so far", spent, f"{first} {so_far}")
    if total is None:
        amount = f"ε {log.terms.block_budget} with every block queried"
        sentence = f"There is no budget for all blocks together: this sum may grow by {amount}."
        yield Bound("all blocks together, ever", None, sentence)
    else:
        most = max(total, spent)
        sentence = f"The budget for all blocks together keeps this sum at or below ε = {most}."
        yield Bound("all blocks together, ever", most, sentence)


def _about(unit: PrivacyUnit) -> str:
    per_block = unit.column is not None and unit.per is Per.BLOCK
    return "any one block" if per_block else "this log"


def _whom(log: LogFacts) -> str:
    if log.terms.unit.column is None:
        add_remove = log.terms.adjacency is Adjacency.ADD_REMOVE
        return "one case" if add_remove else "what one case contains"
    where = " in that block" if log.terms.unit.per is Per.BLOCK else ""
    return f"{their_cases(log.terms.unit)}{where}, {counted(log.terms.unit)}"


# --- what the guarantee does not cover ------------------------------------------------


def not_covered(log: LogFacts) -> tuple[str, ...]:
    """What a reader might think is protected, and is not."""
    return (
        "What the owner has declared public about the log (listed below).",
        (
            "Who asked what, when and at which ε: queries are recorded, and everyone with access "
            "to the log can see them. A definition may name values; these come from the analyst, "
            "not from the log."
        ),
        *_of_the_unit(log),
        *(_of_the_source(log) if log.source else ()),
        (
            "Other logs about the same people, in this workspace or elsewhere, and whatever other "
            "systems publish: each has its own guarantee or none, and what they reveal adds up."
        ),
        (
            "Exact values that the owner computes for their own use: passing them on is outside "
            "the guarantee. Who viewed them is recorded and listed below."
        ),
        (
            "A dishonest owner, a stolen workspace, somebody on the same machine, and somebody who "
            "rewrites the whole ledger. The timing of replies and results is rounded to a fixed "
            "time grid: the number of steps until an answer may depend on the data."
        ),
    )


def _of_the_unit(log: LogFacts) -> Iterator[str]:
    if log.terms.unit.column is None:
        yield (
            "Persons: the unit is the case. What several cases of the same person reveal adds up, "
            "and related cases of different people are protected one by one."
        )
    else:
        yield (
            f"Links between different values of '{log.terms.unit.column}', such as families, or "
            "one person spelled in two ways."
        )
    if log.terms.adjacency is Adjacency.REPLACE:
        yield UNDER_REPLACE


def _of_the_source(log: LogFacts) -> Iterator[str]:
    yield (
        f"What others can read or change at {log.source}. PaPPI trusts that rows from sealed time "
        "do not change there; it cannot enforce this."
    )
    yield (
        "Whether the source fails while an answer is computed. An analyst learns that a release "
        "was not completed, and no ε covers that: if something in the data made the source fail, "
        "that fact would leak. Investigate releases that were charged without a result."
    )


def late_data(log: LogFacts) -> str:
    sealed = (
        f"Time is sealed until {log.public.until}"
        if log.public.first < log.public.until
        else "Nothing is sealed"
    )
    unsealed = f"{sealed}; unsealed time is never used in an answer."
    if log.source:
        return f"{unsealed} {_late_at_source(log)}"
    return (
        f"{unsealed} Events that arrive later for sealed time are set aside and never used, so "
        "that no published figure changes and no case counts in two blocks. They are erased "
        "together with their case."
    )


def _late_at_source(log: LogFacts) -> str:
    """What happens to a case that continues at its source after it was used in an answer."""
    moved = (
        "A case stays in the block of its first event, unless that event is changed"
        if log.terms.anchor == "case start"
        else "A case that was already used and gets another event moves to a later block"
    )
    return (
        "The events are read at their source, where PaPPI cannot set aside late events for sealed "
        "time: a new query sees them. Published figures do not change. "
        f"{moved}; it then counts in two blocks, and its guarantee is the sum of what both have "
        f"spent. {_erased_there(log)}"
    )


def _erased_there(log: LogFacts) -> str:
    if not _counted_in_all(log):
        return "Events are erased at the source."
    return (
        f"One '{log.terms.unit.column}' must be erased at the source as a whole: if only some of "
        "their cases were erased, others would start to count."
    )
