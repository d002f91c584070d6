"""How many rows the database reads for a call: from the plans of PostgreSQL, estimated on SQLite."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import orjson
from django.db import connection
from django.test.utils import CaptureQueriesContext

# Instructions of SQLite's virtual machine: between two calls of the counter, and for a row that a list leaves out.
_STRIDE: Final = 100
_PER_ROW: Final = 20


def rows_read(call: Callable[[], object], *, table: str = "") -> int:
    """Return how many rows the queries of a call look at; on PostgreSQL, only the queries of `table`."""
    if connection.vendor == "sqlite":
        with _instructions() as counter:
            call()
        return counter[0] // _PER_ROW
    return sum(_rows_of(plan["Plan"]) for plan in plans(call, table=table))


def plans(call: Callable[[], object], *, table: str = "") -> list[Any]:
    """Return the plans of a call's queries of a table, or of all; PostgreSQL runs them again for it."""
    with CaptureQueriesContext(connection) as queries:
        call()
    statements = [item["sql"] for item in queries.captured_queries if item["sql"].startswith("SELECT")]
    return [_plan(statement) for statement in statements if f'FROM "{table}' in statement]


def _plan(statement: str) -> Any:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}")
            return "\n".join(str(row[-1]) for row in cursor.fetchall())
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}")
        plan = cursor.fetchone()[0]
        return (orjson.loads(plan) if isinstance(plan, str) else plan)[0]


@contextmanager
def _instructions() -> Iterator[list[int]]:
    counter = [0]

    def count() -> int:
        counter[0] += _STRIDE
        return 0

    connection.ensure_connection()
    connection.connection.set_progress_handler(count, _STRIDE)
    try:
        yield counter
    finally:
        connection.connection.set_progress_handler(None, _STRIDE)


def _rows_of(node: Mapping[str, Any]) -> int:
    """Return the rows that the scans of a plan looked at."""
    rows = 0.0
    if "Scan" in node["Node Type"] and node["Node Type"] != "Bitmap Heap Scan":
        rows = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    return int(rows) + sum(map(_rows_of, node.get("Plans", ())))
