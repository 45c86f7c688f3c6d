"""The owner's pages, and the right each of them needs: viewing READ, every form MANAGE.

view          what every page has
pages         every log at a glance, the stop switch; keys; one log, its budgets, sealing, deletion
record        charges and acts in words, whether the ledger verifies, the data-protection pack
"""

from __future__ import annotations

from functools import partial

from pappi.service.middleware import Service
from pappi.service.routes import Endpoint, add_page
from pappi.service.web.console.pages import KeysView, LogView, OverviewView
from pappi.service.web.console.record import ProtectionView, TrailView
from pappi.values import Right


def add_console(app: Service) -> None:
    """Viewing needs READ; every form needs MANAGE."""
    see, do = partial(_page, app, "GET", Right.READ), partial(_page, app, "POST", Right.MANAGE)
    overview = OverviewView()
    see("/console", overview.overview)
    do("/console/stop", overview.stop)
    do("/console/resume", overview.resume)
    log = LogView()
    see("/console/logs/{log}", log.log)
    do("/console/logs/{log}/budget", log.grant)
    do("/console/logs/{log}/analysts", log.grant_analyst)
    do("/console/logs/{log}/withdraw", log.withdraw)
    do("/console/logs/{log}/seal", log.seal)
    do("/console/logs/{log}/erase", log.erase)
    do("/console/logs/{log}/rename", log.rename)
    do("/console/logs/{log}/remove", log.remove)
    keys = KeysView()
    see("/console/keys", keys.keys)
    do("/console/keys", keys.issue)
    do("/console/keys/revoke", keys.revoke)
    trail = TrailView()
    see("/console/trail", trail.trail)
    see("/console/trail/{number}", trail.entry)
    protection = ProtectionView()
    see("/console/protection", protection.all_logs)
    see("/console/protection/{log}", protection.log)
    see("/console/protection-document", protection.document)


def _page(app: Service, method: str, right: Right, path: str, endpoint: Endpoint) -> None:
    add_page(app, method, path, endpoint, right)
