"""The same events in every place an engine can read them, for tests that compare.

One PostgreSQL server and one Spark-compatible server per process of the test run; where one
cannot be had, whoever asks for it is skipped with the reason.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as driver  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pappi.custody import SourceMapping
from tests.ledgers import server

PYSPARK = os.environ.get("PAPPI_TEST_PYSPARK", "")
"""Where a server of PySpark itself is; it needs Java, and the same files as the tests."""

ENGINES = ("postgres", "spark", "parquet", *(("pyspark",) if PYSPARK else ()))

ORDER = "seq"
OWN = ("case_id", "activity", "timestamp", ORDER)

_numbers = count(1)
_kept = ExitStack()


def placed(engine: str, events: pa.Table, folder: Path) -> SourceMapping:
    """The events, numbered in their order, where an engine reads them: what an owner says."""
    numbered = events.append_column(ORDER, pa.array(range(len(events)), pa.int64()))
    url, table = _PLACED[engine](numbered, folder)
    attributes = {name: (name, None) for name in events.column_names if name not in OWN}
    return SourceMapping(url, "case_id", "activity", "timestamp", table, ORDER, attributes)


def _in_postgres(events: pa.Table, _folder: Path) -> tuple[str, str]:
    name = f'events "{next(_numbers)}"'
    with closing(driver.connect(postgres_url())) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, events, mode="create", db_schema_name="public")
        connection.commit()
    return postgres_url(), name


def _for_spark(events: pa.Table, folder: Path) -> tuple[str, str]:
    path = folder / f"spark-{next(_numbers)}"
    pq.write_table(events, path)
    return spark_url(), f"parquet.{path}"


def _for_pyspark(events: pa.Table, folder: Path) -> tuple[str, str]:
    return PYSPARK, _for_spark(events, folder)[1]


def _in_parquet(events: pa.Table, folder: Path) -> tuple[str, None]:
    path = folder / f"events-{next(_numbers)}.parquet"
    pq.write_table(events, path)
    return f"parquet:{path}", None


_PLACED: dict[str, Callable[[pa.Table, Path], tuple[str, str | None]]] = {
    "postgres": _in_postgres,
    "spark": _for_spark,
    "parquet": _in_parquet,
    "pyspark": _for_pyspark,
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@cache
def postgres_url() -> str:
    """A database for the events of this process."""
    return _kept.enter_context(server().database()).url


class SparkServer:
    """A server that speaks Spark Connect, and can be stopped and started in its place."""

    def __init__(self) -> None:
        os.environ.setdefault("RUST_LOG", "off")
        self._server: Any = None
        self.port = 0
        self.start()

    def start(self) -> None:
        from pysail.spark import SparkConnectServer  # type: ignore[import-untyped]

        self._server = SparkConnectServer(port=self.port)
        self._server.start(background=True)
        _, self.port = self._server.listening_address

    def stop(self) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        return f"sc://127.0.0.1:{self.port}"


def spark_server() -> SparkServer:
    """One of its own, or a skipped test."""
    try:
        return SparkServer()
    except Exception as error:  # noqa: BLE001 - whatever the reason, it is told
        pytest.skip(f"no Spark Connect server to test with: {error}")


@cache
def spark_url() -> str:
    shared = spark_server()
    atexit.register(shared.stop)
    return shared.url
