"""Which pages the workbench has, and the right each of them needs."""

from __future__ import annotations

from pappi.service.layers import Service
from pappi.service.routes import add_page
from pappi.service.web.workbench.asking import AskingDesk
from pappi.service.web.workbench.logs import LogsDesk
from pappi.service.web.workbench.questions import QuestionsDesk
from pappi.values.access import Right
from pappi.workspace import Workspace


def add_workbench(app: Service, workspace: Workspace) -> None:
    preview, release = Right.PREVIEW, Right.RELEASE
    logs = LogsDesk(workspace)
    add_page(app, "GET", "/workbench", logs.overview, preview)
    add_page(app, "GET", "/workbench/logs/{log}", logs.log, preview)
    asking = AskingDesk(workspace)
    add_page(app, "GET", "/workbench/logs/{log}/ask", asking.form, preview)
    add_page(app, "POST", "/workbench/logs/{log}/ask", asking.preview, preview)
    add_page(app, "POST", "/workbench/rehearse", asking.rehearse, preview)
    add_page(app, "POST", "/workbench/release", asking.release, release)
    questions = QuestionsDesk(workspace)
    add_page(app, "GET", "/workbench/questions", questions.all, preview)
    add_page(app, "GET", "/workbench/questions/{question}", questions.one, preview)
    add_page(app, "GET", "/workbench/questions/{question}/figures.csv", questions.csv, preview)
    add_page(app, "POST", "/workbench/questions/{question}/forget", questions.forget, release)
    add_page(app, "POST", "/workbench/questions/{question}/stand", questions.stand, release)
    add_page(app, "POST", "/workbench/standing/{question}/end", questions.end, release)
