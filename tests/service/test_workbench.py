"""The workbench: from a sentence with blanks to a chart, and again for nothing."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import httpx
import pytest

from pappi.custody import NewLog
from pappi.ledger import utc_now
from pappi.ppinot import parse_catalogue
from pappi.session import Workspace
from pappi.values import ZERO, Epsilon, Right, Role, Terms
from tests.service.served import LOG, SOJOURN, Served, served
from tests.service.serving import serving
from tests.service.visiting import Visitor, form_in
from tests.small_logs import Row, claims, workspace_with

ASK = f"/workbench/logs/{LOG}/ask"
SENTENCE = {
    "shape": "time",
    "blank-figure": "mean",
    "blank-from": "#case start",
    "blank-to": "#case end",
    "blank-unit": "days",
    "blank-most": "10",
    "period": "month",
    "direction": "below",
    "target": "4",
    "name": "Mean sojourn",
    "do": "compose",
}


@pytest.fixture
def service(tmp_path: Path) -> Served:
    return served(tmp_path)


@pytest.fixture
def visitor(service: Served) -> Iterator[Visitor]:
    with Visitor(service.analyst, service.alice) as found:
        yield found


def spent(workspace: Workspace, log: str = LOG) -> Epsilon:
    return sum((line.spent for line in workspace.checkpoint().budget(log)), ZERO)


def price_in(page: httpx.Response) -> str:
    found = re.search(r"Costs</dt><dd class=\"figure-number\">ε ([\d.]+)", page.text)
    assert found, page.text
    return found[1]


def released(visitor: Visitor) -> httpx.Response:
    preview = visitor.post(ASK, **SENTENCE)
    return visitor.post("/workbench/release", **form_in(preview, "/workbench/release"))


def test_a_filled_in_sentence_becomes_yaml_and_a_price(visitor: Visitor, service: Served) -> None:
    page = visitor.post(ASK, **SENTENCE)
    assert page.status_code == 200
    assert "target: below 4 days" in page.text
    assert price_in(page) == "0.1"
    assert "Release (3 new figures, ε 0.1 in each of 3 blocks)" in page.text
    assert spent(service.workspace) == ZERO


def test_each_shape_of_sentence_can_be_priced(visitor: Visitor) -> None:
    page = visitor.get(ASK)
    shapes = re.findall(r"ask\?shape=(\w+)", page.text)
    assert len(shapes) == 6
    for shape in shapes:
        page = visitor.post(ASK, shape=shape, do="compose", period="month")
        assert page.status_code == 200, page.text
        assert "Release (" in page.text


@pytest.mark.parametrize(
    ("half", "asked"),
    [({"direction": ""}, "the target 4 has no direction"), ({"target": ""}, "below … what?")],
)
def test_half_a_target_is_asked_about_and_never_dropped(
    visitor: Visitor, half: dict[str, str], asked: str
) -> None:
    page = visitor.post(ASK, **{**SENTENCE, **half})
    assert page.status_code == 400
    assert asked in page.text
    assert "Release (" not in page.text
    assert form_in(page, ASK)["target"] == {**SENTENCE, **half}["target"]


@pytest.mark.parametrize(
    ("target", "written"), [("90", "90 %"), ("90 %", "90 %"), ("0.9 %", "0.9 %"), ("0.9", "")]
)
def test_a_share_below_one_is_asked_about(visitor: Visitor, target: str, written: str) -> None:
    chosen = {"shape": "share", "direction": "above", "target": target, "do": "compose"}
    page = visitor.post(ASK, **chosen)
    if written:
        assert f"target: above {written}" in page.text
    else:
        assert page.status_code == 422
        assert "write 90 % or 0.9 %" in page.text


def test_a_finer_accuracy_costs_more(visitor: Visitor) -> None:
    definitions = SOJOURN
    coarse = visitor.post(ASK, definitions=definitions, do="preview", **{"accuracy-0": "4"})
    fine = visitor.post(
        ASK, definitions=definitions, do="preview", **{"accuracy-0": "2 days, 95 %"}
    )
    assert float(price_in(fine)) > float(price_in(coarse))
    steps = re.findall(r'name="take-0" value="([\d.]+)"', fine.text)
    assert steps
    taken = visitor.post(ASK, definitions=definitions, do="preview", **{"take-0": steps[0]})
    assert price_in(taken) == steps[0]


def test_a_release_is_charged_once_and_shown_again_for_nothing(
    visitor: Visitor, service: Served
) -> None:
    page = released(visitor)
    assert page.url.path.startswith("/workbench/queries/")
    assert page.status_code == 200
    assert "<svg" in page.text
    assert "Mean sojourn" in page.text
    assert "Charged for these figures, once: ε 0.1 in each of 3 blocks." in page.text
    assert re.search(r"Remaining budget: ε 0.9 of 1 in .*, the tightest of 3 blocks.", page.text)
    assert "from the record" not in page.text
    assert spent(service.workspace) == Epsilon.of("0.3")
    again = visitor.get(page.url.path)
    assert again.text == page.text
    assert "Mean sojourn" in visitor.get("/workbench/queries").text
    assert spent(service.workspace) == Epsilon.of("0.3")


def test_smoothing_and_csv_are_made_from_what_was_released(
    visitor: Visitor, service: Served
) -> None:
    page = released(visitor)
    smooth = visitor.get(f"{page.url.path}?smooth=1")
    assert "smoothed" in smooth.text
    table = visitor.get(f"{page.url.path}/figures.csv")
    assert table.headers["content-type"].startswith("text/csv")
    assert len(table.text.splitlines()) == 4
    assert spent(service.workspace) == Epsilon.of("0.3")


def test_two_periods_are_compared_in_plain_words_for_nothing(
    visitor: Visitor, service: Served
) -> None:
    page = released(visitor)
    form = form_in(page, f"{page.url.path}#compare")
    assert form["of"] == "periods"
    asked = {"ppi": form["ppi"], "of": "periods", "by": "difference"}
    address = httpx.URL(page.url.path, params={**asked, "first": "2024-02", "second": "2024-01"})
    compared = visitor.get(str(address))
    words = r"2024-02 (\([\d.]+ d\) is [\d.]+ d (above|below)|and) 2024-01"
    assert re.search(words, compared.text), "with so few cases, the noise may hide how they compare"
    assert re.search(r"more than noise|may be noise", compared.text)
    same = httpx.URL(page.url.path, params={**asked, "first": "2024-02", "second": "2024-02"})
    refused = visitor.get(str(same))
    assert refused.status_code == 200
    assert "Name two different periods" in refused.text
    assert spent(service.workspace) == Epsilon.of("0.3")


def test_two_groups_are_compared_in_plain_words_for_nothing(
    visitor: Visitor, service: Served
) -> None:
    time, by = "{from: case start, to: case end}", "{data: channel, values: [web, phone]}"
    measure = f"{{mean: {{time: {time}, unit: days}}, by: {by}}}"
    ppi = f"{{id: by, measure: {measure}, bounds: [0 days, 10 days], scope: every month}}"
    definitions = f"log: {LOG}\nppis:\n  - {ppi}\n"
    preview = visitor.post(ASK, definitions=definitions, do="preview")
    page = visitor.post("/workbench/release", **form_in(preview, "/workbench/release"))
    before = spent(service.workspace)
    asked = {"ppi": "by", "of": "groups", "first": "web", "second": "phone", "by": "percent"}
    compared = visitor.get(str(httpx.URL(page.url.path, params=asked)))
    assert compared.status_code == 200
    for month in ("2024-01", "2024-02", "2024-03"):
        words = rf"In {month}, web (\([\d.]+ d\) .* phone \(|and phone: the noise)"
        assert re.search(words, compared.text), "with so few cases, the noise may hide it"
    assert len(re.findall(r"more than noise</span>|may be noise</span>", compared.text)) == 3
    assert spent(service.workspace) == before


def test_looking_never_charges_not_even_for_what_is_new(visitor: Visitor, service: Served) -> None:
    """A question that was kept, but of which nothing is on record at this ε."""
    preview = visitor.post(ASK, **SENTENCE)
    asked = form_in(preview, "/workbench/release")
    door = service.workspace.checkpoint("alice")
    kept = door.save(parse_catalogue(asked["definitions"]))
    assert kept is not None
    page = visitor.get(f"/workbench/queries/{kept.id}")
    assert "Not released yet" in page.text
    assert spent(service.workspace) == ZERO


def test_a_price_that_changed_is_named_again_before_it_is_charged(
    visitor: Visitor, service: Served
) -> None:
    asked = form_in(visitor.post(ASK, **SENTENCE), "/workbench/release")
    page = visitor.post("/workbench/release", **{**asked, "price": "another"})
    assert "The price has changed" in page.text
    assert spent(service.workspace) == ZERO


def test_time_that_is_sealed_after_the_price_was_named_changes_the_price(
    visitor: Visitor, service: Served
) -> None:
    asked = form_in(visitor.post(ASK, **SENTENCE), "/workbench/release")
    service.workspace.custody.seal(LOG, date(2024, 8, 1))
    page = visitor.post("/workbench/release", **asked)
    assert "The price has changed" in page.text
    assert spent(service.workspace) == ZERO
    again = form_in(page, "/workbench/release")
    assert visitor.post("/workbench/release", **again).url.path.startswith("/workbench/queries/")


def test_the_price_of_several_ppis_counts_each_figure_once(visitor: Visitor) -> None:
    ppi = SOJOURN.split("ppis:")[1].rstrip() + "\n    epsilon: 0.1\n"
    names = "".join(ppi.replace("id: sojourn", f"id: sojourn{n}") for n in range(3))
    page = visitor.post(ASK, definitions=f"log: small\nppis:{names}", do="preview")
    assert "Release (3 new figures, ε 0.1 in each of 3 blocks)" in page.text
    different = "".join(
        ppi.replace("id: sojourn", f"id: sojourn{n}").replace("10 days", f"1{n} days")
        for n in range(3)
    )
    page = visitor.post(ASK, definitions=f"log: small\nppis:{different}", do="preview")
    assert "Release (9 new figures, ε 0.3 in each of 3 blocks)" in page.text
    assert "All of them together" in page.text


def test_what_was_written_is_not_called_the_same_as_the_sentence(visitor: Visitor) -> None:
    assert "The same in YAML" in visitor.post(ASK, **SENTENCE).text
    pasted = visitor.post(ASK, definitions=SOJOURN, do="preview", shape="time")
    assert pasted.status_code == 200
    assert "The same in YAML" not in pasted.text


def test_of_several_ppis_the_release_is_one_click_away(visitor: Visitor) -> None:
    """Their figures are closed, and there is a link past all of them."""
    one = visitor.post(ASK, definitions=SOJOURN, do="preview").text
    other = SOJOURN[SOJOURN.index("  - id:") :].replace("id: sojourn", "id: other")
    several = visitor.post(ASK, definitions=SOJOURN + other, do="preview").text
    assert ("<details open>" in one, 'href="#release"' in one) == (True, False)
    assert ("<details open>" in several, 'href="#release"' in several) == (False, True)


def test_what_is_set_aside_is_not_called_free(visitor: Visitor, service: Served) -> None:
    alice = service.workspace.checkpoint("alice")
    catalogue = parse_catalogue(SOJOURN)
    alice.subscribe(catalogue, date(2024, 8, 1))
    service.workspace.custody.seal(LOG, date(2024, 8, 1))
    page = visitor.post(ASK, definitions=SOJOURN, do="preview")
    assert "partly reserved earlier" in page.text


def test_a_page_refuses_what_a_request_would_refuse(visitor: Visitor) -> None:
    ppi = SOJOURN.split("ppis:")[1]
    many = "".join(ppi.replace("id: sojourn", f"id: sojourn{n}") for n in range(60))
    page = visitor.post(ASK, definitions=f"log: small\nppis:{many}", do="preview")
    assert page.status_code == 422
    assert "the limit is" in page.text


def test_a_rehearsal_is_marked_and_free(visitor: Visitor, service: Served) -> None:
    asked = form_in(visitor.post(ASK, **SENTENCE), "/workbench/rehearse")
    page = visitor.post("/workbench/rehearse", **asked)
    assert page.status_code == 200
    assert "made-up cases" in page.text
    assert "Rehearsal: all cases are made up" in page.text
    assert spent(service.workspace) == ZERO


def test_a_key_for_previews_sees_the_price_and_cannot_release(service: Served) -> None:
    key = service.key(Role.ANALYST, "alice", [Right.PREVIEW])
    with Visitor(service.analyst, key) as visitor:
        page = visitor.post(ASK, **SENTENCE)
        assert "only allows previews" in page.text
        reply = visitor.post("/workbench/release", log=LOG, definitions=SOJOURN, price="x")
        assert reply.status_code == 403
    assert spent(service.workspace) == ZERO


def test_what_is_wrong_is_said_beside_what_was_typed(visitor: Visitor) -> None:
    wrong = visitor.post(ASK, **{**SENTENCE, "blank-most": "many"})
    assert wrong.status_code == 422
    assert 'value="many"' in wrong.text
    assert 'role="alert"' in wrong.text
    text = visitor.post(ASK, definitions="ppis: [", do="preview")
    assert text.status_code == 422
    assert "ppis: [" in text.text
    accuracy = visitor.post(ASK, definitions=SOJOURN, do="preview", **{"accuracy-0": "soon"})
    assert accuracy.status_code == 400
    assert "is not an accuracy" in accuracy.text


def test_an_exceeded_budget_is_explained_and_nothing_is_kept(
    visitor: Visitor, service: Served
) -> None:
    dear = SOJOURN.replace("scope:", "epsilon: 5\n    scope:")
    asked = form_in(visitor.post(ASK, definitions=dear, do="preview"), "/workbench/release")
    page = visitor.post("/workbench/release", **asked)
    assert page.status_code == 402
    assert spent(service.workspace) == ZERO
    assert not service.workspace.checkpoint("alice").saved()


def test_a_question_can_stand_and_be_ended(visitor: Visitor, service: Served) -> None:
    page = released(visitor)
    stood = visitor.post(f"{page.url.path}/subscribe", until="2024-12-01")
    assert "You are subscribed until" in stood.text
    (standing,) = service.workspace.checkpoint("alice").subscriptions()
    ended = visitor.post(f"/workbench/subscriptions/{standing.id}/end")
    assert ended.status_code == 200
    assert not service.workspace.checkpoint("alice").subscriptions()
    assert visitor.post(f"{page.url.path}/subscribe", until="never").status_code == 400


def test_a_question_struck_off_is_gone_from_the_list_alone(
    visitor: Visitor, service: Served
) -> None:
    page = released(visitor)
    visitor.post(f"{page.url.path}/forget")
    assert visitor.get(page.url.path).status_code == 404
    assert released(visitor).url == page.url
    assert spent(service.workspace) == Epsilon.of("0.3")


def test_keeping_and_forgetting_for_ever_does_not_fill_the_journal(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pappi.checkpoint.saved._MOST_A_DAY", 2)
    alice = service.workspace.checkpoint("alice")
    catalogue = parse_catalogue(SOJOURN)
    for _ in range(2):
        kept = alice.save(catalogue)
        assert kept is not None
        alice.forget(kept.id)
    assert alice.save(catalogue) is None
    tomorrow = utc_now() + timedelta(days=1)
    monkeypatch.setattr("pappi.checkpoint.saved.utc_now", lambda: tomorrow)
    assert alice.save(catalogue) is not None


def test_a_list_that_is_full_takes_nothing_more(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pappi.checkpoint.saved._MOST_SAVED", 1)
    alice = service.workspace.checkpoint("alice")
    assert alice.save(parse_catalogue(SOJOURN)) is not None
    assert alice.save(parse_catalogue(SOJOURN.replace("id: ", "id: another_"))) is None


def test_a_long_question_is_answered_and_not_kept(service: Served) -> None:
    comments = "\N{SNOWMAN}" * 4_000
    long = parse_catalogue(SOJOURN.replace("scope:", f"comments: {comments}\n    scope:"))
    assert service.workspace.checkpoint("alice").save(long) is None


def test_nobody_sees_another_analysts_questions(visitor: Visitor, service: Served) -> None:
    page = released(visitor)
    service.workspace.custody.grant_analyst(LOG, "bob", Epsilon.of(1))
    with Visitor(service.analyst, service.key(Role.ANALYST, "bob")) as bob:
        assert bob.get(page.url.path).status_code == 404
        assert bob.post(f"{page.url.path}/forget").status_code == 404
        assert "Mean sojourn" not in bob.get("/workbench/queries").text


def test_a_withdrawn_grant_hides_the_log_and_its_questions(
    visitor: Visitor, service: Served
) -> None:
    page = released(visitor)
    service.workspace.withdraw(LOG, "alice")
    assert visitor.get(page.url.path).status_code == 404
    assert visitor.get(ASK).status_code == 404
    assert "No log yet" in visitor.get("/workbench").text


def test_stopping_refuses_answers_in_words(visitor: Visitor, service: Served) -> None:
    page = released(visitor)
    service.workspace.custody.stop("an audit")
    reply = visitor.get(page.url.path)
    assert reply.status_code == 503
    assert "an audit" in reply.text


HOSTILE = '"><script>alert(1)</script>'


def test_names_from_logs_and_forms_are_text_and_nothing_else(tmp_path: Path) -> None:
    rows: list[Row] = [("c1", HOSTILE, 0.0, {HOSTILE: 1.0}), ("c1", "Pay", 1.0, {})]
    workspace = workspace_with(tmp_path / "w", rows)
    workspace.custody.grant_analyst("small", "alice", Epsilon.of(1))
    key = workspace.custody.issue_key(Role.ANALYST, "alice").secret
    with Visitor(serving(workspace).analyst, key) as visitor:
        for page in (
            visitor.get("/workbench/logs/small"),
            visitor.get(ASK),
            visitor.post(ASK, **{**SENTENCE, "blank-from": HOSTILE, "name": HOSTILE}),
            visitor.post(ASK, definitions=HOSTILE, do="preview"),
        ):
            assert "<script>alert" not in page.text
            assert "&lt;script&gt;" in page.text or "script" not in page.text


def test_pages_before_a_release_do_not_depend_on_the_data(tmp_path: Path) -> None:
    """Two logs that differ in one case, under the same declarations."""
    shown = [list(_pages(tmp_path / name, rows)) for name, rows in _neighbours()]
    assert shown[0] == shown[1]


def _neighbours() -> Iterator[tuple[str, list[Row]]]:
    rows = claims(30)
    yield "whole", rows
    yield "less", [row for row in rows if row[0] != "c7"]


def _pages(folder: Path, rows: list[Row]) -> Iterator[str]:
    workspace = workspace_with(folder, rows, NewLog(terms=Terms(expected_cases=10)))
    workspace.custody.grant_analyst(LOG, "alice", Epsilon.of(1))
    key = workspace.custody.issue_key(Role.ANALYST, "alice").secret
    with Visitor(serving(workspace).analyst, key) as visitor:
        yield visitor.get("/workbench").text
        yield visitor.get(f"/workbench/logs/{LOG}").text
        preview = visitor.post(ASK, **SENTENCE)
        yield preview.text
        yield visitor.post(ASK, definitions=SOJOURN.replace("4 days", "0 days"), do="preview").text
        over = SOJOURN.replace("scope:", "epsilon: 5\n    scope:")
        yield visitor.post("/workbench/release", log=LOG, definitions=over, price="x").text


def test_no_page_is_heavier_than_150_kilobytes(visitor: Visitor) -> None:
    page = released(visitor)
    preview = visitor.post(ASK, **SENTENCE)
    weights = {}
    for found in (page, preview, visitor.get("/workbench"), visitor.get(f"/workbench/logs/{LOG}")):
        links = re.findall(r'(?:href|src)="(/static/[^"]+)"', found.text)
        assets = sum(visitor.get(link).num_bytes_downloaded for link in dict.fromkeys(links))
        weights[found.url.path] = found.num_bytes_downloaded + assets
    assert max(weights.values()) < 150_000, weights


def test_own_words_show_readings_and_the_chosen_one_fills_the_yaml(visitor: Visitor) -> None:
    page = visitor.post(ASK, words="How many cases are there, per quarter?", do="understand")
    assert page.status_code == 200
    assert "The number of cases, for every quarter." in page.text
    chosen = visitor.post(ASK, definitions=readings_in(page)[0], do="preview")
    assert chosen.status_code == 200
    assert "scope: every quarter" in chosen.text
    assert "Release (" in chosen.text


def test_words_that_say_nothing_are_refused_and_stay_in_the_field(visitor: Visitor) -> None:
    page = visitor.post(ASK, words="flying fish", do="understand")
    assert page.status_code == 422
    assert "No reading fits this sentence" in page.text
    assert 'value="flying fish"' in page.text


def readings_in(page: httpx.Response) -> list[str]:
    written = re.findall(r'name="definitions" value="([^"]+)"', page.text)
    return [html.unescape(text) for text in written]
