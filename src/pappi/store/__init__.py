"""Where things live: events in DuckDB, declarations and the ledger in SQLite."""
