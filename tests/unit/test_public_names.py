"""The public names: few, sorted, loaded when they are used, each in a tested example."""

from __future__ import annotations

import doctest

import pytest

import pappi


def test_there_are_about_a_dozen_and_they_are_sorted() -> None:
    assert sorted(pappi.__all__) == pappi.__all__
    assert len(pappi.__all__) <= 15


@pytest.mark.parametrize("name", pappi.__all__)
def test_each_can_be_had_and_says_what_it_is_for(name: str) -> None:
    found = getattr(pappi, name)
    assert isinstance(found, str) or found.__doc__


def test_each_is_used_in_an_example_that_is_run() -> None:
    text = pappi.__doc__ or ""
    examples = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
    unused = {name for name in pappi.__all__ if f"pappi.{name}" not in examples}
    # Its example needs ppinot4py, which only tests have: tests/acceptance/test_ppinot4py.py.
    assert unused == {"__version__", "from_ppinot4py"}
