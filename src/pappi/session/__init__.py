"""Sessions: an analyst's verbs, wherever the log is, and the workspace they are opened from.

    workspace  the owner's workspace: `create`, `open_at`; its `checkpoint` opens a session
    black_box  layer 3 of the audit, run in a workspace of its own
    wire       every type of a session as JSON, and back: for the service and its client

`Session` is what an analyst can do, on this machine (`LocalSession`) or over HTTP; both are at home
in `pappi.checkpoint`.
"""

from typing import TYPE_CHECKING

from pappi.checkpoint import LocalSession, Session
from pappi.lazy import lazy_imports
from pappi.session.workspace import Workspace, create, find, open_at

if TYPE_CHECKING:
    from pappi.session.black_box import audit_query
    from pappi.session.wire import from_wire, is_named, to_wire, wire_fields
else:
    __getattr__ = lazy_imports(__name__)
