"""Behind a proxy the service answers to its public name alone, and its cookies are for HTTPS."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click.testing
import httpx
import pytest

from pappi.cli import owner
from pappi.errors import UsageError
from pappi.service import Settings
from pappi.service.settings import PublicUrl
from tests.service.served import QUICK, Served, ask, served
from tests.service.serving import listening

PUBLIC = "https://ppi.example.org"
BEHIND = replace(QUICK, public_url=PUBLIC, owner_url="https://owner.example.org:8443")
HERE = {"Host": "ppi.example.org"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return served(tmp_path_factory.mktemp("public"), BEHIND)


def test_another_host_is_answered_by_nothing_but_its_health(service: Served) -> None:
    key = service.alice
    for host in ("evil.example.org", "ppi.example.org:8080", "ppi.example.org.", "127.0.0.1"):
        for path in ("/logs", "/sign-in", "/workbench", "/static/pages.css", "/openapi.json"):
            reply = ask(service.analyst, "GET", path, key, headers={"Host": host})
            assert reply.status_code == 421
            assert reply.json()["code"] == "misdirected"
            assert "set-cookie" not in reply.headers
        for path in ("/health", "/ready"):
            assert ask(service.analyst, "GET", path, headers={"Host": host}).status_code == 200


def test_each_application_answers_to_its_own_name(service: Served) -> None:
    for host in ("ppi.example.org", "PPI.example.org:443"):
        reply = ask(service.analyst, "GET", "/logs", service.alice, headers={"Host": host})
        assert reply.status_code == 200
    owner = {"Host": "owner.example.org:8443"}
    assert ask(service.owner, "GET", "/logs", service.boss, headers=owner).status_code == 200
    assert ask(service.owner, "GET", "/logs", service.boss, headers=HERE).status_code == 421


def test_cookies_are_for_https_alone_whatever_a_proxy_says(service: Served) -> None:
    sent = {**HERE, "Origin": PUBLIC}
    data = {"key": service.alice, "next": ""}
    reply = ask(service.analyst, "POST", "/sign-in", headers=sent, data=data)
    assert reply.status_code == 303
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith("__Host-pappi_workbench=")
    assert "Secure" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_a_form_of_the_plain_site_is_foreign(service: Served) -> None:
    sent = {**HERE, "Origin": "http://ppi.example.org"}
    data = {"key": service.alice, "next": ""}
    assert ask(service.analyst, "POST", "/sign-in", headers=sent, data=data).status_code == 403


def test_without_a_public_url_it_would_be_a_plain_cookie(tmp_path: Path) -> None:
    plain = served(tmp_path)
    sent = {**HERE, "Origin": "http://ppi.example.org"}
    data = {"key": plain.alice, "next": ""}
    cookie = ask(plain.analyst, "POST", "/sign-in", headers=sent, data=data).headers["set-cookie"]
    assert cookie.startswith("pappi_workbench=")
    assert "Secure" not in cookie


@pytest.mark.parametrize(
    "url",
    ["ppi.example.org", "ftp://x", "https://", "https://x/pappi", "https://u@x", "https://x:a"],
)
def test_what_is_no_address_of_a_site_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="not the address of a site"):
        Settings(public_url=url)


def test_an_ipv6_address_is_one() -> None:
    assert PublicUrl.of("http://[::1]:80").is_asked("[::1]")


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings with which the command would serve."""
    found: list[Settings] = []
    monkeypatch.setattr(
        "pappi.service.serve", lambda _door, _asked, given, _tell: found.append(given)
    )
    return found


def test_the_command_takes_them_as_options_or_variables(
    tmp_path: Path, asked_for: list[Settings]
) -> None:
    place = ["-w", str(served(tmp_path).workspace.root)]
    run = click.testing.CliRunner().invoke
    options = ["--trusted-proxies", "10.0.0.0/8,::1", "--public-url", PUBLIC, "--owner-url", PUBLIC]
    assert run(owner.serve, [*place, *options]).exit_code == 0
    variables = {
        "PAPPI_TRUSTED_PROXIES": "10.0.0.0/8,::1",
        "PAPPI_PUBLIC_URL": PUBLIC,
        "PAPPI_OWNER_URL": PUBLIC,
    }
    assert run(owner.serve, place, env=variables).exit_code == 0
    wanted = Settings(trusted_proxies="10.0.0.0/8,::1", public_url=PUBLIC, owner_url=PUBLIC)
    assert asked_for == [wanted, wanted]


@pytest.mark.parametrize(("proxies", "trusted"), [("127.0.0.0/8", True), ("10.0.0.1", False)])
def test_a_proxys_word_counts_if_it_is_trusted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, proxies: str, trusted: bool
) -> None:
    """By the address in the log line, and by the cookie's scheme."""
    caplog.set_level("INFO", "pappi.service")
    settings = replace(QUICK, trusted_proxies=proxies)
    workspace = served(tmp_path).workspace
    with listening(workspace, settings) as addresses:
        url = str(addresses.analyst)
        headers = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
        headers["Sec-Fetch-Site"] = "same-origin"
        reply = httpx.post(f"{url}/sign-out", headers=headers, timeout=60)
    cookie = reply.headers["set-cookie"].split("=")[0]
    assert cookie == ("__Host-pappi_workbench" if trusted else "pappi_workbench")
    (line,) = (record for record in caplog.records if record.msg == "request")
    client = vars(line)["pappi"]["client"]
    assert client == ("192.0.2.7" if trusted else "127.0.0.1")
