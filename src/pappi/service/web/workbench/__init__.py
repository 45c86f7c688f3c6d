"""The analyst's pages, and the right each of them needs.

pages         the logs one may query; saved queries, compared and subscribed to; their common base
asking        a query before its release: composed, previewed, rehearsed, released
composing     ... put together from sentences with blanks, without knowing the notation
"""

from __future__ import annotations

from pappi.service.middleware import Service
from pappi.service.routes import add_page
from pappi.service.web.workbench.asking import AskingView
from pappi.service.web.workbench.pages import LogsView, SavedQueriesView
from pappi.values import Right


def add_workbench(app: Service) -> None:
    preview, release = Right.PREVIEW, Right.RELEASE
    logs = LogsView()
    add_page(app, "GET", "/workbench", logs.overview, preview)
    add_page(app, "GET", "/workbench/logs/{log}", logs.log, preview)
    asking = AskingView()
    add_page(app, "GET", "/workbench/logs/{log}/ask", asking.form, preview)
    add_page(app, "POST", "/workbench/logs/{log}/ask", asking.preview, preview)
    add_page(app, "POST", "/workbench/rehearse", asking.rehearse, preview)
    add_page(app, "POST", "/workbench/release", asking.release, release)
    queries = SavedQueriesView()
    add_page(app, "GET", "/workbench/queries", queries.all, preview)
    add_page(app, "GET", "/workbench/queries/{query}", queries.one, preview)
    add_page(app, "GET", "/workbench/queries/{query}/figures.csv", queries.csv, preview)
    add_page(app, "POST", "/workbench/queries/{query}/forget", queries.forget, release)
    add_page(app, "POST", "/workbench/queries/{query}/subscribe", queries.subscribe, release)
    add_page(app, "POST", "/workbench/subscriptions/{subscription}/end", queries.end, release)
