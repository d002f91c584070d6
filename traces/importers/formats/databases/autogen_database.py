"""AutoGen 0.2 and AG2: their runtime log, with requests, answers and functions that ran, as a database or by lines."""

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Final

import orjson

from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.model_calls import normalize_answer
from traces.importers.common.run_builder import RunFacts, build_run, match_calls, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, parse_span
from traces.importers.files import sqlite_file
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.python_literals import parse_object
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import Database, Row
from traces.importers.formats.platforms.model_calls import add_call, add_cost
from traces.payloads.messages import ModelAnswer

FORMAT: Final = "autogen-log"
_MARKS: Final = (b"chat_completions", b"invocation_id")
# Of lines.
_CALL_FIELDS: Final = frozenset({"invocation_id", "client_id", "wrapper_id", "request", "response"})
_FUNCTION_FIELDS: Final = frozenset({"source_name", "input_args", "returns"})
_COLUMNS: Final[dict[str, Sequence[str]]] = {
    "chat_completions": (
        "id",
        "invocation_id",
        "session_id",
        "source_name",
        "request",
        "response",
        "is_cached",
        "cost",
        "start_time",
        "end_time",
    ),
    "function_calls": ("source_name", "function_name", "args", "returns", "timestamp"),
    "agents": ("session_id", "name", "class", "init_args"),
}


def sniff(sample: Sample) -> float:
    is_log = sample.head.startswith(sqlite_file.MAGIC) and all(mark in sample.head for mark in _MARKS)
    return 1.0 if is_log or any(body.keys() >= _CALL_FIELDS for body in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session of the log."""
    tables = _database_tables(source) if source.data.startswith(sqlite_file.MAGIC) else _line_tables(source)
    sessions: dict[str, list[Row]] = {}
    for row in tables["chat_completions"]:
        sessions.setdefault(as_text(row.get("session_id")), []).append(row)
    agents: dict[str, list[Row]] = {}
    for row in tables["agents"]:
        agents.setdefault(as_text(row.get("session_id")), []).append(row)
    groups = _functions_of(list(sessions.values()), tables["function_calls"])
    for (id, calls), own_functions in zip(sessions.items(), groups, strict=True):
        yield _run(id, calls, own_functions, agents.get(id, []))


def _database_tables(source: Source) -> dict[str, list[Row]]:
    database = Database(source.data, _COLUMNS)
    try:
        if "chat_completions" not in database:
            raise BadFile("a log of AutoGen without `chat_completions`", "table chat_completions")
        orders = {"chat_completions": "ORDER BY start_time, id"}
        return {
            table: list(database.rows(table, orders.get(table, ""))) if table in database else [] for table in _COLUMNS
        }
    finally:
        database.close()


def _line_tables(source: Source) -> dict[str, list[Row]]:
    """Return the rows of a log by lines. A call names no session: it is of the last that a line before it names."""
    tables: dict[str, list[Row]] = {table: [] for table in _COLUMNS}
    session = ""
    open_calls: defaultdict[bytes, deque[str]] = defaultdict(deque)
    for body, _ in source.entries():
        session = as_text(body.get("session_id")) or session
        if body.keys() >= _CALL_FIELDS:
            row: Row = {**body, "session_id": session, "response": _response(body["response"])}
            for call in ModelAnswer(normalize_answer(row["response"]).output).calls:
                open_calls[_arguments_key(call.get("arguments"))].append(as_text(call.get("name")))
            tables["chat_completions"].append(row)
        elif body.keys() >= _FUNCTION_FIELDS:
            # Lines do not name functions: it is the first open call with these arguments.
            names = open_calls[_arguments_key(parse_embedded(body["input_args"]))]
            name = names.popleft() if names else "function"
            tables["function_calls"].append({**body, "args": body["input_args"], "function_name": name})
        elif "agent_type" in body:
            tables["agents"].append(
                {
                    "session_id": session,
                    "name": body.get("agent_name"),
                    "class": body["agent_type"],
                    "init_args": body.get("args"),
                }
            )
    return tables


def _response(value: JSONValue) -> JSONValue:
    """Return an answer from the text of its object, and any other text as it is: an error."""
    answer = parse_object(value) if isinstance(value, str) else None
    return value if answer is None else answer


def _arguments_key(arguments: JSONValue) -> bytes:
    return orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)


def _functions_of(sessions: list[list[Row]], functions: list[Row]) -> list[list[Row]]:
    """Return the functions of each session. A function names no session: it is of the last that began before it."""
    starts = [as_text(calls[0].get("start_time")) for calls in sessions]
    groups: list[list[Row]] = [[] for _ in sessions]
    for row in functions:
        groups[max(0, bisect_right(starts, as_text(row.get("timestamp"))) - 1)].append(row)
    return groups


def _run(id: str, calls: list[Row], functions: list[Row], agents: list[Row]) -> RecordedRun:
    names = dict.fromkeys(as_text(row.get("source_name")) for row in (*calls, *functions))
    speakers = [
        build_step(SpanFacts(key=_speaker(name), name=name, type=StepType.AGENT, times=Span(start=None, end=None)))
        for name in names
        if name
    ]
    steps = [
        *speakers,
        *(_model_step(row, f"chat_completions {as_text(row.get('id'))}") for row in calls),
        *(_tool_step(row, number) for number, row in enumerate(functions)),
    ]
    details: list[JSONObject] = [
        {"name": row.get("name"), "class": row.get("class"), "settings": parse_embedded(row.get("init_args"))}
        for row in agents
    ]
    return build_run(
        RunFacts(external_id=id or FORMAT, app="autogen", format=FORMAT, metadata={"agents": [*details]}),
        match_calls(sort_causally(steps)),
        location=f"session {id}",
    )


def _speaker(name: str) -> str:
    return f"agent {name}"


def _parent(row: Row) -> str | None:
    name = as_text(row.get("source_name"))
    return _speaker(name) if name else None


def _model_step(row: Row, location: str) -> RecordedStep:
    request, response = as_object(parse_embedded(row.get("request"))), parse_embedded(row.get("response"))
    # An exception is stored as its text.
    error = response if isinstance(response, str) else ""
    facts = SpanFacts(
        key=as_text(row.get("invocation_id")) or location,
        name=as_text(request.get("model")) or "model",
        type=StepType.MODEL,
        times=parse_span(row.get("start_time"), row.get("end_time"), location),
        parent=_parent(row),
        failed=bool(error),
        error=error,
        input=request,
        output=None if error else response,
        attributes={"is_cached": True} if row.get("is_cached") else {},
    )
    call = add_call(facts, settings={}, model=as_text(request.get("model")), provider="", usage={})
    return build_step(add_cost(call, row.get("cost")))


def _tool_step(row: Row, number: int) -> RecordedStep:
    name = as_text(row.get("function_name"))
    return build_step(
        SpanFacts(
            key=f"function {number}",
            name=name,
            type=StepType.TOOL,
            times=parse_span(row.get("timestamp"), row.get("timestamp"), f"function_calls {number}"),
            parent=_parent(row),
            input=row.get("args"),
            output=row.get("returns"),
            tool_name=name,
        )
    )
