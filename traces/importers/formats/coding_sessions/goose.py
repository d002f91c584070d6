"""Goose: its database, session files, which begin with a line about the session, exports, and output of `goose run`.

The output is one object with all messages, or lines of events, where an answer comes in parts with the same id.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_parameters, normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files import sqlite_file
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import Database, ImpossibleContent, Row

FORMAT: Final = "goose"
_CALLS: Final = frozenset({"toolRequest", "frontendToolRequest"})
_BLOCKS: Final = _CALLS | {"toolResponse", "toolConfirmationRequest", "actionRequired", "systemNotification"}
_TYPES: Final = _BLOCKS | {"text", "image", "thinking", "redactedThinking", "contextLengthExceeded"}
_DETAILS: Final = frozenset({"working_dir", "accumulated_total_tokens"})
_MESSAGE_FIELDS: Final = frozenset({"role", "content", "created", "id"})
_MARKS: Final = frozenset({"userVisible", "agentVisible"})
# Cached tokens are a part of `inputTokens`.
_USAGE_NAMES: Final = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "cacheReadTokens": "cached_tokens",
    "cacheWriteTokens": "cache_write_tokens",
}
_COUNTS: Final = ("total_tokens", "input_tokens", "output_tokens")
_COLUMNS: Final[dict[str, Sequence[str]]] = {
    "sessions": (
        *("id", "name", "description", "session_type", "working_dir", "created_at", "updated_at", "extension_data"),
        *_COUNTS,
        *(f"accumulated_{name}" for name in (*_COUNTS, "cost")),
        *("schedule_id", "recipe_json", "user_recipe_values_json", "provider_name", "model_config_json"),
    ),
    "messages": ("message_id", "session_id", "role", "content_json", "created_timestamp", "tokens", "metadata_json"),
}
_JSON: Final = "_json"
_SESSION_FIELDS: Final = frozenset({"id", "conversation", "messages", "type"})


def sniff(sample: Sample) -> float:
    """Return the confidence that Goose wrote the file."""
    is_database = sqlite_file.has_column(sample.head, "messages", "content_json")
    return 1.0 if is_database or any(map(is_session, sample.values)) else 0.0


def is_session(value: JSONValue) -> bool:
    """Return True if `value` is a session, its first line, an output, or a message that only Goose writes."""
    body = as_object(first_item(value))
    if has_list(body, "conversation"):
        return "working_dir" in body and any(map(_is_message, as_list(body["conversation"])[:3]))
    if has_list(body, "messages"):
        return any(map(_is_own_message, as_objects(body["messages"])))
    return _is_header(body) or _is_own_message(body) or (_kind(body) == "message" and _is_own_message(_event(body)))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the session of the lines of a file, or one run per session of a database or an export."""
    if source.data.startswith(sqlite_file.MAGIC):
        yield from _stored_runs(source)
        return
    header: JSONObject = {}
    messages: list[JSONValue] = []
    for body, location in source.entries():
        if name := next((name for name in ("conversation", "messages") if has_list(body, name)), None):
            yield _run(body, as_list(body[name]), f"{location}/{name}", source.name)
        elif _is_message(body):
            messages.append(body)
        elif _kind(body) == "message":
            messages.append(_event(body))
        elif _kind(body) != "notification":
            header |= body
    if messages:
        yield _run(header, messages, "", source.name)


def _stored_runs(source: Source) -> Iterator[RecordedRun]:
    database = Database(source.data, _COLUMNS)
    try:
        if "sessions" not in database or "messages" not in database:
            raise BadFile("a database of Goose needs `sessions` and `messages`", "table sessions")
        sessions = [*database.rows("sessions", "ORDER BY created_at, id")]
        messages: dict[str, list[JSONValue]] = defaultdict(list)
        for row in database.rows("messages", "ORDER BY rowid"):
            messages[as_text(row.get("session_id"))].append(_stored_message(row))
    finally:
        database.close()
    for row in sessions:
        session: JSONObject = {
            name.removesuffix(_JSON): parse_embedded(item) if name.endswith((_JSON, "_data")) else item
            for name, item in row.items()
        }
        id = as_text(session.get("id"))
        try:
            if not messages[id]:
                raise BadFile("a session without messages", f"session {id}")
            yield _run(session, messages[id], f"session {id}", source.name)
        except ImpossibleContent:
            raise
        except BadFile as problem:
            source.problems.append(problem)


def _stored_message(row: Row) -> JSONObject:
    facts: JSONObject = {"tokens": row.get("tokens"), "metadata": parse_embedded(row.get("metadata_json"))}
    return {
        "role": row.get("role"),
        "content": parse_embedded(row.get("content_json")),
        "created": row.get("created_timestamp"),
        "id": row.get("message_id"),
        **{name: item for name, item in facts.items() if item},
    }


def _is_header(body: JSONObject) -> bool:
    return body.keys() >= _DETAILS and "role" not in body


def _kind(block: JSONValue) -> str:
    return as_text(as_object(block).get("type"))


def _is_message(value: JSONValue) -> bool:
    body = as_object(value)
    blocks = as_list(body.get("content"))
    return (
        {"role", "created"} <= body.keys()
        and has_list(body, "content")
        and all(_kind(item) in _TYPES for item in blocks)
    )


def _is_own_message(body: JSONObject) -> bool:
    is_marked = as_object(body.get("metadata")).keys() >= _MARKS
    return _is_message(body) and (is_marked or any(_kind(block) in _BLOCKS for block in as_list(body["content"])))


def _event(body: JSONObject) -> JSONObject:
    return as_object(body.get("message"))


def _whole_messages(messages: list[JSONValue]) -> Iterator[tuple[int, JSONObject]]:
    """Yield each message with its number; the parts of one have the same id."""
    for _, group in groupby(enumerate(map(as_object, messages)), key=_message_key):
        (index, message), *rest = group
        yield index, _join_parts([message, *(part for _, part in rest)]) if rest else message


def _message_key(entry: tuple[int, JSONObject]) -> tuple[JSONValue, JSONValue]:
    index, message = entry
    return (message["id"], message.get("role")) if message.get("id") else (index, None)


def _join_parts(parts: list[JSONObject]) -> JSONObject:
    blocks = [as_object(block) for part in parts for block in as_list(part["content"])]
    notes: JSONObject = {name: value for part in parts for name, value in as_object(part.get("metadata")).items()}
    return {**parts[0], "content": _join_texts(blocks), **({"metadata": notes} if notes else {})}


def _join_texts(blocks: list[JSONObject]) -> list[JSONValue]:
    whole: list[JSONValue] = []
    for kind, group in groupby(blocks, key=_kind):
        same = list(group)
        if kind in ("text", "thinking"):
            fields: JSONObject = {name: value for block in same for name, value in block.items()}
            whole.append({**fields, kind: "".join([as_text(block.get(kind)) for block in same])})
        else:
            whole += same
    return whole


def _run(session: JSONObject, messages: list[JSONValue], location: str, name: str) -> RecordedRun:
    config = as_object(session.get("model_config"))
    model = as_text(config.get("model_name"))
    # Files are named after their session, such as `20260301_100000.jsonl`.
    stem = name.rpartition("/")[2].partition(".")[0]
    is_named = stem.replace("_", "").isdecimal()
    id = as_text(session.get("id")) or (stem if is_named else f"{FORMAT}-{content_id(messages[:2], location)}")
    settings = TranscriptSettings(
        model=model,
        provider=normalize_provider(session.get("provider_name"), model),
        parameters=normalize_parameters({key: config[key] for key in ("temperature", "max_tokens") if config.get(key)}),
        agent=FORMAT,
    )
    entries = [
        entry for index, message in _whole_messages(messages) for entry in _entries(message, f"{location}/{index}")
    ]
    if entries and as_object(entries[0].value).get("role") == "assistant":
        # Output of a command lacks the request; without it, an answer would be taken for a greeting.
        entries[0] = replace(entries[0], request_messages=[])
    return build_run(
        RunFacts(
            external_id=id,
            app=FORMAT,
            format=FORMAT,
            title=as_text(first_member(session, "name", "description")),
            failed=_kind(session) == "error",
            metadata={key: item for key, item in session.items() if key not in _SESSION_FIELDS},
        ),
        transcripts.build_steps(entries, settings),
        location=location,
    )


def _entries(message: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield the results in a message, and the rest of it."""
    blocks = as_objects(message.get("content"))
    time = {"ts": message.get("created")}
    for block in blocks:
        if _kind(block) == "toolResponse":
            yield TranscriptMessage(value={**_result(block), **time}, location=location)
    calls: list[JSONValue] = [_call(block) for block in blocks if _kind(block) in _CALLS]
    content = [_block(block) for block in blocks if _kind(block) not in {*_CALLS, "toolResponse"}]
    if calls or content:
        notes: JSONObject = {key: item for key, item in message.items() if key not in _MESSAGE_FIELDS}
        # Users see it, and the model does not.
        is_hidden = as_object(message.get("metadata")).get("agentVisible") is False
        role = "system" if is_hidden else message.get("role")
        value: JSONObject = {
            **{"role": role, "content": content or None, "message_id": message.get("id"), **time, **notes},
            **_answer_facts(as_object(message.get("metadata"))),
        }
        yield TranscriptMessage(value={**value, **({"tool_calls": calls} if calls else {})}, location=location)


def _answer_facts(metadata: JSONObject) -> JSONObject:
    """Return the model and the usage that later versions record with an answer."""
    usage = as_object(metadata.get("usage"))
    model = as_object(metadata.get("inference")).get("resolvedModel")
    counts: JSONObject = {_USAGE_NAMES.get(name, name): count for name, count in usage.items()}
    return {**({"model": model} if model else {}), **({"usage": counts} if counts else {})}


def _call(block: JSONObject) -> JSONObject:
    """Return a call; one that could not be read states an error in place of its name and arguments."""
    call = as_object(block.get("toolCall"))
    value = as_object(call.get("value"))
    failure: JSONObject = {"error": call["error"]} if call.get("error") else {}
    return {
        "id": block.get("id"),
        "name": value.get("name") or "unreadable",
        "arguments": value.get("arguments") or failure,
    }


def _result(block: JSONObject) -> JSONObject:
    result = as_object(block.get("toolResult"))
    value = result.get("value")
    body = as_object(value)
    content = body.get("content") if isinstance(value, dict) and "content" in body else value
    failed = result.get("status") == "error" or body.get("isError") is True
    failure: JSONObject = {"error": result["error"]} if result.get("error") else {"is_error": True} if failed else {}
    fields: JSONObject = {"structured": body["structuredContent"]} if body.get("structuredContent") else {}
    output = content if content is not None else result.get("error")
    return {"role": "tool", "tool_call_id": block.get("id"), "content": output, **failure, **fields}


def _block(block: JSONObject) -> JSONValue:
    if _kind(block) == "text":
        return {"type": "text", "text": block.get("text")}
    return {"type": "image", **block} if _kind(block) == "image" else block
