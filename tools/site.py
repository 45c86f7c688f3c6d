"""A hook of mkdocs: what the site has besides the files in docs/, and links that lead there.

The pages are written to be read in the repository as well. There, a link goes to a file by
its path; here, the few files outside docs/ that pages speak of get a place on the site, and
links to them, and from them, are led there. Words behind a fence's language, which tell the
tests what a block is, are taken off: the site would not know what to make of them.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS = "docs/"

# Where on the site a file of the repository is that does not lie in docs/.
PLACES = {
    **{
        f"{name}.md": f"project/{name}.md"
        for name in ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")
    },
    "README.md": "index.md",
    "CITATION.cff": "project/CITATION.cff",
    "LICENSE": "project/LICENSE.txt",
    "schemas/catalogue.schema.json": "project/catalogue.schema.json",
    "examples/claims.yaml": "project/claims.yaml",
    "examples/sepsis.yaml": "project/sepsis.yaml",
    "examples/longest-stay.yaml": "project/longest-stay.yaml",
    "examples/first-chart.ipynb": "project/first-chart.ipynb",
    "examples/own-ppis.ipynb": "project/own-ppis.ipynb",
    "experiments/sepsis.yaml": "project/paper-sepsis.yaml",
}
_ORIGINS = {place: path for path, place in PLACES.items() if place != "index.md"}

# What search shows first: people's words before programs'. The theme reads a page's `search.boost`.
_BOOSTS = {"faq.md": 8.0, "glossary.md": 3.0, "gallery.md": 2.0, "reference/": 0.1, "project/": 0.3}

_DIALOG = 'data-md-component="search" role="dialog"'
_LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"^([ ]*```\w+) [ \w]+$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the files that do not lie in docs/."""
    for place, path in _ORIGINS.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """The text of a page as the site needs it."""
    place = page.file.src_uri
    boosts = (boost for start, boost in _BOOSTS.items() if place.startswith(start))
    page.meta.setdefault("search", {"boost": next(boosts, 1.0)})
    return plain_fences(linked(markdown, page.file.src_uri))


def on_post_page(output: str, **_: object) -> str:
    """With a name for the theme's search dialog, which has none for those who hear the page."""
    return output.replace(_DIALOG, f'{_DIALOG} aria-label="Search"')


def plain_fences(markdown: str) -> str:
    """With a language behind each fence, and no more words.

    >>> plain_fences("```yaml case\\n```\\n```yaml")
    '```yaml\\n```\\n```yaml'
    """
    return _FENCE.sub(r"\1", markdown)


def linked(markdown: str, place: str) -> str:
    """With links that lead to places on the site, for a page that is at this one.

    >>> linked("[s](../SECURITY.md#out) and [u](utility.md)", "paper.md")
    '[s](project/SECURITY.md#out) and [u](utility.md)'
    >>> linked("[u](docs/utility.md)", "project/SECURITY.md")
    '[u](../utility.md)'
    """
    origin = posixpath.dirname(_ORIGINS.get(place, DOCS + place))

    def led(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(origin, link[2]))
        target = PLACES.get(path, path.removeprefix(DOCS))
        return f"{link[1]}{posixpath.relpath(target, posixpath.dirname(place) or '.')}{link[3]}"

    return _LINK.sub(led, markdown)
