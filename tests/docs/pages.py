"""The pages of the documentation, and what is shown in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted((*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "SECURITY.md"))

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_PROMPT = "$ "


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the name of the file it shows if it has one, its text."""

    language: str
    title: str | None
    text: str


def blocks(page: str) -> Iterator[Block]:
    for language, more, text in _BLOCK.findall(page):
        title = _TITLE.search(more)
        yield Block(language, title[1] if title else None, text)


def commands(page: str) -> list[str]:
    """What is typed: the lines behind a prompt, with those they go on in."""
    found: list[str] = []
    for block in blocks(page):
        if block.language == "console":
            lines = block.text.replace("\\\n", " ").splitlines()
            found += [line.removeprefix(_PROMPT) for line in lines if line.startswith(_PROMPT)]
    return found


def files(page: str) -> dict[str, str]:
    """The files a page shows, by their names."""
    return {block.title: block.text for block in blocks(page) if block.title}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))
