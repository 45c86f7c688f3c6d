"""What a person does, in a real browser: with a script and without."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from pappi.service import Settings
from tests.browser.browsing import PATIENCE_MS, Stage, Visit, needs_chromium, staged
from tests.browser.tour import SCHEMES, console_tour, prepare, workbench_tour

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    settings = Settings(grid_seconds=0.01, shutdown_seconds=5)
    with staged(tmp_path_factory.mktemp("browser"), settings) as found:
        yield found


def compose(visit: Visit, name: str, longest: str = "20") -> None:
    page = visit.page
    page.get_by_role("link", name="New query").click()
    page.get_by_label("longest time that counts").fill(longest)
    page.get_by_label("direction of the target").select_option("below")
    page.get_by_label("target", exact=True).fill("7")
    page.get_by_label("Call it").fill(name)
    page.get_by_role("button", name="See what it costs").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def cost(page: Page) -> float:
    text = page.locator("#cost-0").inner_text()
    found = re.search(r"ε\s*([\d.]+)", text)
    assert found, text
    return float(found[1])


def change_accuracy(visit: Visit, *, script: bool) -> None:
    """Finer by the slider, or by typing where there is no script to move one."""
    page = visit.page
    slider = page.locator("input[type=range]")
    before = page.locator("#cost-0").inner_text()
    if script:
        slider.focus()
        for _ in range(20):
            slider.press("ArrowLeft")
    else:
        expect(slider).to_be_hidden()
        page.get_by_role("textbox", name="At most ±").fill("1")
        page.get_by_role("button", name="Update the price").click()
    expect(page.locator("#cost-0")).not_to_have_text(before, use_inner_text=True)
    expect(page.locator("#cost-0")).not_to_have_attribute("aria-busy", "true")


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_an_analyst_gets_a_chart_and_the_owner_sees_it_and_ends_it(
    stage: Stage, *, script: bool
) -> None:
    name = "ann" if script else "bea"
    question = f"Sojourn for {name}"
    key = stage.analyst_key(name)
    with (
        stage.visit(stage.workbench, script=script) as visit,
        stage.visit(stage.console, script=script) as owner,
    ):
        visit.sign_in(key)
        # Not what the other has paid for: that would be free.
        compose(visit, question, "20" if script else "21")
        first = cost(visit.page)
        change_accuracy(visit, script=script)
        assert cost(visit.page) > first

        visit.page.get_by_role("button", name=re.compile(r"^Release \(24 new figures")).click()
        expect(visit.page.locator("figure svg")).to_be_visible()
        expect(visit.page.get_by_text("24 figures on record")).to_be_visible()
        shown = visit.page.locator("main").inner_text()
        entries = stage.workspace.verify().entries
        visit.page.reload()
        assert visit.page.locator("main").inner_text() == shown
        assert stage.workspace.verify().entries == entries

        owner.sign_in(stage.owner_key())
        expect(owner.page.locator("main")).to_contain_text(name)
        owner.page.get_by_role("link", name="Keys").click()
        row = owner.page.get_by_role("row").filter(has_text=name)
        with owner.page.expect_response(lambda reply: reply.request.method == "POST"):
            row.get_by_role("button", name=re.compile("Revoke")).click()
        visit.page.reload()
        expect(visit.page.get_by_label("Your key")).to_be_visible()
        visit.require_clean()
        owner.require_clean()


TELEPHONE: ViewportSize = {"width": 390, "height": 800}


def test_every_page_can_be_read_by_everybody_and_fits_a_telephone(stage: Stage) -> None:
    """No serious finding of axe, light or dark, nothing the policy forbids or from elsewhere."""
    analyst, owner = prepare(stage)
    findings: dict[str, list[str]] = {}
    for home, tour, key in (
        (stage.workbench, workbench_tour, analyst),
        (stage.console, console_tour, owner),
    ):
        with stage.visit(home) as visit:
            for name in tour(stage, visit, key):
                findings[name] = []
                for scheme in SCHEMES:
                    visit.page.emulate_media(color_scheme=scheme)
                    findings[name] += visit.serious_findings()
                if _wider_than_a_telephone(visit.page):
                    findings[name].append("it is wider than a telephone")
            visit.require_clean()
    assert {name: found for name, found in findings.items() if found} == {}


def _wider_than_a_telephone(page: Page) -> bool:
    """Whether one has to scroll sideways to read the page itself; tables may scroll in theirs."""
    at_the_desk = page.viewport_size
    assert at_the_desk is not None
    page.set_viewport_size(TELEPHONE)
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size(at_the_desk)
    return bool(width > TELEPHONE["width"])


def test_two_figures_are_compared_by_keyboard_and_without_a_script(stage: Stage) -> None:
    analyst, _ = prepare(stage)
    with stage.visit(stage.workbench, script=False) as visit:
        visit.sign_in(analyst)
        page = visit.page
        page.get_by_role("link", name="My queries").click()
        page.get_by_role("link", name="Mean sojourn time").click()
        page.get_by_label("period", exact=True).focus()
        page.keyboard.type("2025-08")
        page.keyboard.press("Tab")
        page.keyboard.type("2025-01")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        said = page.get_by_role("status").inner_text()
        assert said.startswith("2025-08 (")
        assert "above 2025-01" in said
        assert "That is more than noise." in said, "there was a storm"
        visit.require_clean()


def test_a_page_wider_than_a_telephone_would_be_noticed(stage: Stage) -> None:
    with stage.visit(stage.workbench) as visit:
        visit.page.goto(stage.workbench)
        assert not _wider_than_a_telephone(visit.page)
        visit.page.evaluate("document.querySelector('label').textContent = 'x'.repeat(999)")
        assert _wider_than_a_telephone(visit.page)


def test_the_workbench_is_painted_without_waiting_for_a_script(stage: Stage) -> None:
    with stage.visit(stage.workbench) as visit:
        visit.sign_in(stage.analyst_key("cora"))
        compose(visit, "Painted")
        visit.page.route("**/*.js", lambda route: route.abort())
        visit.page.reload()
        expect(visit.page.get_by_role("heading", name="Painted")).to_be_visible()
        blocking = visit.page.locator("script:not([defer])")
        assert blocking.count() == 0


def test_a_policy_that_is_broken_would_be_noticed(stage: Stage) -> None:
    """The planted fault: a page that styles itself and calls elsewhere."""
    with stage.visit(stage.workbench) as visit:
        visit.page.goto(stage.workbench)
        visit.page.evaluate("document.body.setAttribute('style', 'color: red')")
        visit.page.evaluate("document.body.append(new Image())")
        visit.page.evaluate("document.images[document.images.length - 1].src = '//a.invalid/x'")
        for _ in range(PATIENCE_MS // 100):
            if len(visit.forbidden) < 2:
                visit.page.wait_for_timeout(100)
        assert len(visit.forbidden) == 2


def test_an_unreadable_page_would_be_noticed(stage: Stage) -> None:
    """The planted fault: a field without a name."""
    with stage.visit(stage.workbench) as visit:
        visit.page.goto(stage.workbench)
        visit.page.evaluate("document.querySelector('label').remove()")
        visit.page.evaluate("document.getElementById('key').removeAttribute('placeholder')")
        assert visit.serious_findings()
