"""The analyst's pages, and the right each of them needs.

view          what every page has
pages         the logs one may query; saved queries and subscriptions
asking        a query before its release: composed, previewed, rehearsed, released
composing     ... put together from sentences with blanks, without knowing the notation
comparing     two figures on record compared: what can be picked, and the result in words
"""

from __future__ import annotations

from pappi.service.layers import Service
from pappi.service.routes import add_page
from pappi.service.web.workbench.asking import AskingView
from pappi.service.web.workbench.pages import LogsView, SavedQueriesView
from pappi.session import Workspace
from pappi.values import Right


def add_workbench(app: Service, workspace: Workspace) -> None:
    preview, release = Right.PREVIEW, Right.RELEASE
    logs = LogsView(workspace)
    add_page(app, "GET", "/workbench", logs.overview, preview)
    add_page(app, "GET", "/workbench/logs/{log}", logs.log, preview)
    asking = AskingView(workspace)
    add_page(app, "GET", "/workbench/logs/{log}/ask", asking.form, preview)
    add_page(app, "POST", "/workbench/logs/{log}/ask", asking.preview, preview)
    add_page(app, "POST", "/workbench/rehearse", asking.rehearse, preview)
    add_page(app, "POST", "/workbench/release", asking.release, release)
    questions = SavedQueriesView(workspace)
    add_page(app, "GET", "/workbench/questions", questions.all, preview)
    add_page(app, "GET", "/workbench/questions/{question}", questions.one, preview)
    add_page(app, "GET", "/workbench/questions/{question}/figures.csv", questions.csv, preview)
    add_page(app, "POST", "/workbench/questions/{question}/forget", questions.forget, release)
    add_page(app, "POST", "/workbench/questions/{question}/subscribe", questions.subscribe, release)
    add_page(app, "POST", "/workbench/subscriptions/{question}/end", questions.end, release)
