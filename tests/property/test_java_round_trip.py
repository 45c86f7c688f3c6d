"""Every catalogue can be written as PPINOT JSON, and reading it gives the same catalogue.

And whatever else is read as PPINOT JSON, it gives a catalogue or a list of problems.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pappi.errors import DefinitionError
from pappi.ppinot import Catalogue
from pappi.ppinot.notations.java import read_java, write_java
from tests.property.models import catalogues

SLOW_DATA = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.outside
@settings(suppress_health_check=SLOW_DATA)
@given(catalogues())
def test_every_catalogue_survives_the_round_trip(catalogue: Catalogue) -> None:
    text = write_java(catalogue)
    assert read_java(text).catalogue == catalogue
    json.loads(text)


# --- documents that are almost right --------------------------------------------------

Place = tuple[Any, Any]
"""A list or an object, and an index or a key in it."""

FIELDS = ["kind", "from", "when", "id", "unit", "bounds", "scope", "catalogue", "considerOnly"]
STRANGE: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "1e999", "1/0", "L-VT09:00-18:00/H", "2014-13-45", "START", "${x}"]),
    st.text(max_size=5),
    st.lists(st.sampled_from(["a", None, 1, {}]), max_size=2),
    st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(["a", None, 1, [], {}]), max_size=2),
)


def places(value: object) -> Iterator[Place]:
    keyed = value.items() if isinstance(value, dict) else ()
    listed = enumerate(value) if isinstance(value, list) else ()
    for key, inner in (*keyed, *listed):
        yield value, key
        yield from places(inner)


@pytest.mark.outside
@settings(suppress_health_check=SLOW_DATA)
@given(catalogues(), st.data())
def test_damaged_documents_are_read_or_refused(catalogue: Catalogue, data: st.DataObject) -> None:
    document = json.loads(write_java(catalogue))
    for _ in range(data.draw(st.integers(1, 3))):
        where, key = data.draw(st.sampled_from(list(places(document))))
        where[key] = data.draw(STRANGE)
    lifecycle = data.draw(st.booleans())
    with suppress(DefinitionError):
        read_java(json.dumps(document), lifecycle=lifecycle)


@given(st.one_of(st.text(), st.text(alphabet='{}[]":,\\u$ \nkinda0')))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(DefinitionError):
        read_java(text, log="claims")
