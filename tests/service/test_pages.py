"""The pages' way in: sessions, origins, headers; and what keeps pages and programs apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute

from pappi.custody import NewLog
from pappi.service.keys import COOKIE, HOME, Sessions, cookie_name, is_open, rights_of
from pappi.service.middleware import PageMiddleware, Service
from pappi.service.problems import Audience
from pappi.values import Calendar, Epsilon, Grid, Role, Terms, Vocabulary
from tests.service.served import QUICK, SOJOURN, Served, ask, served
from tests.service.visiting import HERE, Visitor, form_in

FOREIGN: tuple[dict[str, str], ...] = (
    {},
    {"Origin": "null"},
    {"Origin": "https://elsewhere.example"},
    {"Origin": "http://pappi:8002"},
    {"Origin": "https://pappi"},
    {"Origin": "http://["},
    {"Origin": "http://pappi.elsewhere.example"},
    {"Origin": HERE, "Sec-Fetch-Site": "same-site"},
    {"Origin": HERE, "Sec-Fetch-Site": "cross-site"},
    {"Referer": f"{HERE}/workbench"},
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return served(tmp_path_factory.mktemp("pages"))


def pages_of(app: Service) -> Iterator[APIRoute]:
    for route in app.routes:
        if isinstance(route, APIRoute) and not route.include_in_schema:
            yield route


def address(route: APIRoute) -> str:
    return route.path.format_map(Known())


class Known(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return {"log": "small"}.get(name, "none")


def apps(service: Served) -> Iterator[tuple[Audience, Service]]:
    yield Audience.ANALYST, service.analyst
    yield Audience.OWNER, service.owner


def test_every_page_behind_the_sign_in_names_a_right(service: Served) -> None:
    for audience, app in apps(service):
        guarded = [route for route in pages_of(app) if not is_open(route.path)]
        assert guarded
        for route in guarded:
            assert rights_of(route)
            assert route.path.startswith(HOME[audience])


def test_without_a_session_every_page_leads_to_the_sign_in(service: Served) -> None:
    for audience, app in apps(service):
        for cookie in (None, "", "made-up"):
            with Visitor(app) as visitor:
                if cookie is not None:
                    visitor.cookies.set(COOKIE[audience], cookie)
                for route in pages_of(app):
                    if is_open(route.path):
                        continue
                    if "GET" in (route.methods or ()):
                        reply = visitor.get(address(route))
                    else:
                        reply = visitor.post(address(route))
                    assert reply.url.path == "/sign-in", route.path
                    assert "Your key" in reply.text


def test_a_page_takes_no_bearer_key_and_a_route_for_programs_no_cookie(service: Served) -> None:
    assert ask(service.analyst, "GET", "/workbench", service.alice).status_code == 303
    with Visitor(service.analyst, service.alice) as visitor:
        assert visitor.get("/workbench").status_code == 200
        assert visitor.get("/logs").status_code == 401


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_form_from_elsewhere_changes_nothing(service: Served, headers: dict[str, str]) -> None:
    for app, key in ((service.analyst, service.alice), (service.owner, service.boss)):
        with Visitor(app, key) as visitor:
            for route in pages_of(app):
                if "POST" in (route.methods or ()):
                    reply = visitor.send(address(route), {"definitions": SOJOURN}, headers)
                    assert reply.status_code == 403, route.path
                    assert "did not come from a page" in reply.text


def test_a_browser_that_says_same_origin_is_believed_behind_any_proxy(service: Served) -> None:
    with Visitor(service.analyst) as visitor:
        headers = {"Origin": "https://public.example", "Sec-Fetch-Site": "same-origin"}
        reply = visitor.send("/sign-in", {"key": service.alice}, headers)
        assert reply.url.path == "/workbench"


def test_signing_in_takes_a_valid_key_of_the_right_role(service: Served) -> None:
    for key, status in (("pappi_x_y", 401), ("", 401), ("x" * 300, 401), (service.boss, 403)):
        with Visitor(service.analyst) as visitor:
            reply = visitor.post("/sign-in", key=key)
            assert reply.status_code == status
            assert not visitor.cookies
            assert key not in reply.text or not key


def test_wrong_keys_are_slowed_down(tmp_path: Path) -> None:
    service = served(tmp_path, replace(QUICK, failures_per_minute=2))
    with Visitor(service.analyst) as visitor:
        found = [visitor.post("/sign-in", key="pappi_x_y").status_code for _ in range(3)]
        assert found == [401, 401, 429]
        assert visitor.post("/sign-in", key=service.alice).url.path == "/workbench"


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(service: Served) -> None:
    with Visitor(service.analyst) as visitor:
        reply = visitor.send("/sign-in", {"key": service.alice}, {"Origin": HERE}, follow=False)
        cookie = reply.headers["set-cookie"]
        assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
        assert "Secure" not in cookie
        secure = visitor.send(
            "https://pappi/sign-in",
            {"key": service.alice},
            {"Origin": "https://pappi"},
            follow=False,
        )
        assert "Secure" in secure.headers["set-cookie"]
        assert service.alice not in cookie


@pytest.mark.parametrize(
    "wanted", ["https://elsewhere.example", "//elsewhere.example", "/logs", "/workbenchx", ""]
)
def test_signing_in_leads_to_a_page_of_this_application(service: Served, wanted: str) -> None:
    with Visitor(service.analyst) as visitor:
        fields = {"key": service.alice, "next": wanted}
        reply = visitor.send("/sign-in", fields, {"Origin": HERE}, follow=False)
        assert reply.headers["location"] == "/workbench"


def test_a_revoked_key_ends_its_sessions_at_once(service: Served) -> None:
    issued = service.workspace.custody.issue_key(Role.ANALYST, "alice")
    with Visitor(service.analyst, issued.secret) as visitor:
        assert visitor.get("/workbench").url.path == "/workbench"
        service.workspace.custody.revoke_key(issued.record.id)
        assert visitor.get("/workbench").url.path == "/sign-in"


def test_signing_out_ends_the_session_for_whoever_has_its_cookie(service: Served) -> None:
    with Visitor(service.analyst, service.alice) as visitor:
        stolen = visitor.cookies[COOKIE[Audience.ANALYST]]
        assert visitor.post("/sign-out").url.path == "/sign-in"
        visitor.cookies.set(COOKIE[Audience.ANALYST], stolen)
        assert visitor.get("/workbench").url.path == "/sign-in"


def test_a_session_ends_after_its_time() -> None:
    now = 0.0
    sessions = Sessions(hours=1, idle_minutes=40, clock=lambda: now)
    token = sessions.begin("key")
    now = 2399
    assert sessions.key_behind(token) == "key"
    now = 3599
    assert sessions.key_behind(token) == "key"
    now = 3600
    with pytest.raises(Exception, match="valid key"):
        sessions.key_behind(token)


def test_a_session_that_is_not_used_ends_sooner() -> None:
    now = 0.0
    sessions = Sessions(hours=8, idle_minutes=30, clock=lambda: now)
    token = sessions.begin("key")
    now = 1799
    assert sessions.key_behind(token) == "key"
    now = 1799 + 1800
    with pytest.raises(Exception, match="valid key"):
        sessions.key_behind(token)


def test_signing_in_again_and_again_signs_nobody_else_out() -> None:
    sessions = Sessions(hours=1, idle_minutes=60)
    owner = sessions.begin("owner")
    first = sessions.begin("analyst")
    for _ in range(20):
        last = sessions.begin("analyst")
    assert sessions.key_behind(owner) == "owner"
    assert sessions.key_behind(last) == "analyst"
    with pytest.raises(Exception, match="valid key"):
        sessions.key_behind(first)


def test_every_reply_to_a_person_forbids_what_is_not_from_here(service: Served) -> None:
    with Visitor(service.analyst, service.alice) as visitor:
        paths = (
            "/workbench",
            "/sign-in",
            "/workbench/nothing",
            "/static/nothing.js",
            "/workbench/logs/x",
        )
        for path in paths:
            headers = visitor.get(path).headers
            policy = headers["content-security-policy"]
            assert policy.startswith("default-src 'none'")
            assert "unsafe" not in policy
            assert "http" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
        assert visitor.get("/workbench").headers["cache-control"] == "no-store"


def test_failures_on_pages_are_pages_with_their_status(service: Served) -> None:
    with Visitor(service.analyst, service.alice) as visitor:
        for path in ("/workbench/nothing", "/workbench/logs/unknown", "/workbench/queries/none"):
            reply = visitor.get(path)
            assert reply.status_code == 404, path
            assert reply.headers["content-type"].startswith("text/html")
            assert "<h1" in reply.text


def test_style_and_script_may_be_kept_for_ever_and_change_their_names(service: Served) -> None:
    with Visitor(service.analyst, service.alice) as visitor:
        text = visitor.get("/workbench").text
        names = [part.split('"')[0] for part in text.split('href="/static/')[1:]]
        assert len(names) == 3
        for name in names:
            reply = visitor.get(f"/static/{name}")
            assert reply.status_code == 200
            assert "immutable" in reply.headers["cache-control"]
        assert visitor.get("/static/pages.css").status_code == 404
        assert visitor.get("/static/..%2f__init__.py").status_code == 404


SECURE = "https://pappi"


def signed_in(visitor: Visitor, key: str, origin: str = SECURE) -> httpx.Response:
    return visitor.send(f"{origin}/sign-in", {"key": key}, {"Origin": origin}, follow=False)


def test_over_https_the_cookie_is_of_this_host_alone(service: Served) -> None:
    name = cookie_name(Audience.ANALYST, "https")
    assert name == f"__Host-{COOKIE[Audience.ANALYST]}"
    with Visitor(service.analyst) as visitor:
        cookie = signed_in(visitor, service.alice).headers["set-cookie"]
        assert cookie.startswith(f"{name}=")
        assert all(word in cookie for word in ("Secure", "Path=/", "HttpOnly"))
        assert "Domain" not in cookie
        assert visitor.get(f"{SECURE}/workbench").url.path == "/workbench"
        out = visitor.send(f"{SECURE}/sign-out", {}, {"Origin": SECURE}, follow=False)
        # Without Secure a browser would not take it, and the cookie would stay.
        gone = out.headers["set-cookie"]
        assert gone.startswith(f"{name}=")
        assert all(word in gone for word in ("Max-Age=0", "Secure"))


def test_over_https_a_cookie_without_the_prefix_opens_nothing(service: Served) -> None:
    with Visitor(service.analyst, service.alice) as visitor:
        token = visitor.cookies[COOKIE[Audience.ANALYST]]
    with Visitor(service.analyst) as visitor:
        visitor.cookies.set(COOKIE[Audience.ANALYST], token)
        assert visitor.get("/workbench").url.path == "/workbench"
        assert visitor.get(f"{SECURE}/workbench").url.path == "/sign-in"


@pytest.mark.parametrize("origin", [HERE, SECURE])
def test_signing_in_again_ends_the_session_before(service: Served, origin: str) -> None:
    name = cookie_name(Audience.ANALYST, origin.partition(":")[0])
    with Visitor(service.analyst) as visitor:
        signed_in(visitor, service.alice, origin)
        before = visitor.cookies[name]
        assert signed_in(visitor, "wrong", origin).status_code == 401
        assert visitor.get(f"{origin}/workbench").url.path == "/workbench"
        signed_in(visitor, service.alice, origin)
        assert visitor.get(f"{origin}/workbench").url.path == "/workbench"
    with Visitor(service.analyst) as visitor:
        visitor.cookies.set(name, before)
        assert visitor.get(f"{origin}/workbench").url.path == "/sign-in"


@pytest.mark.parametrize(
    ("referer", "back"),
    [
        (f"{HERE}/workbench/queries?after=1", ["/workbench/queries"]),
        (f"{HERE}/console", []),
        (f"{HERE}//elsewhere.example/workbench", []),
        ("http://elsewhere.example/workbench", []),
        ("http://elsewhere.example//elsewhere.example/x", []),
        ("javascript:alert(1)", []),
        ("http://[", []),
        ("/workbench", []),
    ],
)
def test_back_leads_to_a_page_of_this_application(
    service: Served, referer: str, back: list[str]
) -> None:
    reply = ask(service.analyst, "GET", "/static/nothing", headers={"Referer": referer})
    assert reply.status_code == 404
    assert re.findall('href="([^"]*)">Go back', reply.text) == back


def test_compressing_a_page_takes_little_of_everybodys_time(service: Served) -> None:
    assert PageMiddleware(service.analyst, Audience.ANALYST)._compressed.compresslevel <= 4


def test_a_log_of_many_blocks_has_pages_that_leave_none_out(service: Served) -> None:
    door = service.workspace.custody
    daily = NewLog(first=date(2023, 1, 1), terms=Terms(blocks=Grid(Calendar.DAY)))
    door.create_log("daily", daily, Vocabulary(("a",)))
    door.seal("daily", date(2023, 6, 1))
    door.grant_analyst("daily", "alice", Epsilon.of(1))
    home = "/workbench/logs/daily"
    with Visitor(service.analyst, service.alice) as visitor:
        pages = [visitor.get(f"{home}?blocks={number}") for number in (1, 2, 3)]
        assert visitor.get(home).text == pages[0].text
        assert visitor.get(f"{home}?blocks=99").text == pages[2].text
        assert visitor.get(f"{home}?blocks={10**20}").status_code == 422
    rows = [re.findall(r"<bdi>(2023-[\d-]+)</bdi>", page.text) for page in pages]
    assert [len(each) for each in rows] == [60, 60, 31]
    every = [str(date(2023, 1, 1) + timedelta(days)) for days in range(151)]
    assert [*rows[2], *rows[1], *rows[0]] == every
    assert 'href="?blocks=2#budget">Earlier blocks' in pages[0].text
    assert "Earlier blocks" not in pages[2].text


def test_no_figure_for_a_spreadsheet_is_a_formula(service: Served) -> None:
    groups = 'unit: days}, by: {data: channel, values: ["=1+1", "web"]}}'
    grouped = SOJOURN.replace("unit: days}}", groups)
    with Visitor(service.analyst, service.alice) as visitor:
        page = visitor.post("/workbench/logs/small/ask", do="preview", definitions=grouped)
        released = visitor.post("/workbench/release", **form_in(page, "/workbench/release"))
        table = visitor.get(f"{released.url.path}/figures.csv").text
    assert table.count(",'=1+1,") == 3
    assert ",=" not in table


def test_the_glossary_is_for_anybody_and_has_every_term_that_a_page_links_to(
    service: Served,
) -> None:
    shown = {ask(app, "GET", "/glossary").text for _, app in apps(service)}
    (glossary,) = shown
    terms = set(re.findall(r'<p id="([a-z-]+)">', glossary))
    assert {"epsilon", "block-period", "subscription", "saved-query"} <= terms
    assert not re.search(r"https?:|\.md", glossary)
    templates = files("pappi.service.web") / "templates"
    linked = {
        term
        for folder in ("workbench", "console")
        for page in (templates / folder).iterdir()
        for term in re.findall(r"/glossary#([^\"]*)", page.read_text(encoding="utf-8"))
    }
    assert linked
    assert linked <= terms
