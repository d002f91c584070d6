"""Sessions of the OpenAI Agents SDK in SQLite (`SQLiteSession`, `SQLAlchemySession`): the items of each as JSON.

`AdvancedSQLiteSession` has branches, which share items, and the usage of each turn.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import (
    TranscriptMessage,
    TranscriptSettings,
    continuation,
    drop_unreadable,
)
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import Database, Row, has_column
from traces.importers.formats.chats.openai_items import is_model_output, normalize_items

FORMAT: Final = "agents-sdk-session"
_ITEMS: Final = "agent_messages"
_MAIN: Final = "main"
_COLUMNS: Final[dict[str, Sequence[str]]] = {
    _ITEMS: ("id", "session_id", "message_data", "created_at"),
    "message_structure": ("session_id", "message_id", "branch_id"),
    "turn_usage": (
        *("session_id", "branch_id", "user_turn_number", "requests", "input_tokens", "output_tokens"),
        *("total_tokens", "input_tokens_details", "output_tokens_details"),
    ),
}
# A session and its branch.
_Key = tuple[str, str]


def sniff(sample: Sample) -> float:
    return 1.0 if has_column(sample.head, _ITEMS, "message_data") else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session, and one per branch of it."""
    database = Database(source.data, _COLUMNS)
    try:
        if _ITEMS not in database:
            raise BadFile(f"a database of the OpenAI Agents SDK needs `{_ITEMS}`", f"table {_ITEMS}")
        rows = {as_text(row.get("id")): row for row in database.rows(_ITEMS, "ORDER BY id")}
        places = _places(database, rows)
        usage: dict[_Key, list[Row]] = defaultdict(list)
        for row in database.rows("turn_usage", "ORDER BY id") if "turn_usage" in database else ():
            usage[as_text(row.get("session_id")), as_text(row.get("branch_id"))].append(row)
    finally:
        database.close()
    for key, ids in places.items():
        try:
            yield _run(key, [rows[id] for id in ids], usage[key], source.problems)
        except BadFile as problem:
            source.problems.append(problem)


def _places(database: Database, rows: dict[str, Row]) -> dict[_Key, list[str]]:
    """Return the ids of the items of each session and branch, in order."""
    places: dict[_Key, list[str]] = defaultdict(list)
    placed_ids: set[str] = set()
    is_structured = "message_structure" in database
    for row in database.rows("message_structure", "ORDER BY sequence_number, id") if is_structured else ():
        if (id := as_text(row.get("message_id"))) in rows:
            places[as_text(row.get("session_id")), as_text(row.get("branch_id"))].append(id)
            placed_ids.add(id)
    for id, row in rows.items():
        if id not in placed_ids:
            places[as_text(row.get("session_id")), _MAIN].append(id)
    return places


def _run(key: _Key, rows: list[Row], usage: list[Row], problems: list[BadFile]) -> RecordedRun:
    session, branch = key
    turns: list[JSONValue] = [
        {name: parse_embedded(item) for name, item in row.items() if name not in ("session_id", "branch_id") and item}
        for row in usage
    ]
    return build_run(
        RunFacts(
            external_id=session if branch == _MAIN else f"{session}/{branch}",
            app="agents-sdk",
            format=FORMAT,
            metadata={"turn_usage": turns, "branch": "" if branch == _MAIN else branch},
        ),
        transcripts.build_steps(drop_unreadable(_entries(rows, problems), problems), TranscriptSettings()),
        location=f"session {session}",
    )


def _entries(rows: list[Row], problems: list[BadFile]) -> Iterator[TranscriptMessage]:
    """Yield the items as messages; consecutive ones of the model are one answer, which ends with the last."""
    for is_answer, group in groupby(rows, lambda row: is_model_output(parse_embedded(row.get("message_data")))):
        items = [*group]
        values = [parse_embedded(row.get("message_data")) for row in items]
        for row, value in zip(items, values, strict=True):
            if not as_object(value):
                problems.append(BadFile("an item that is no JSON object", _location(row)))
        if is_answer:
            yield from _messages([value for value in values if as_object(value)], items[-1])
            continue
        for row, value in zip(items, values, strict=True):
            yield from _messages([value] if as_object(value) else [], row)


def _messages(items: list[JSONValue], row: Row) -> Iterator[TranscriptMessage]:
    for message in normalize_items(items):
        facts: JSONObject = {"ts": row.get("created_at"), **continuation({"output": items})}
        yield TranscriptMessage(value={**message, **facts}, location=_location(row))


def _location(row: Row) -> str:
    return f"item {as_text(row.get('id'))}"
