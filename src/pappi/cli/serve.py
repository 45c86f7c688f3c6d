"""`pappi serve`: the analyst's and the owner's application, until they are told to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pappi.cli.options import open_workspace, workspace_option
from pappi.errors import UsageError

if TYPE_CHECKING:
    from pappi.service.running import Addresses

PORT = click.IntRange(0, 65_535)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where analysts reach it.")
@click.option("--analyst-port", type=PORT, default=8080, show_default=True)
@click.option(
    "--owner-host",
    default="127.0.0.1",
    show_default=True,
    help="Where the owner reaches it: the trusted side alone.",
)
@click.option("--owner-port", type=PORT, default=8081, show_default=True)
@click.option(
    "--requests-per-minute",
    type=click.IntRange(min=1),
    default=600,
    show_default=True,
    help="Of one key.",
)
@click.option(
    "--trusted-proxies",
    metavar="ADDRESSES",
    envvar="PAPPI_TRUSTED_PROXIES",
    default="127.0.0.1",
    show_default=True,
    help="Whose word counts on where a request came from: addresses, networks, with commas.",
)
@click.option(
    "--public-url",
    metavar="URL",
    envvar="PAPPI_PUBLIC_URL",
    default="",
    help="Where analysts reach it, such as https://ppi.example.org: no other Host is answered, "
    "and cookies are for HTTPS alone.",
)
@click.option(
    "--owner-url",
    metavar="URL",
    envvar="PAPPI_OWNER_URL",
    default="",
    help="The same for the owner's port.",
)
@workspace_option
def serve(
    host: str,
    analyst_port: int,
    owner_host: str,
    owner_port: int,
    requests_per_minute: int,
    trusted_proxies: str,
    public_url: str,
    owner_url: str,
    workspace: str | None,
) -> None:
    """Serve the workspace over HTTP: analysts on one port, the owner on another.

    It speaks plain HTTP: put a reverse proxy with TLS before it, and let only the trusted
    side reach the owner's port.
    """
    try:
        from pappi.service.running import Address, Addresses
        from pappi.service.running import serve as run
        from pappi.service.settings import Settings
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("pappi"):
            raise
        raise UsageError(
            "the service is not installed", hint="install it with: pip install 'pappi[service]'"
        ) from None
    settings = Settings(
        requests_per_minute=requests_per_minute,
        trusted_proxies=trusted_proxies,
        public_url=public_url,
        owner_url=owner_url,
    )
    door = open_workspace(workspace)
    asked = Addresses(Address(host, analyst_port), Address(owner_host, owner_port))
    run(door, asked, settings, _tell)


def _tell(addresses: Addresses) -> None:
    click.echo(f"Analysts: {addresses.analyst}")
    click.echo(f"Owner:    {addresses.owner}")
    click.echo("Keys: pappi key issue owner NAME, or analyst NAME; logs: pappi analyst grant.")
    click.echo("Ctrl-C stops it: what is under way is finished.")
