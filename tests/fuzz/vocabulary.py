"""The log that all definitions of the campaign are about, and the names they must not get at.

The declared names are awkward on purpose: keywords of SQL and of our own notations, names that
queries use inside, quotes of every sort. The names that are not declared are real: columns of
the same table that an owner keeps back, of the ledger, of the database's own tables.
"""

from __future__ import annotations

from pappi.values import Kind, Vocabulary

TRANSITION = "lifecycle:transition"

ACTIVITIES = (
    *("Pay claim", "Reject claim", "A", "B", "pay", "Receive the claim and check", "first"),
    *(
        "NULL",
        'Say "hi"',
        "it's 5: done",
        "a`b",
        "back\\slash",
        "'; DROP TABLE events; --",
        "100 %",
    ),
    *("x;y", "prüfen", "日本 語", "\U0001f4b6 paid", "a\u0301", "שלום", "=1+1", "<b>&amp;</b>"),
    *("$1", "{}"),
)

_DECLARED: dict[Kind, tuple[str, ...]] = {
    Kind.NUMBER: (
        *("amount", "order", "group", "c0", "m1", "sequence_0", "start_0", "first", "größe"),
        *("Debit amount", "a.b", "min", "days", "n" * 60, "ANCHOR_US", '"quoted"', "1st"),
        "\U0001f4b6",
    ),
    Kind.TEXT: (
        *("channel", "select", "org:resource", "case:concept:name", "Case ID", "below", "opened"),
        *("it's `odd`", "back\\slash", "a; DROP TABLE events; --", "日本", "NULL", "activity name"),
        *("where", "$$", "Joined_Case", "x" + "ß" * 59, "m0", "numbered", TRANSITION),
    ),
    Kind.TRUTH: ("urgent", "in", "from", "onset_0", "true", "closed", "is late?", "c1", "not"),
    Kind.DURATION: ("effort", "round", "lasted", "end_c0", "worked_c0", "hours", "m2", "time"),
    Kind.TIME: ("due", "start_c0", "next_ts_us", "date", "day", "before", "next_closed", "v0"),
}
VOCABULARY = Vocabulary(
    ACTIVITIES, {name: kind for kind, names in _DECLARED.items() for name in names}
)
NAMES: dict[Kind, tuple[str, ...]] = {
    **_DECLARED,
    Kind.TIME: (*_DECLARED[Kind.TIME], "timestamp", "timestamp"),
}

KEPT_BACK = ("secret", "Patient name", "age at death")
"""Columns of the table of events that the owner did not declare."""

UNDECLARED = (
    *KEPT_BACK,
    *("case_id", "pos", "ts_us", "anchor_us", "first_pos", "person", "joined_case", "rowid"),
    *("events.secret", "main.events", "duckdb_tables", "sqlite_master", "table_name"),
    "column_name",
    *("information_schema.tables", "pg_catalog.pg_tables", "current_user", "getenv('HOME')"),
    *("seq", "body", "digest", "nano", "charged", "released", "journal", "spent"),
    *(
        "\x1b[2J",
        "\u202esecret",
        "Amount",
        "CHANNEL",
        "amount ",
        "onset_0_",
        "*",
        "events.*",
        "1=1",
        "' OR ''='",
    ),
)
"""Names of real columns and tables that no definition may reach."""

SQL = (
    *("'; DROP TABLE events; --", '")) UNION SELECT secret FROM events --', "E'\\''", "$$x$$"),
    *("1; ATTACH 'x.db'", "*/ SELECT 1 /*", "') OR ('1'='1", "\\'; --", "`); SELECT 1", "0x27"),
    *("\"; COPY events TO 'x'; --", "||(SELECT secret FROM events)||", "read_csv('/etc/passwd')"),
    *("%s %(x)s", "{{7*7}}", "${x}", "#{x}", "\\N", "CAST(1 AS INT)", "::TEXT", "?1", ":name"),
    *("@x", "-- ", "/*"),
)
"""What breaks out of a query that is put together from texts."""

TEXTS = (
    *("a", "b", "phone", "web", "", "x y", "it's", 'say "hi"', "back\\slash", "`tick`", "null"),
    *("1.5", "2014-01-31", "true", "on", "~", "a: b", "a #b", "- a", "[a]", "{a}", "%a", "@a"),
    "&a",
    *("é", "日本", "\U0001f600", "\u202eabc", "\u2028", "\ufeff", "a\tb", "a\nb", "\u200bz"),
    "ＡＢ",
    *("case start", "the", "every month", "<a/>", "]]>", "\u0130", "\ufffd", "o\u0308" * 9),
    *SQL[:8],
)
"""Texts that have to be read as they are."""
