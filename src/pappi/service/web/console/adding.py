"""Which pages the owner's console has, and the right each of them needs."""

from __future__ import annotations

from functools import partial

from pappi.service.layers import Service
from pappi.service.routes import Endpoint, add_page
from pappi.service.web.console.erasing import ErasingDesk
from pappi.service.web.console.keys import KeysDesk
from pappi.service.web.console.logs import LogDesk
from pappi.service.web.console.overview import OverviewDesk
from pappi.service.web.console.protection import ProtectionDesk
from pappi.service.web.console.trail import TrailDesk
from pappi.values.access import Right
from pappi.workspace import Workspace


def add_console(app: Service, workspace: Workspace) -> None:
    """Looking needs READ; every form needs MANAGE."""
    see, do = partial(_page, app, "GET", Right.READ), partial(_page, app, "POST", Right.MANAGE)
    overview = OverviewDesk(workspace)
    see("/console", overview.overview)
    do("/console/stop", overview.stop)
    do("/console/resume", overview.resume)
    log = LogDesk(workspace)
    see("/console/logs/{log}", log.log)
    do("/console/logs/{log}/budget", log.grant)
    do("/console/logs/{log}/analysts", log.grant_analyst)
    do("/console/logs/{log}/withdraw", log.withdraw)
    do("/console/logs/{log}/seal", log.seal)
    do("/console/logs/{log}/erase", ErasingDesk(workspace).erase)
    keys = KeysDesk(workspace)
    see("/console/keys", keys.keys)
    do("/console/keys", keys.issue)
    do("/console/keys/revoke", keys.revoke)
    trail = TrailDesk(workspace)
    see("/console/trail", trail.trail)
    see("/console/trail/{number}", trail.entry)
    protection = ProtectionDesk(workspace)
    see("/console/protection", protection.all_logs)
    see("/console/protection/{log}", protection.log)
    see("/console/protection-document", protection.document)


def _page(app: Service, method: str, right: Right, path: str, endpoint: Endpoint) -> None:
    add_page(app, method, path, endpoint, right)
