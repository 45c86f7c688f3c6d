"""What goes into the container is known to the last file, and the container is held short."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Pinned:
    """A line of a file of requirements, with those that go on with it."""

    name: str
    version: str
    hashes: int
    rest: str


def pinned_in(text: str) -> Iterator[Pinned]:
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            requirement, *_ = line.split("--hash")
            found = re.fullmatch(r"([a-z0-9.-]+)==([^\s;]+)\s*(;[^-]*)?", requirement.strip())
            rest = HASH.sub("", line[len(requirement) :]).strip()
            name, version = (found[1], found[2]) if found else (requirement.strip(), "")
            yield Pinned(name, version, len(HASH.findall(line)), rest)


def wrong_in(text: str, constraints: str) -> list[str]:
    """What keeps a file of requirements from fixing every file of the versions we test."""
    tested = set(constraints.split())
    return [
        pin.name
        for pin in pinned_in(text)
        if f"{pin.name}=={pin.version}" not in tested or not pin.hashes or pin.rest
    ]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["requirements/image.txt", "requirements/image-build.txt"])
def test_every_requirement_has_the_tested_version_and_hashes(name: str) -> None:
    text = read(name)
    assert wrong_in(text, read("constraints.txt")) == []
    assert "://" not in text


@pytest.mark.parametrize(
    "planted",
    [
        ("click==8.5.1", "click==8.5.2"),
        ("click==8.5.1", "click"),
        ("click==8.5.1", "click>=8.5.1"),
        ("--hash=sha256:", "--hash=md5:"),
    ],
)
def test_that_would_find_what_is_not_pinned(planted: tuple[str, str]) -> None:
    text = read("requirements/image.txt")
    assert planted[0] in text
    assert wrong_in(text.replace(*planted), read("constraints.txt"))


def needed(names: Iterable[str]) -> set[str]:
    """Distributions that requirements bring along here, with all that these need."""
    found: set[str] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        asked = waiting.pop()
        name = canonicalize_name(asked.name)
        extras = asked.extras or {""}
        if name in found and not asked.extras:
            continue
        found.add(name)
        for line in metadata.requires(name) or ():
            further = Requirement(line)
            if further.marker is None or any(further.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(further)
    return found - {"pappi"}


RUNTIME = needed(["pappi[service,postgres]"])


def test_the_image_has_all_that_the_service_needs() -> None:
    names = {pin.name for pin in pinned_in(read("requirements/image.txt"))}
    assert names >= RUNTIME
    assert names - RUNTIME <= {"tzdata"}  # on Windows


def test_the_build_has_its_backend() -> None:
    names = {pin.name for pin in pinned_in(read("requirements/image-build.txt"))}
    assert {"hatchling", "cyclonedx-bom"} <= names


def test_nothing_is_installed_but_by_hash() -> None:
    """Every line that installs, wherever it is; and the base image can be fixed."""
    assert "pip" not in read("Dockerfile")
    installs = [line for line in read("tools/image.sh").splitlines() if re.search("install ", line)]
    assert all("$hashed" in line or "--no-index --no-deps" in line for line in installs)
    assert len(installs) == 3
    assert "--no-build-isolation" in read("tools/image.sh")
    froms = re.findall(r"^FROM (\S+)", read("Dockerfile"), re.MULTILINE)
    assert set(froms) == {"${PYTHON_IMAGE}"}


@pytest.mark.outside
def test_the_image_is_built_from_what_is_copied_into_it_alone(tmp_path: Path) -> None:
    """The wheel of the first stage, where nothing is that the Dockerfile has not copied."""
    ignored = read(".dockerignore").split()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", read("Dockerfile"), re.MULTILINE)
    for name in " ".join(copied).split():
        assert name.partition("/")[0] not in ignored
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, target)
    assert (tmp_path / "tools" / "image.sh").exists()
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert len(list((tmp_path / "dist").glob("pappi-*.whl"))) == 1


# --- licences -----------------------------------------------------------------------------

_COPYLEFT = re.compile(r"(?<!L)A?GPL|(?<!Lesser )(Affero )?General Public License", re.IGNORECASE)


def licence_of(found: Message) -> str:
    """What a distribution says of its licence: by expression, by classifier, or in words."""
    expression = found.get("License-Expression")
    classifiers = [c for c in found.get_all("Classifier") or () if c.startswith("License ::")]
    words = (found.get("License") or "").splitlines()[:1]
    return expression or "; ".join(classifiers) or "".join(words)


def not_for_us(licence: str) -> bool:
    return not licence or _COPYLEFT.search(licence) is not None


def test_nothing_that_is_shipped_is_under_gpl_or_agpl() -> None:
    licences = {
        name: licence_of(cast("Message", metadata.metadata(name))) for name in sorted(RUNTIME)
    }
    assert {name: said for name, said in licences.items() if not_for_us(said)} == {}


@pytest.mark.parametrize(
    ("licence", "refused"),
    [
        ("AGPL-3.0-or-later", True),
        ("GPL-2.0-only", True),
        ("License :: OSI Approved :: GNU General Public License v3 (GPLv3)", True),
        ("License :: OSI Approved :: GNU Affero General Public License v3", True),
        ("", True),
        ("LGPL-3.0-only", False),
        ("License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)", False),
        ("MIT", False),
    ],
)
def test_copyleft_is_told_from_the_rest(licence: str, *, refused: bool) -> None:
    assert not_for_us(licence) is refused


# --- the composition ----------------------------------------------------------------------

COMPOSED: dict[str, Any] = yaml.safe_load(read("compose.yaml"))


def test_the_database_is_on_a_network_of_its_own() -> None:
    services = COMPOSED["services"]
    assert services["ledger"]["networks"] == ["back"]
    assert "ports" not in services["ledger"]
    assert COMPOSED["networks"]["back"] == {"internal": True}


def test_no_variable_holds_a_password() -> None:
    for service in COMPOSED["services"].values():
        assert service["secrets"] == ["database-password"]
        for name, value in service["environment"].items():
            assert "PASSWORD" not in name or str(value).startswith("/run/secrets/")
            assert not re.search(r"://[^/]*:[^/]*@", str(value))
    for ignored in (".gitignore", ".dockerignore"):
        assert "database-password" in read(ignored).split()


def test_every_container_is_limited() -> None:
    for service in COMPOSED["services"].values():
        assert {"mem_limit", "pids_limit"} <= service.keys()
        assert service["ulimits"]["nofile"] >= 4_096


def test_the_proxy_on_this_machine_is_trusted_and_the_public_name_required() -> None:
    environment = COMPOSED["services"]["pappi"]["environment"]
    (network,) = COMPOSED["networks"]["front"]["ipam"]["config"]
    assert environment["PAPPI_TRUSTED_PROXIES"] == network["gateway"]
    assert environment["PAPPI_PUBLIC_URL"].startswith("${PAPPI_PUBLIC_URL:?")
