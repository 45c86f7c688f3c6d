"""The site builds without a warning, and asks no other host for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest
import yaml

from tests.browser.browsing import PATIENCE_MS, chromium, needs_chromium
from tests.docs.pages import DOCS, PAGES, ROOT, name_of


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    # Not --quiet: what is not logged does not count as a warning, and strict lets it pass.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*command, "--config-file", str(config), "--site-dir", str(site)],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built in strict mode: links, anchors and the table of contents hold."""
    place = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", place)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


def test_the_site_has_every_page(site: Path) -> None:
    for path in DOCS.rglob("*.md"):
        assert (site / path.relative_to(DOCS).with_suffix(".html")).exists(), name_of(path)
    assert (site / "project" / "SECURITY.html").exists()
    assert (site / "search" / "search_index.json").stat().st_size > 100_000


def test_there_are_four_groups() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert [next(iter(group)) for group in nav] == ["Home", "Learn", "Do", "Understand", "Look up"]


WORDS = ("ε (epsilon)", "Privacy unit", "Block", "Cell", "Charge", "Ledger", "Horizon", "anchor")


@pytest.mark.parametrize("word", WORDS)
def test_the_glossary_explains(word: str) -> None:
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8")
    assert re.search(rf"^\*\*[^*]*{re.escape(word)}[^*]*\*\*", glossary, re.MULTILINE)


def test_blocks_are_shown_in_their_language(site: Path) -> None:
    pages = [path.read_text(encoding="utf-8") for path in site.rglob("*.html")]
    languages = {name for page in pages for name in re.findall(r'class="language-(\w+)', page)}
    assert languages == {"console", "json", "python", "text", "xml", "yaml"}
    assert not any("```" in page for page in pages)


class Fetched(HTMLParser):
    """The addresses a browser fetches by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") not in {"canonical", "prev", "next"}:
            self.found.append(given.get("href") or "")
        if tag in {"script", "img", "iframe", "source", "video", "audio", "object", "embed"}:
            self.found.append(given.get("src") or given.get("data") or "")


def outside(page: str) -> list[str]:
    parser = Fetched()
    parser.feed(page)
    return [address for address in parser.found if re.match(r"(?:[a-z]+:)?//", address)]


def styles(site: Path) -> Iterator[str]:
    for path in site.rglob("*.css"):
        yield from re.findall(r"url\(\s*[\"']?(https?://[^)]*)", path.read_text(encoding="utf-8"))


def test_no_page_asks_another_host(site: Path) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert len(pages) > 30
    assert {name.name: found for name, text in pages.items() if (found := outside(text))} == {}
    assert list(styles(site)) == []


@pytest.mark.parametrize(
    "planted",
    [
        '<link rel="stylesheet" href="https://fonts.example.org/a.css">',
        '<script src="//cdn.example.org/a.js"></script>',
        '<img src="http://example.org/a.png">',
    ],
)
def test_a_request_to_another_host_would_be_found(planted: str) -> None:
    assert outside(planted)


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("[x](nowhere.md)", "nowhere.md"),
        ("[x](other.md#nothing)", "nothing"),
        ("[x](#nothing)", "nothing"),
        ("![x](images/none.png)", "none.png"),
    ],
)
def test_a_broken_link_would_stop_the_build(tmp_path: Path, page: str, complaint: str) -> None:
    ours = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "index.md").write_text(f"# Page\n\n{page}\n\n[y](other.md)\n", encoding="utf-8")
    (folder / "other.md").write_text("# Other\n", encoding="utf-8")
    config = {"site_name": "x", "validation": ours["validation"], "plugins": []}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode != 0
    assert complaint in done.stdout + done.stderr


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called there
        """Nothing."""


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """The site on a port: search needs a server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


SOUGHT = {
    "what is epsilon": "faq.html#what-is-epsilon",
    "excel": "faq.html#how-do-i-import-an-excel-file-or-an-export-of-my-system",
    "undecided": "faq.html#what-does-unclear-undecided-mean",
    "delete log": "faq.html#how-do-i-delete-a-log-a-case-or-a-person",
    "horizon": "glossary.html#process-mining",
    "jira": "how-to/exports.html#jira",
}
"""What people type, and the section that has to be the first one shown."""


@needs_chromium
@pytest.mark.outside
def test_search_leads_to_the_page_that_answers(served: str) -> None:
    shown = {}
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        for words in SOUGHT:
            page.goto(f"{served}/index.html?q={quote(words)}")
            page.wait_for_selector(".md-search-result__item", state="attached")
            links = page.locator(".md-search-result__item a.md-search-result__link")
            addresses = [str(each.get_attribute("href")) for each in links.all()[:2]]
            shown[words] = [re.sub(r"\?[^#]*", "", each) for each in addresses]
    missed = [words for words in SOUGHT if f"{served}/{SOUGHT[words]}" not in shown[words]]
    assert missed == [], shown


IMAGES = [
    (path, image)
    for path in PAGES
    for image in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("path", "image"), IMAGES)
def test_images_exist_and_are_described(path: Path, image: str) -> None:
    # What follows a # says in which colours the theme shows it.
    assert (path.parent / image.partition("#")[0]).is_file()
    assert f"![]({image}" not in path.read_text(encoding="utf-8")
