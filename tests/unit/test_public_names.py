"""The public names: few, sorted, loaded when they are used, each in a tested example."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import pappi
from pappi.checkpoint import Released
from pappi.errors import UsageError
from pappi.ppinot.notations import builder
from pappi.session import create

# The words a PPI is built with: each has an example of its own, in the builder's docstrings.
WORDS = [
    name
    for name in pappi.__all__
    if getattr(getattr(pappi, name), "__module__", "") == builder.__name__
]


def test_there_are_about_a_dozen_beside_the_words_of_ppis_and_they_are_sorted() -> None:
    assert sorted(pappi.__all__) == pappi.__all__
    assert len(pappi.__all__) - len(WORDS) <= 15


@pytest.mark.parametrize("name", pappi.__all__)
def test_each_can_be_had_and_says_what_it_is_for(name: str) -> None:
    found = getattr(pappi, name)
    assert isinstance(found, str) or found.__doc__


def test_each_is_used_in_an_example_that_is_run() -> None:
    text = pappi.__doc__ or ""
    examples = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
    unused = {name for name in pappi.__all__ if f"pappi.{name}" not in examples} - set(WORDS)
    # Its example needs ppinot4py, which only tests have: tests/acceptance/test_ppinot4py.py.
    assert unused == {"__version__", "from_ppinot4py"}


def test_each_word_of_a_ppi_has_an_example_of_its_own() -> None:
    without = [word for word in WORDS if ">>>" not in (getattr(pappi, word).__doc__ or "")]
    methods = [name for name in vars(pappi.Indicator) if not name.startswith("_")]
    said = (vars(pappi.Indicator)[name].__doc__ or "" for name in methods)
    bare = [name for name, text in zip(methods, said, strict=True) if ">>>" not in text]
    assert without == ["Indicator"]
    assert set(bare) == {"written", "keys", "log", "about", "id", "catalogue"}


@pytest.mark.outside
def test_completion_shows_the_public_names_and_no_others() -> None:
    shown = "import pappi; print(*dir(pappi))"
    found = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == sorted(pappi.__all__)


@pytest.mark.outside
def test_a_workspace_says_where_it_is(tmp_path: Path) -> None:
    assert repr(create(tmp_path / "hospital")) == f"<Workspace {str(tmp_path / 'hospital')!r}>"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_without_its_library_says_what_to_install(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError, match=f"{library} is not installed") as caught:
        getattr(Released(()), f"to_{library}")()
    assert f"pip install {library}" in caught.value.hint


def test_the_client_without_its_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("pappi.client")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'pappi\[client\]'"):
        importlib.import_module("pappi.client")


@pytest.mark.outside
def test_a_client_without_httpx_names_the_extra() -> None:
    asked = "import sys; sys.modules['httpx'] = None; import pappi.client"
    done = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=False
    )
    assert "pip install 'pappi[client]'" in done.stderr
