"""What is public about a log is a type of its own: where its events are is no part of it."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from pappi.errors import UsageError
from pappi.store import LogDeclaration
from pappi.values import Adjacency, PublicLog
from tests.golden.journal_entries import DECLARED

PRIVATE = {"data", "table", "source", "removed"}


def test_where_the_events_are_is_all_that_is_not_public() -> None:
    assert {field.name for field in fields(LogDeclaration)} == {"public", *PRIVATE}


def test_what_is_handed_out_holds_nothing_of_the_source() -> None:
    public = DECLARED.public
    assert type(public) is PublicLog
    assert not any(hasattr(public, name) for name in PRIVATE)
    assert DECLARED.source is not None
    written = json.dumps(public.to_json()) + repr(public)
    assert DECLARED.source.url not in written
    assert DECLARED.data not in written
    # The declaration itself would show it: the test can tell.
    assert DECLARED.source.url in json.dumps(DECLARED.to_json())


def test_public_facts_come_back_from_their_json() -> None:
    written = json.loads(json.dumps(DECLARED.to_json()))
    assert PublicLog.from_json(written) == DECLARED.public
    assert LogDeclaration.from_json(written) == DECLARED


def test_a_person_cannot_be_protected_under_replace() -> None:
    with pytest.raises(UsageError, match="cannot be protected under replace"):
        replace(DECLARED.public, terms=replace(DECLARED.terms, adjacency=Adjacency.REPLACE))
