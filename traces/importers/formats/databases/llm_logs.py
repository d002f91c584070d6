"""Logs of the command line tool `llm`: its database (`logs.db`), and what `llm logs --json` prints.

Results of tools are with the response whose request contained them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.model_calls import normalize_parameters
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import add_milliseconds, parse_time
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Record, Source
from traces.importers.files.sqlite_file import Database, Row
from traces.importers.formats.databases.stores import Store

FORMAT: Final = "llm-logs"
_RESPONSE: Final = frozenset({"prompt", "response", "conversation_id", "datetime_utc", "duration_ms"})
_FACTS: Final = ("prompt_json", "response_json", "token_details")


def is_log(value: JSONValue) -> bool:
    """Return True if `value` is a response, or a list of them."""
    return as_object(first_item(value)).keys() >= _RESPONSE


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per conversation."""
    conversations: dict[str, list[tuple[JSONObject, str]]] = defaultdict(list)
    for body, location in source.entries():
        id = as_text(first_member(body, "conversation_id", "id"))
        conversations[id].append((body, location))
    for id, responses in conversations.items():
        responses.sort(key=lambda pair: as_text(pair[0].get("datetime_utc")))
        yield _run(id, responses, source)


def _run(id: str, responses: list[tuple[JSONObject, str]], source: Source) -> RecordedRun:
    first, location = responses[0]
    tools = {as_text(tool.get("name")): _tool(tool) for body, _ in responses for tool in as_objects(body.get("tools"))}
    entries = [entry for body, place in responses for entry in _entries(body, place)]
    return build_run(
        RunFacts(
            external_id=id,
            app="llm",
            format=FORMAT,
            title=as_text(first.get("conversation_name")),
            metadata={"conversation_model": first.get("conversation_model")},
        ),
        transcripts.build_steps(
            drop_unreadable(entries, source.problems),
            TranscriptSettings(agent="llm", system=_join(first, "system"), tools=normalize_tools([*tools.values()])),
        ),
        location=location,
    )


def _entries(body: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    start = body.get("datetime_utc")
    for result in as_objects(body.get("tool_results")):
        error = result.get("exception")
        facts: JSONObject = {"error": error} if error else {}
        value: JSONObject = {
            "role": "tool",
            "tool_call_id": result.get("tool_call_id"),
            "content": result.get("output"),
        }
        yield TranscriptMessage(value={**value, "ts": start, **facts}, location=location)
    if prompt := _join(body, "prompt"):
        attachments = as_list(body.get("attachments"))
        request: JSONObject = {"role": "user", "content": prompt, "ts": start}
        yield TranscriptMessage(
            value={**request, **({"attachments": attachments} if attachments else {})}, location=location
        )
    yield _answer(body, location)


def _join(body: JSONObject, name: str) -> str:
    """Return the fragments and the text of a prompt, as the model receives them."""
    fragments = [as_text(fragment.get("content")) for fragment in as_objects(body.get(f"{name}_fragments"))]
    return "\n".join(filter(None, [*fragments, as_text(body.get(name))]))


def _answer(body: JSONObject, location: str) -> TranscriptMessage:
    model = as_text(first_member(body, "resolved_model", "model"))
    start = parse_time(body.get("datetime_utc"), location)
    end = add_milliseconds(start, body.get("duration_ms"))
    calls: list[JSONValue] = [
        {"id": call.get("tool_call_id"), "name": call.get("name"), "arguments": call.get("arguments")}
        for call in as_objects(body.get("tool_calls"))
    ]
    details = as_object(parse_embedded(body.get("token_details")))
    usage: JSONObject = {name: body[name] for name in ("input_tokens", "output_tokens") if body.get(name) is not None}
    cached = member(details, "prompt_tokens_details", "cached_tokens")
    facts: JSONObject = {
        "usage": {**usage, **({"cached_tokens": cached} if cached else {})},
        "tool_calls": calls,
        "response_id": body.get("id"),
        "schema_id": body.get("schema_id"),
        "fragment_sources": [item["source"] for item in as_objects(body.get("prompt_fragments")) if item.get("source")],
        **{name: parse_embedded(body.get(name)) for name in _FACTS},
    }
    value: JSONObject = {
        "role": "assistant",
        "content": body.get("response") or None,
        "model": model,
        "ts": None if end is None else end.isoformat(),
        **{name: item for name, item in facts.items() if item not in (None, "", [], {})},
    }
    options = as_object(parse_embedded(body.get("options_json")))
    parameters = normalize_parameters({name: item for name, item in options.items() if item is not None})
    return TranscriptMessage(value=value, location=location, parameters=parameters, started_at=start)


def _tool(tool: JSONObject) -> JSONObject:
    schema = parse_embedded(tool.get("input_schema"))
    return {"name": tool.get("name"), "description": tool.get("description"), "parameters": schema}


_COLUMNS: Final[dict[str, Sequence[str]]] = {
    "responses": (
        *("id", "model", "resolved_model", "prompt", "system", "prompt_json", "options_json", "response"),
        *("response_json", "conversation_id", "duration_ms", "datetime_utc", "input_tokens", "output_tokens"),
        *("token_details", "schema_id"),
    ),
    "conversations": ("id", "name", "model"),
    "tools": ("id", "name", "description", "input_schema"),
    "tool_responses": ("tool_id", "response_id"),
    "tool_calls": ("response_id", "name", "arguments", "tool_call_id"),
    "tool_results": ("response_id", "name", "output", "tool_call_id", "exception"),
    "fragments": ("id", "content", "source"),
    "prompt_fragments": ("response_id", "fragment_id"),
    "system_fragments": ("response_id", "fragment_id"),
    "prompt_attachments": ("response_id", "attachment_id"),
    "attachments": ("id", "type", "path", "url"),
}


def _read(database: Database) -> Iterator[Record]:
    """Yield each response with what other tables have of it, as the command prints it."""
    links: dict[str, dict[str, list[JSONValue]]] = {
        "tool_calls": _group(database, "tool_calls", "ORDER BY id"),
        "tool_results": _group(database, "tool_results", "ORDER BY id"),
        "tools": _rows_by_link(database, "tool_responses", "tool_id", "tools", ""),
        "prompt_fragments": _rows_by_link(database, "prompt_fragments", "fragment_id", "fragments", 'ORDER BY "order"'),
        "system_fragments": _rows_by_link(database, "system_fragments", "fragment_id", "fragments", 'ORDER BY "order"'),
        "attachments": _rows_by_link(
            database, "prompt_attachments", "attachment_id", "attachments", 'ORDER BY "order"'
        ),
    }
    conversations = _by_id(database, "conversations")
    for row in database.rows("responses", "ORDER BY datetime_utc, id"):
        id = as_text(row.get("id"))
        conversation = conversations.get(as_text(row.get("conversation_id")), {})
        facts: JSONObject = {
            "conversation_name": conversation.get("name"),
            "conversation_model": conversation.get("model"),
            **{name: [*groups.get(id, [])] for name, groups in links.items()},
        }
        yield Record(value={**row, **facts}, location=f"response {id}")


def _by_id(database: Database, table: str) -> dict[str, Row]:
    return {as_text(row.get("id")): row for row in database.rows(table)} if table in database else {}


def _group(database: Database, table: str, order: str) -> dict[str, list[JSONValue]]:
    """Return the rows of a table by the response that they belong to."""
    groups: dict[str, list[JSONValue]] = defaultdict(list)
    for row in database.rows(table, order) if table in database else ():
        groups[as_text(row.get("response_id"))].append(row)
    return groups


def _rows_by_link(database: Database, links: str, name: str, table: str, order: str) -> dict[str, list[JSONValue]]:
    """Return the rows of a table by the response that another table links them to."""
    rows = _by_id(database, table)
    return {
        response: [rows[id] for link in as_objects(group) if (id := as_text(link.get(name))) in rows]
        for response, group in _group(database, links, order).items()
    }


STORE: Final = Store(title="llm", mark="options_json", columns=_COLUMNS, read=_read)
