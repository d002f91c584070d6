"""Mastra's storage in SQLite (`mastra.db`, LibSQL): spans, and the threads of messages that no span is of.

Newer versions store JSON in its binary form.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from traces.core.json_access import as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.files import jsonb, sqlite_file
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Record, Source
from traces.importers.files.sqlite_file import MAGIC, Database
from traces.importers.formats.chats import vercel_ui
from traces.importers.formats.platforms import mastra

_SPANS: Final = "mastra_ai_spans"
_MESSAGES: Final = "mastra_messages"
_THREADS: Final = "mastra_threads"
_MARKS: Final = {_SPANS: "spanId", _MESSAGES: "thread_id"}
_ORDERS: Final = {
    _SPANS: 'ORDER BY "startedAt", rowid',
    _MESSAGES: 'ORDER BY "createdAt", rowid',
    _THREADS: 'ORDER BY "createdAt", rowid',
}


def is_database(sample: Sample) -> bool:
    return any(sqlite_file.has_column(sample.head, table, column) for table, column in _MARKS.items())


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace, in files of spans and in databases, and one per thread without spans."""
    files = [source for source in sources if not source.data.startswith(MAGIC)]
    threads: list[Source] = []
    for source in sources:
        if not source.data.startswith(MAGIC):
            continue
        try:
            tables = _tables(source)
        except BadFile as problem:
            source.problems.append(problem)
            continue
        if spans := tables[_SPANS]:
            source.documents = [Record(value=span, location=f"span {as_text(span.get('spanId'))}") for span in spans]
            files.append(source)
        documents = [*_threads(tables)]
        if documents:
            threads.append(Source(name=source.name, data=b"", problems=source.problems, documents=documents))
    yield from mastra.parse(files)
    for source in threads:
        for run in vercel_ui.parse(source):
            yield replace(run, app=mastra.FORMAT, format=mastra.FORMAT)


def _tables(source: Source) -> dict[str, list[JSONObject]]:
    all_columns = sqlite_file.all_columns(source.data)
    columns = {table: all_columns[table] for table in _ORDERS if table in all_columns}
    database = Database(source.data, columns)
    try:
        return {table: [*_rows(database, table)] if table in columns else [] for table in _ORDERS}
    finally:
        database.close()


def _rows(database: Database, table: str) -> Iterator[JSONObject]:
    names = database.columns(table)
    column_list = ", ".join(f'"{name}"' for name in names)
    for row in database.select(f"{column_list} FROM {table} {_ORDERS[table]}"):
        yield {name: _value(value, table) for name, value in zip(names, row, strict=True) if value is not None}


def _value(value: Any, table: str) -> JSONValue:
    if isinstance(value, bytes):
        try:
            return jsonb.decode(value)
        except BadFile as problem:
            raise problem.prefix_location(f"table {table}") from problem
    json_value: JSONValue = value
    return json_value


def _threads(tables: dict[str, list[JSONObject]]) -> Iterator[Record]:
    """Yield the threads with their messages; spans have those of their own."""
    traced_ids = {_thread_of(span) for span in tables[_SPANS]}
    messages: dict[str, list[JSONValue]] = defaultdict(list)
    for row in tables[_MESSAGES]:
        messages[as_text(row.get("thread_id"))].append(row)
    threads = {as_text(thread.get("id")): thread for thread in tables[_THREADS]}
    for id, rows in messages.items():
        if id not in traced_ids:
            yield Record(value={**threads.get(id, {}), "id": id, "messages": rows}, location=f"thread {id}")


def _thread_of(span: JSONObject) -> str:
    metadata = as_object(parse_embedded(span.get("metadata")))
    return as_text(first_member(span, "threadId") or first_member(metadata, "threadId"))
