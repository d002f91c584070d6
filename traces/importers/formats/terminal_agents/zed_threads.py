"""Zed: threads of its agent as JSON, whose messages are `{"User": …}` and `{"Agent": …}`."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "zed"
_SPEAKERS: Final = frozenset({"User", "Agent"})
# What the panel writes when an agent goes on after an interruption.
_RESUME: Final = "Resume"


def is_thread(value: JSONValue) -> bool:
    """Return True if `value` is a thread."""
    body = as_object(value)
    messages = as_list(body.get("messages"))[:3]
    return any(len(as_object(message)) == 1 and _SPEAKERS & as_object(message).keys() for message in messages)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per thread."""
    for body, location in source.entries():
        yield _run(body, location)


def _run(body: JSONObject, location: str) -> RecordedRun:
    messages = as_list(body.get("messages"))
    info = as_object(body.get("model"))
    model = as_text(info.get("model"))
    entries = [
        entry for index, message in enumerate(messages) for entry in _entries(message, f"{location}/messages/{index}")
    ]
    # The thread has no id.
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id(messages[:1], location)}",
            app=FORMAT,
            format=FORMAT,
            title=as_text(first_member(body, "title", "summary")),
            ended_at=parse_time(body.get("updated_at"), f"{location}/updated_at"),
            metadata={name: item for name, item in body.items() if name != "messages"},
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
            return {"type": "tool_use", "id": body.get("id"), "name": body.get("name"), "input": body.get("input")}
    return {"type": kind.lower(), kind: value}


def _result(result: JSONObject) -> JSONObject:
    content = result.get("content")
    text = first_member(as_object(content), "Text")
    output = result.get("output")
    return {
        "role": "tool",
        "tool_call_id": result.get("tool_use_id"),
        "name": result.get("tool_name"),
        "content": content if text is None else text,
        **({"is_error": True} if result.get("is_error") is True else {}),
        **({"output": output} if output not in (None, text) else {}),
    }
