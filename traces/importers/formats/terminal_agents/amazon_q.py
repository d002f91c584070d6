"""Amazon Q Developer and Kiro command lines: conversations saved by `/save`, or rows of their database."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded, require_list
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import MAGIC, Database, has_column

FORMAT: Final = "amazon-q"
_CONTENTS: Final = ("Prompt", "ToolUseResults", "CancelledToolUses")
_COLUMNS: Final[dict[str, Sequence[str]]] = {
    "conversations_v2": ("key", "conversation_id", "value"),
    "conversations": ("key", "value"),
}
_NOT_METADATA: Final = frozenset({"conversation_id", "history", "tools", "transcript"})


def is_conversation(value: JSONValue) -> bool:
    """Return True if `value` is a saved conversation."""
    body = as_object(value)
    if not has_list(body, "history"):
        return False
    exchanges = [_exchange(item) for item in as_list(body["history"])]
    is_known = any(set(_CONTENTS) & as_object(user.get("content")).keys() for user, _, _ in exchanges)
    return is_known or (not exchanges and {"conversation_id", "valid_history_range"} <= body.keys())


def sniff(sample: Sample) -> float:
    """Return the confidence that the file has conversations, as JSON or in a database."""
    is_database = any(has_column(sample.head, table, "value") for table in _COLUMNS)
    return 1.0 if is_database or any(is_conversation(first_item(value)) for value in sample.values) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per conversation."""
    for body, location in _rows(source) if source.data.startswith(MAGIC) else source.entries():
        try:
            yield _run(body, location)
        except BadFile as problem:
            source.problems.append(problem)


def _rows(source: Source) -> Iterator[tuple[JSONObject, str]]:
    """Yield the conversations of a database; its keys are the folders in which they began."""
    database = Database(source.data, _COLUMNS)
    try:
        for table in _COLUMNS:
            for number, row in enumerate(database.rows(table) if table in database else (), 1):
                body = as_object(parse_embedded(row.get("value")))
                id = row.get("conversation_id") or body.get("conversation_id")
                facts: JSONObject = {"folder": row.get("key"), "conversation_id": id}
                yield {**body, **facts}, f"table {table}, row {number}"
    finally:
        database.close()


def _exchange(item: JSONValue) -> tuple[JSONObject, JSONObject, JSONObject]:
    """Return a request, its answer and the facts of the call; older versions write a pair of the first two."""
    if isinstance(item, list):
        user, assistant, *_ = [as_object(part) for part in [*item, None, None]]
        return user, assistant, {}
    body = as_object(item)
    return as_object(body.get("user")), as_object(body.get("assistant")), as_object(body.get("request_metadata"))


def _run(body: JSONObject, location: str) -> RecordedRun:
    history = require_list(body.get("history"), f"{location}/history")
    info = as_object(body.get("model_info"))
    model = as_text(first_member(info, "model_id", "model_name") or body.get("model"))
    tools = [
        as_object(tool).get("ToolSpecification")
        for group in as_object(body.get("tools")).values()
        for tool in as_list(group)
    ]
    settings = TranscriptSettings(
        model=model, provider=normalize_provider(None, model), tools=normalize_tools(tools), agent=FORMAT
    )
    entries = [entry for index, item in enumerate(history) for entry in _entries(item, f"{location}/history/{index}")]
    return build_run(
        RunFacts(
            external_id=as_text(body.get("conversation_id")) or f"{FORMAT}-{content_id(history, location)}",
            app=FORMAT,
            format=FORMAT,
            metadata={name: item for name, item in body.items() if name not in _NOT_METADATA},
        ),
        transcripts.build_steps(entries, settings),
        location=location,
    )


def _entries(item: JSONValue, location: str) -> Iterator[TranscriptMessage]:
    user, assistant, call = _exchange(item)
    content, time = as_object(user.get("content")), user.get("timestamp")
    for result in _results(content):
        yield TranscriptMessage(value={**_result(result), "ts": time}, location=location)
    text = user.get("content")
    prompts = [as_text(as_object(content.get(name)).get("prompt")) for name in _CONTENTS]
    prompts += [text] if isinstance(text, str) else []
    context = user.get("additional_context")
    if prompt := next(filter(None, prompts), ""):
        facts: JSONObject = {"env_context": user.get("env_context"), "additional_context": context}
        images = [{"type": "image", "image": image} for image in as_list(user.get("images"))]
        blocks: list[JSONValue] = [{"type": "text", "text": prompt}, *images]
        known_facts = {name: fact for name, fact in facts.items() if fact not in (None, "", {})}
        yield TranscriptMessage(value={"role": "user", "content": blocks, "ts": time, **known_facts}, location=location)
    if assistant:
        yield _answer(assistant, call, location)


def _results(content: JSONObject) -> list[JSONObject]:
    groups = [as_object(content.get(name)) for name in _CONTENTS]
    return [result for group in groups for result in as_objects(group.get("tool_use_results"))]


def _result(result: JSONObject) -> JSONObject:
    """Return the result of a call: texts, and values as JSON."""
    items = [next(iter(as_object(item).values()), None) for item in as_list(result.get("content"))]
    failed = as_text(result.get("status")).lower() == "error"
    return {
        "role": "tool",
        "tool_call_id": result.get("tool_use_id"),
        "content": items[0] if len(items) == 1 else [*items],
        **({"is_error": True} if failed else {}),
    }


def _answer(assistant: JSONObject, call: JSONObject, location: str) -> TranscriptMessage:
    """Return an answer with the times, the model and the sizes that its request recorded."""
    body = as_object(next(iter(assistant.values()), None)) or assistant
    calls: list[JSONValue] = [
        {"id": use.get("id"), "name": use.get("name"), "arguments": use.get("args")}
        for use in as_objects(body.get("tool_uses"))
    ]
    facts: JSONObject = {
        "tool_calls": calls or None,
        "model": call.get("model_id"),
        "ts": call.get("stream_end_timestamp_ms"),
        "message_id": body.get("message_id"),
        "request_metadata": call or None,
    }
    entry = TranscriptMessage(
        value={
            "role": "assistant",
            "content": body.get("content"),
            **{name: item for name, item in facts.items() if item is not None},
        },
        location=location,
    )
    return replace(entry, started_at=parse_time(call.get("request_start_timestamp_ms"), location))
