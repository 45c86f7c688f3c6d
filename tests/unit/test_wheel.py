"""What is published holds all that it takes, and nothing else; and runs from nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from email import message_from_string
from pathlib import Path

import pytest
import yaml

import pappi

ROOT = Path(__file__).parents[2]
NEEDED = (
    "pappi/py.typed",
    "pappi/examples/claims.yaml",
    "pappi/examples/sepsis.yaml",
    "pappi/report/document.css",
    "pappi/service/web/templates/base.html",
    "pappi/service/web/static/pages.css",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both: by the backend alone, as a build without isolation has it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (file,) = built.glob("*.whl")
    return zipfile.ZipFile(file)


def sources() -> set[str]:
    """Every file of the package, as it is in the repository."""
    files = (path for path in (ROOT / "src" / "pappi").rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT / "src")) for path in files if path.suffix != ".pyc"}


def missing(names: Iterable[str]) -> set[str]:
    return (sources() | set(NEEDED)) - set(names)


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert missing(names) == set()
    assert names - sources() == set()


@pytest.mark.parametrize("planted", NEEDED)
def test_a_file_left_out_would_be_found(wheel: zipfile.ZipFile, planted: str) -> None:
    assert missing(name for name in wheel.namelist() if name != planted) == {planted}


def test_the_wheel_says_what_it_is_and_needs_no_extra(wheel: zipfile.ZipFile) -> None:
    (path,) = (name for name in wheel.namelist() if name.endswith("dist-info/METADATA"))
    said = message_from_string(wheel.read(path).decode())
    assert said["Version"] == pappi.__version__
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Description-Content-Type"] == "text/markdown"
    bare = [line for line in said.get_all("Requires-Dist") or () if "extra ==" not in line]
    names = {re.split(r"[<>=!~; ]", line)[0] for line in bare}
    assert names.isdisjoint({"fastapi", "httpx", "pandas", "polars", "pytest", "mypy"})
    (entry,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "pappi = pappi.cli:main" in wheel.read(entry).decode()


def test_the_sdist_builds_that_wheel(built: Path) -> None:
    (file,) = built.glob("*.tar.gz")
    with tarfile.open(file) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {f"src/{name}" for name in sources()} <= names
    assert {"README.md", "LICENSE", "pyproject.toml", "SECURITY.md", "CHANGELOG.md"} <= names
    assert not any(name.startswith(("tests", ".venv", "build")) for name in names)


@pytest.mark.outside
def test_what_is_in_the_wheel_runs_by_itself(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)  # noqa: S202 - built just now, from this repository
    shown = (
        "import pappi; from pappi.examples import EXAMPLES; "
        "print(pappi.__file__, len(pappi.read_definitions(EXAMPLES['sepsis'].catalogue_path).ppis))"
    )
    done = subprocess.run(
        [sys.executable, "-c", shown],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(tmp_path / "pappi" / "__init__.py"), "8"]


@pytest.mark.long
@pytest.mark.outside
def test_from_the_wheel_to_the_demo_in_two_minutes(tmp_path: Path) -> None:
    """`make dist`: built, checked by twine, installed in a bare environment, and run."""
    done = subprocess.run(
        [ROOT / "tools" / "dist.sh", tmp_path / "dist", tmp_path / "work"],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("PASSED") == 2
    taken = re.search(r"From the wheel to the charts in (\d+) s", done.stdout)
    assert taken is not None
    assert int(taken[1]) < 120
    assert (tmp_path / "work" / "demo" / "claims.html").exists()


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == pappi.__version__


# --- the workflows that publish it --------------------------------------------------------------

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_a_release_is_built_checked_and_published_without_a_password() -> None:
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    build, publish = release["jobs"]["build"], release["jobs"]["publish"]
    assert any(step.get("run") == "make dist" for step in build["steps"])
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"id-token": "write"}
    assert "password" not in str(publish)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_read_and_no_more_unless_it_says_so(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    assert "://" not in text
    targets = re.findall(r"run: make (\w+)", text)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
