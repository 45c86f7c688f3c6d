"""The data-protection pack: on the screen, on paper, and as a document to be sent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import Query
from starlette.responses import HTMLResponse, Response

from pappi.report.dpo.document import dpo_body, dpo_html
from pappi.service.keys import Asking, Bearer
from pappi.service.web.console.desk import Desk

_DOCUMENT = "/console/protection-document"
# What is longer is read as a document, not as a page.
_LONGEST = 130_000

LogOrAll = Annotated[str, Query(max_length=64)]


class ProtectionDesk(Desk):
    """The pack of one log, or of all."""

    def all_logs(self, bearer: Asking) -> Response:
        """Of every log."""
        return self._shown(bearer, None)

    def log(self, log: str, bearer: Asking) -> Response:
        """Of one log."""
        return self._shown(bearer, log)

    def document(self, bearer: Asking, log: LogOrAll = "") -> Response:
        """The pack as a file that stands by itself."""
        pack = self._door(bearer).pack(log or None)
        today = datetime.now(UTC).date().isoformat()
        # A log that is there has a name of letters, digits, - and _.
        name = f"data-protection{f'-{log}' if log else ''}-{today}.html"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return HTMLResponse(dpo_html(pack, today), headers=headers)

    def _shown(self, bearer: Bearer, log: str | None) -> Response:
        door = self._door(bearer)
        body = dpo_body(door.pack(log))
        long = len(str(body).encode()) > _LONGEST
        return self._page(
            "protection.html",
            bearer,
            chosen=log,
            logs=[each.name for each in door.logs()],
            body=None if long else body,
            document=_DOCUMENT if log is None else f"{_DOCUMENT}?log={quote(log)}",
        )
