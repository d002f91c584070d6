"""The compact steps of a run, without payloads, as the JSON of a response."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import orjson
from django.db import connection

from traces.core.gc_pause import without_pauses
from traces.models import Run, Step
from traces.runs.presenters import PLAIN_FIELDS, offset
from traces.search import step_search
from traces.storage import bulk

# Steps per response.
MAX_STEPS: Final = 20_000


def step_list(
    run: Run, *, after: int = 0, limit: int = MAX_STEPS, words: Sequence[str] = ()
) -> tuple[orjson.Fragment, int | None]:
    """Return a page of steps as an array of `StepSummary`, and the `after` of the next page.

    With `words`, only the steps that `step_search` finds.
    """
    matches = step_search.find_steps(run.id, words) if words else None
    # The collector runs again when only the text of the response remains.
    with without_pauses():
        return _page(run, after, limit, matches)


def _page(run: Run, after: int, limit: int, matches: set[int] | None) -> tuple[orjson.Fragment, int | None]:
    rows = _rows(run.id, after, limit + 1 if matches is None else None)
    if matches is not None:
        rows = [row for row in rows if row[0] in matches]
    page = rows[:limit]
    return _array(page, run.started_at), page[-1][0] if len(rows) > limit else None


def _rows(run_id: UUID, after: int, limit: int | None = None) -> list[bulk.Row]:
    """Rows of the sequence number, the plain fields as a JSON object, and the other columns.

    The database writes the JSON in less time than Python takes to read the columns: no object is created for a value.
    """
    number, parent, key, source, time, duration, cost, of_run = bulk.column_names(
        Step, ("sequence_no", "parent_no", "id", "source_step", "started_at", "duration_ms", "cost_usd", "run")
    )
    fields = dict(zip(PLAIN_FIELDS, bulk.column_names(Step, PLAIN_FIELDS), strict=True)) | {"parent": parent}
    pairs = ", ".join(f"'{name}', {column}" for name, column in fields.items())
    build = "json_object" if connection.vendor == "sqlite" else "json_build_object"
    sql = (
        f"SELECT {number}, CAST({build}({pairs}) AS text), {key}, {source}, CAST({time} AS text), {duration},"
        f" CAST({cost} AS double precision) FROM {connection.ops.quote_name(Step._meta.db_table)}"
        f" WHERE {of_run} = %s AND {number} > %s ORDER BY {number}"
    )
    values = [*bulk.database_values(Step, ["run"], [run_id]), after]
    with connection.cursor() as cursor:
        cursor.execute(sql if limit is None else f"{sql} LIMIT {limit:d}", values)
        rows: list[bulk.Row] = cursor.fetchall()
    return rows


def _array(rows: Sequence[bulk.Row], started_at: datetime | None) -> orjson.Fragment:
    if not rows:
        return orjson.Fragment("[]")
    _, fields, keys, source_keys, times, durations, costs = zip(*rows, strict=True)
    offsets = [None if time is None else offset(_time(time), started_at) for time in times]
    columns: list[Sequence[UUID | float | None]] = [
        bulk.uuids_of(keys),
        bulk.uuids_of(source_keys),
        offsets,
        durations,
        costs,
    ]
    items = [
        f'{{"id":{id},"source_step":{source},"offset_ms":{offset_ms},"duration_ms":{duration_ms},'
        f'"cost_usd":{cost},{plain[1:]}'
        for plain, id, source, offset_ms, duration_ms, cost in zip(fields, *map(_json_items, columns), strict=True)
    ]
    return orjson.Fragment(f"[{','.join(items)}]")


def _json_items(column: Sequence[UUID | float | None]) -> list[str]:
    """Serialize a column at once, which takes a fifth of the time of its values: none contains a comma."""
    return orjson.dumps(column)[1:-1].decode().split(",")


def _time(text: str) -> datetime:
    """Parse a time as the database formats it: in UTC, which only PostgreSQL states."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
