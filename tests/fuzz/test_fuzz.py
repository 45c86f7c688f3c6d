"""Whatever a definition holds: only our own errors, in time, and nothing but our own SQL."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlglot import exp

from pappi.engine.query import CaseQuery
from pappi.errors import DefinitionError, PappiError, Problem, UsageError
from pappi.ppinot import Catalogue, check_catalogue, read_definitions
from pappi.ppinot import expressions as nodes
from pappi.ppinot.expressions import walk
from pappi.ppinot.grammar import parse_expression
from pappi.ppinot.notations.document import ReadCatalogue
from pappi.values import Vocabulary
from tests.fuzz import promises, trial
from tests.fuzz.campaign import OURS, Tally, definition, run, sort_of, summary
from tests.fuzz.catalogues import catalogue
from tests.fuzz.dice import Dice
from tests.fuzz.generate import NOTATIONS, READERS, TURNS, read_expression
from tests.fuzz.promises import Found, check_printable
from tests.fuzz.sql_check import NotOurs, check_parses, check_words, empty_log
from tests.fuzz.trial import Looks, Subject, try_definition
from tests.fuzz.vocabulary import TEXTS, UNDECLARED, VOCABULARY
from tests.lengths import length

SEED = 1
STRICT_SECONDS = trial.SECONDS
CHUNKS, GENERATED, CHANGED = length((3, 300, 400), (8, 700, 900))
# The campaign looks at every query with the database's own parser; here at some.
LOOKS = Looks(parsed=7, told=13, written=107, sqlglot=97, planned=101, released=103)
ROOT = Path(__file__).parents[2]


# --- the campaign, in short -----------------------------------------------------------


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_generated_definition_breaks_a_promise(chunk: int) -> None:
    tally = run(SEED, _part(chunk, GENERATED), are_mutated=False, looks=LOOKS)
    assert not tally.failures, _told(tally)
    assert tally.share("sound", are_mutated=False) > 60


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_mutated_definition_breaks_a_promise(chunk: int) -> None:
    tally = run(SEED, _part(chunk, CHANGED), are_mutated=True, looks=LOOKS)
    assert not tally.failures, _told(tally)
    assert tally.share("sound", are_mutated=True) > 10


@pytest.mark.parametrize("ending", [".yaml", ".json", ".txt", ".bpmn", ""])
def test_a_damaged_file_is_read_or_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"definitions{ending}"
    for number in range(200):
        dice = Dice(f"{SEED} damaged {number}")
        text = definition(sort_of(number, are_mutated=True), SEED, number)
        content = bytearray(text.encode("utf-8", "surrogatepass"))
        for _ in range(dice.number(0, 3)):
            content.insert(dice.number(0, len(content)), dice.number(0, 255))
        path.write_bytes(content)
        try:
            read_definitions(path, log="claims")
        except PappiError as error:
            check_printable(str(error), error.hint)


def _part(chunk: int, count: int) -> range:
    return range(chunk * count, (chunk + 1) * count)


def _told(tally: Tally) -> str:
    return "\n".join([summary(tally), *map(str, tally.failures[:3])])


# --- what is generated ----------------------------------------------------------------


def test_every_notation_has_its_turn_and_most_of_its_definitions_are_sound() -> None:
    assert set(TURNS) == set(NOTATIONS)
    tally = run(SEED, range(480), are_mutated=False, looks=LOOKS)
    for notation in NOTATIONS:
        counts = {verdict: n for (sort, verdict), n in tally.verdicts.items() if sort == notation}
        assert counts["sound"] > 0.6 * sum(counts.values()), notation


def test_every_key_and_word_of_the_published_schema_is_generated() -> None:
    schema = json.loads((ROOT / "schemas" / "catalogue.schema.json").read_text("utf-8"))
    missing = _words(schema) - {"true", "false"}
    for number in range(3_000):
        missing -= set(re.findall(r'"([\w %-]+)"', definition("json", SEED, number)))
        if not missing:
            break
    assert not missing


def _words(schema: object) -> set[str]:
    """The keys of all mappings of a schema, and its fixed words."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            words = [*part.get("properties", {}), *map(str, part.get("enum", ()))]
            found |= {word.lower() if word in ("True", "False") else word for word in words}
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return found


@pytest.mark.parametrize("are_mutated", [False, True])
def test_injected_sql_odd_texts_and_names_of_other_tables_are_written(*, are_mutated: bool) -> None:
    missing = [text for text in (*TEXTS, *UNDECLARED) if text.isprintable()]
    for n in range(12_000):
        text = definition(sort_of(n, are_mutated=are_mutated), SEED, n)
        missing = [each for each in missing if each not in text and quoted(each) not in text]
        if not missing:
            break
    assert not missing


def quoted(text: str) -> str:
    """As it stands between the quotes of an expression, or of an expression in JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def test_every_sort_of_node_and_every_operator_is_generated() -> None:
    found = [node for each in _expressions() for node in walk(each)]
    assert {type(node) for node in found} == set(nodes.Expression.__args__)
    operators = {node.operator for node in found if isinstance(node, nodes.Binary)}
    assert operators == set(nodes.Operator)
    functions = {node.function for node in found if isinstance(node, nodes.Apply)}
    assert functions == set(nodes.Function)


def _expressions() -> Iterator[nodes.Expression]:
    for number in range(1_000):
        try:
            yield parse_expression(definition("expression", SEED, number))
        except DefinitionError:
            continue


def test_a_definition_comes_from_its_seed_sort_and_number_alone() -> None:
    sort = sort_of(7, are_mutated=True)
    command = [sys.executable, "-m", "tests.fuzz.campaign", "--replay", sort, str(SEED), "7"]
    replayed = subprocess.run(command, capture_output=True, cwd=ROOT, check=False)
    assert repr(definition(sort, SEED, 7)) in replayed.stdout.decode()
    assert definition(sort, SEED, 7) != definition(sort, SEED + 1, 7)


def test_trees_are_the_same_whichever_way_they_are_written() -> None:
    for number in range(200):
        tree = catalogue(Dice(f"{number}"))
        as_yaml, as_json = (
            NOTATIONS[name].text(tree, Dice(f"{name} {number}")) for name in ("yaml", "json")
        )
        assert _read(as_yaml) == _read(as_json), f"{as_yaml}\n{as_json}"


def _read(text: str) -> Catalogue | list[str]:
    try:
        return READERS["yaml"](text)
    except DefinitionError as error:
        return [problem.message for problem in error.problems]


# --- planted faults: each must be found -------------------------------------------------


def is_found(what: str, subject: Subject, sort: str) -> bool:
    """Whether some definition of a sort brings a fault to light."""
    return any(what in found for found in _faults(subject, sort))


def _faults(subject: Subject, sort: str) -> Iterator[str]:
    notation = sort.removeprefix("mutated-")
    for number in range(2_000):
        try:
            try_definition(subject, notation, definition(sort, SEED, number), number, LOOKS)
        except Found as found:
            yield str(found)


def reading(read: trial.Reader) -> Subject:
    return replace(OURS, readers={**READERS, "expression": read})


def test_a_reader_that_lets_a_key_error_escape_is_found() -> None:
    def reader(text: str) -> Catalogue:
        for word in re.findall("days|hours", text):
            {"hours": 24}[word]
        return read_expression(text)

    assert is_found("KeyError escaped", reading(reader), "expression")


def test_a_reader_that_goes_as_deep_as_the_text_is_found() -> None:
    def depth(text: str, at: int) -> int:
        return 0 if at == len(text) else 1 + depth(text, at + 1)

    def reader(text: str) -> Catalogue:
        depth(text, 0)
        return read_expression(text)

    assert is_found("RecursionError escaped", reading(reader), "mutated-expression")


def test_a_reader_that_is_quadratic_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "SECONDS", STRICT_SECONDS)

    def reader(text: str) -> Catalogue:
        sum(one == other for one in text[:2_000] for other in text[:2_000])
        return read_expression(text)

    assert is_found("it takes too long", reading(reader), "mutated-expression")


def test_a_reader_that_never_ends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def reader(_: str) -> Catalogue:
        while True:
            pass

    monkeypatch.setattr(trial, "HANGING", 0.1)
    assert is_found("it takes more than", reading(reader), "expression")


def test_a_reader_that_pastes_what_was_written_into_its_message_is_found() -> None:
    def reader(text: str) -> Catalogue:
        raise UsageError(f"this is wrong: {text}")

    assert is_found("the message holds", reading(reader), "mutated-expression")


def test_a_notation_that_reads_its_own_writing_otherwise_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = ReadCatalogue(Catalogue("another log", ()))
    monkeypatch.setattr(promises, "parse_definitions", lambda *_: other)
    assert is_found("is read as something else", OURS, "text")


def unquoted(asked: CaseQuery) -> exp.Expr:
    """A query in which the names of attributes stand as they are."""
    query = trial.case_query(asked)
    for identifier in query.find_all(exp.Identifier):
        identifier.set("quoted", identifier.name not in VOCABULARY.attributes)
    return query


def pasted(asked: CaseQuery) -> exp.Expr:
    """A query in which texts stand between quotes as they are."""
    query = trial.case_query(asked)
    for literal in list(query.find_all(exp.Literal)):
        if literal.is_string:
            literal.replace(exp.Var(this=f"'{literal.this}'"))
    return query


def unclosed(asked: CaseQuery) -> exp.Expr:
    """A query in which a parenthesis stays open before every text."""
    query = trial.case_query(asked)
    for literal in list(query.find_all(exp.Literal)):
        if literal.is_string:
            literal.replace(exp.Var(this=f"({literal.sql()}"))
    return query


def test_a_compiler_whose_query_does_not_parse_is_found() -> None:
    found = replace(OURS, compile=unclosed)
    assert is_found("the database cannot read the query", found, "expression")


def test_a_compiler_that_pastes_an_attribute_unquoted_is_found() -> None:
    assert is_found("outside quotes", replace(OURS, compile=unquoted), "expression")


def test_a_compiler_that_pastes_a_text_unquoted_is_found() -> None:
    assert is_found("outside quotes", replace(OURS, compile=pasted), "expression")


def test_a_checker_that_lets_an_undeclared_column_through_is_found() -> None:
    def check(found: Catalogue, vocabulary: Vocabulary) -> list[Problem]:
        problems = check_catalogue(found, vocabulary)
        return [each for each in problems if "unknown attribute" not in each.message]

    what = "the undeclared attribute 'secret' passed the checks"
    assert is_found(what, replace(OURS, check=check), "expression")


@pytest.mark.parametrize(
    "query",
    [
        'SELECT "secret" FROM "events of a log"',
        'SELECT secret FROM "events of a log"',
        "SELECT 1 FROM duckdb_tables()",
        'SELECT "pos" FROM "events of a log"; SELECT "pos" FROM "events of a log"',
        'SELECT "pos" FROM "events of a log" --',
        'SELECT "pos" FROM "events of a log" UNION SELECT "pos" FROM "events of a log"',
        "SELECT getenv('HOME')",
    ],
)
def test_a_query_that_is_not_ours_is_told_by_its_words(query: str) -> None:
    with pytest.raises(NotOurs):
        check_words(query)


@pytest.mark.parametrize("query", ["SELECT", "SELECT 1; SELECT 2", "DROP TABLE x", "SELECT 'a"])
def test_what_is_not_one_select_does_not_parse_as_one(query: str) -> None:
    with pytest.raises(NotOurs):
        check_parses(query, empty_log())
