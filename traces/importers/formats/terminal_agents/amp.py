"""Amp: threads (`T-*.json`), as its command line stores and exports them."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    has_string,
    text_or_json,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "amp"
_SETTINGS: Final = TranscriptSettings(agent=FORMAT)
_USAGE: Final = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheCreationInputTokens": "cache_creation_input_tokens",
}
_DENIALS: Final = frozenset({"rejected-by-user", "cancelled"})
_ROLES: Final = {"info": "system", "human": "user", "agent": "assistant"}
_NOT_FACTS: Final = frozenset({"role", "content", "usage", "messageId", "created"})


def is_thread(value: JSONValue) -> bool:
    """Return True if `value` is a thread."""
    body = _thread(as_object(value))
    messages = as_objects(body.get("messages"))[:3]
    has_content = any(has_list(message, "content") or has_string(message, "content") for message in messages)
    return as_text(body.get("id")).startswith("T-") and has_content


def _thread(body: JSONObject) -> JSONObject:
    """Return a thread, which some files have inside an object."""
    return as_object(body.get("thread")) or body


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per thread."""
    for body, location in source.entries():
        yield _run(_thread(body), location)


def _run(body: JSONObject, location: str) -> RecordedRun:
    entries = [
        entry
        for index, message in enumerate(as_objects(body.get("messages")))
        for entry in _entries(message, f"{location}/messages/{index}")
    ]
    return build_run(
        RunFacts(
            external_id=as_text(body.get("id")),
            app=FORMAT,
            format=FORMAT,
            title=as_text(body.get("title")),
            started_at=parse_time(body.get("created"), f"{location}/created"),
            metadata={name: item for name, item in body.items() if name not in ("id", "messages")},
        ),
        transcripts.build_steps(entries, _SETTINGS),
        location=location,
    )


def _entries(message: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield the results in a message, and the rest of it."""
    text = message.get("content")
    blocks = as_objects([{"type": "text", "text": text}] if isinstance(text, str) else text)
    facts = {name: item for name, item in message.items() if name not in _NOT_FACTS and item not in (None, "", [], {})}
    usage = as_object(message.get("usage"))
    time: JSONObject = {"ts": first_member(usage, "timestamp") or as_object(message.get("meta")).get("sentAt")}
    time["ts"] = time["ts"] or message.get("created")
    for block in blocks:
        if block.get("type") == "tool_result":
            yield TranscriptMessage(value=_result(block), location=location)
    content: list[JSONValue] = [block for block in blocks if block.get("type") != "tool_result"]
    if not content and any(block.get("type") == "tool_result" for block in blocks):
        return
    state = as_object(message.get("state"))
    answer: JSONObject = {
        "model": usage.get("model"),
        "usage": _usage(usage) or None,
        "finish_reason": state.get("stopReason"),
        "error": _failure(state),
        **facts,
    }
    known_facts = {name: item for name, item in answer.items() if item is not None}
    yield TranscriptMessage(
        value={
            # What the program noted, such as a summary, is no request of the user.
            "role": _ROLES.get(as_text(message.get("role")), message.get("role")),
            "content": content or None,
            "message_id": message.get("messageId"),
            **time,
            **known_facts,
        },
        location=location,
    )


def _usage(usage: JSONObject) -> JSONObject:
    counts = {_USAGE.get(name, name): item for name, item in usage.items() if name not in ("model", "timestamp")}
    return {name: item for name, item in counts.items() if item is not None}


def _failure(state: JSONObject) -> JSONValue:
    if state.get("type") == "error":
        error = state.get("error")
        return first_member(as_object(error), "message") or error or "error"
    return None


def _result(block: JSONObject) -> JSONObject:
    """Return the result of a call: what its run states, or why there is none."""
    run = as_object(block.get("run"))
    status, error = as_text(run.get("status")), run.get("error")
    result = first_member(run, "result", "progress")
    reason = first_member(as_object(error), "message") or error or status
    failure: JSONObject = {"error": text_or_json(reason)} if status == "error" or error else {}
    extra = {name: item for name, item in run.items() if name not in ("status", "result", "progress", "error")}
    return {
        "role": "tool",
        "tool_call_id": first_member(block, "toolUseID", "tool_use_id"),
        "content": result if result is None or isinstance(result, str) else _content(result),
        **failure,
        **({"denied": True} if status in _DENIALS else {}),
        **({"run": extra} if extra else {}),
    }


def _content(result: JSONValue) -> str:
    """Return a result as a text; a list of texts is joined."""
    texts = [as_object(item).get("text") for item in as_list(result)]
    if texts and all(isinstance(text, str) for text in texts):
        return "\n".join(as_text(text) for text in texts)
    return text_or_json(result)
