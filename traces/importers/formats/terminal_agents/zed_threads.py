"""Zed: threads of its agent, as JSON or in its database. The messages are `{"User": …}` and `{"Agent": …}`.

Those of the first version have a role and segments.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import MAGIC
from traces.importers.formats.databases import zed_database

FORMAT: Final = "zed"
_SPEAKERS: Final = frozenset({"User", "Agent"})
# What the panel writes when an agent goes on after an interruption.
_RESUME: Final = "Resume"


def sniff(sample: Sample) -> float:
    """Return the confidence that the file is a thread of Zed or its database."""
    return 1.0 if zed_database.is_database(sample) or any(map(_is_thread, sample.values)) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per thread."""
    is_database = source.data.startswith(MAGIC)
    for body, location in zed_database.read_threads(source) if is_database else source.entries():
        if not is_database or body.get("messages"):
            yield _run(body, location)


def _is_thread(value: JSONValue) -> bool:
    messages = as_objects(as_object(value).get("messages"))[:3]
    return any((len(message) == 1 and _SPEAKERS & message.keys()) or _is_old(message) for message in messages)


def _is_old(message: JSONObject) -> bool:
    return has_list(message, "segments") and "role" in message


def _run(body: JSONObject, location: str) -> RecordedRun:
    messages = as_list(body.get("messages"))
    info = as_object(body.get("model"))
    model = as_text(info.get("model"))
    entries = [
        entry for index, message in enumerate(messages) for entry in _entries(message, f"{location}/messages/{index}")
    ]
    # Outside the database, a thread has no id.
    return build_run(
        RunFacts(
            external_id=as_text(body.get("id")) or f"{FORMAT}-{content_id(messages[:1], location)}",
            app=FORMAT,
            format=FORMAT,
            title=as_text(first_member(body, "title", "summary")),
            started_at=parse_time(body.get("created_at"), f"{location}/created_at"),
            ended_at=parse_time(body.get("updated_at"), f"{location}/updated_at"),
            metadata={name: item for name, item in body.items() if name not in ("messages", "id")},
        ),
        transcripts.build_steps(
            entries,
            TranscriptSettings(model=model, provider=normalize_provider(info.get("provider"), model), agent=FORMAT),
        ),
        location=location,
    )


def _entries(message: JSONValue, location: str) -> Iterator[TranscriptMessage]:
    if message == _RESUME:
        return
    if _is_old(as_object(message)):
        yield from _old_entries(as_object(message), location)
        return
    (speaker, value), *_ = as_object(message).items() or [("", None)]
    body = as_object(value)
    blocks = [_block(block) for block in as_list(body.get("content"))]
    role = "user" if speaker == "User" else "assistant"
    facts: JSONObject = {"message_id": body.get("id")} if body.get("id") else {}
    if speaker == "Agent" and (details := body.get("reasoning_details")):
        facts["reasoning_details"] = details
    yield TranscriptMessage(value={"role": role, "content": blocks, **facts}, location=location)
    for result in as_objects([*as_object(body.get("tool_results")).values()]):
        yield TranscriptMessage(value=_result(result), location=location)


def _old_entries(message: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield a message of the first version: its calls and their results are beside its segments."""
    segments: list[JSONValue] = [
        {"type": "thinking", "thinking": item.get("text")} if item.get("type") == "thinking" else item
        for item in as_objects(message["segments"])
    ]
    context: list[JSONValue] = [{"type": "text", "text": message["context"]}] if message.get("context") else []
    calls: list[JSONValue] = [{"type": "tool_use", **use} for use in as_objects(message.get("tool_uses"))]
    value: JSONObject = {"role": message["role"], "content": [*context, *segments, *calls]}
    yield TranscriptMessage(value=value, location=location)
    for result in as_objects(message.get("tool_results")):
        yield TranscriptMessage(value=_result(result), location=location)


def _block(block: JSONValue) -> JSONValue:
    """Return a block in Anthropic's form; mentions and other blocks keep theirs."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    (kind, value), *_ = as_object(block).items() or [("", None)]
    body = as_object(value)
    match kind:
        case "Text":
            return {"type": "text", "text": value}
        case "Thinking":
            return {"type": "thinking", "thinking": body.get("text"), "signature": body.get("signature")}
        case "ToolUse":
            return {
                "type": "tool_use",
                "id": body.get("id"),
                "name": body.get("name"),
                "input": _arguments(body.get("input")),
            }
    return {"type": kind.lower(), kind: value}


def _arguments(value: JSONValue) -> JSONValue:
    """Return the arguments of a call, which later versions write with their type."""
    body = as_object(value)
    return body["value"] if body.keys() == {"type", "value"} and body["type"] in ("json", "text") else value


def _result(result: JSONObject) -> JSONObject:
    content = result.get("content")
    if isinstance(content, list):
        content = [_block(item) for item in content]
    text = first_member(as_object(content), "Text", "text")
    output = result.get("output")
    return {
        "role": "tool",
        "tool_call_id": result.get("tool_use_id"),
        "name": result.get("tool_name"),
        "content": content if text is None else text,
        **({"is_error": True} if result.get("is_error") is True else {}),
        **({"output": output} if output not in (None, text) else {}),
    }
