"""Where things live: a workspace's files, its events, and what holds by its ledger.

workspace     the files of a workspace: creating, finding, opening one
declarations  a log as its owner declares it: what is public, and where its events are
registry      what holds now: a fold over the acts in the journal; one verified ledger kept open
event_file    the DuckDB files of events: changing a log all or nothing, looking into it
event_logs    writing event logs: importing, growing, erasing
event_profile counting what the owner wants to know of a log before declaring it
inbox         captured events, until time is sealed over them
migration     a workspace that an earlier version wrote, brought to today's layout
"""

from typing import TYPE_CHECKING

from pappi.lazy import lazy_imports
from pappi.store.declarations import (
    ColumnForm,
    EventSource,
    LogDeclaration,
    MappedColumn,
    SourceRead,
    System,
    place_text,
    require_public,
    same_place,
    secret_name,
    system_of,
    today,
)
from pappi.store.registry import (
    LedgerSession,
    Registry,
    SavedQuery,
    Subscription,
    acts_on,
    day_of,
    digest_of,
    key_payload,
    saved_query_payload,
    subscription_payload,
)
from pappi.store.workspace import (
    LAYOUT,
    MARKER,
    WorkspaceFiles,
    create_workspace,
    find_root,
    find_workspace,
    open_workspace,
    sync_folder,
    write_durably,
)

if TYPE_CHECKING:
    from pappi.store.event_file import (
        CASES,
        FIRST_POSITION,
        PERSONS,
        POSITION,
        Lookup,
        Versioned,
        changing,
        column,
        event_files,
        exclusive,
        knows_cases,
        of_persons,
        open_beside,
        open_readonly,
        require_events,
        staging,
        stored_logs,
        table,
        table_names,
    )
    from pappi.store.event_logs import (
        NewVersion,
        adopt_events,
        create_events,
        drop_events,
        erase_cases,
        import_events,
    )
    from pappi.store.event_profile import profile_events
    from pappi.store.inbox import (
        AS_IMPORTED,
        Captured,
        CapturedEvent,
        Inbox,
        InboxReader,
        OpenCase,
        Value,
        case_digests,
        drop_captured,
        open_inbox,
        person_digests,
        person_text,
    )
    from pappi.store.migration import migrate
else:
    __getattr__ = lazy_imports(__name__)
