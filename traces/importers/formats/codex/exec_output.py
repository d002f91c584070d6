"""Output of `codex exec --json`: events of a thread. The request of the user is not among them."""

from collections.abc import Iterable, Iterator
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import result_text
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "codex-exec"
_ITEM_EVENTS: Final = frozenset({"item.started", "item.updated", "item.completed"})
_ANSWERS: Final = frozenset({"agent_message", "assistant_message"})
# Members that tell what an item did; all others are its arguments.
_RESULTS: Final = (
    *("aggregated_output", "result", "exit_code", "status", "error"),
    # Of `codex app-server` only.
    *("content_items", "agents_states", "success", "duration_ms", "started_at_ms", "completed_at_ms", "usage"),
)
_FAILURES: Final = frozenset({"failed", "declined"})


def is_event(value: JSONValue) -> bool:
    """Return True if `value` is an event of a thread."""
    body = as_object(value)
    kind = as_text(body.get("type"))
    return (kind == "thread.started" and "thread_id" in body) or (kind in _ITEM_EVENTS and has_object(body, "item"))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the thread in a file."""
    events = [*source.objects()]
    # Later events of an item have more of it.
    items = {
        as_text(item.get("id")) or location: (item, location)
        for event, location in events
        if as_text(event.get("type")) in _ITEM_EVENTS and (item := as_object(event.get("item")))
    }
    thread = next((as_text(event.get("thread_id")) for event, _ in events if event.get("thread_id")), "")
    errors = [error for event, _ in events if (error := _error(event))]
    usages = [event["usage"] for event, _ in events if event.get("type") == "turn.completed" and event.get("usage")]
    entries = list(read_items(items.values()))
    if entries:
        # Of the first answer, the request is unknown.
        entries[0] = TranscriptMessage(value=entries[0].value, location=entries[0].location, request_messages=[])
    yield build_run(
        RunFacts(
            external_id=thread or f"{FORMAT}-{content_id([event for event, _ in events], '')}",
            app="codex",
            format=FORMAT,
            failed=bool(errors),
            metadata={"usage": usages, "errors": [*errors]},
        ),
        transcripts.build_steps(entries, TranscriptSettings(provider="openai", agent="codex")),
    )


def _error(event: JSONObject) -> str:
    """Return why a turn failed."""
    if event.get("type") == "turn.failed":
        return as_text(as_object(event.get("error")).get("message")) or "failed"
    return as_text(event.get("message")) if event.get("type") == "error" else ""


def read_items(items: Iterable[tuple[JSONObject, str]]) -> Iterator[TranscriptMessage]:
    """Yield the messages of items; what the model thought is part of the answer or call that follows."""
    thoughts: list[JSONValue] = []
    for item, location in items:
        kind = as_text(item.get("type"))
        if kind == "reasoning":
            thoughts.append({"type": "thinking", "thinking": item.get("text")})
            continue
        if kind == "user_message":
            request: JSONObject = {"role": "user", "content": item.get("content"), "ts": item.get("started_at_ms")}
            yield TranscriptMessage(value=request, location=location)
            continue
        text: list[JSONValue] = [{"type": "text", "text": item.get("text")}] if kind in _ANSWERS else []
        message: JSONObject = {
            "role": "assistant",
            "content": [*thoughts, *text] or None,
            "usage": item.get("usage"),
            "ts": item.get("completed_at_ms" if text else "started_at_ms"),
        }
        thoughts = []
        if kind in _ANSWERS:
            yield TranscriptMessage(value=message, location=location)
            continue
        id = as_text(item.get("id")) or location
        call: JSONObject = {"id": id, "name": _tool_name(item, kind), "arguments": _arguments(item)}
        yield TranscriptMessage(value={**message, "tool_calls": [call]}, location=location)
        if item.get("status") != "in_progress":
            yield TranscriptMessage(value=_result(item, id), location=location)
    if thoughts:
        yield TranscriptMessage(value={"role": "assistant", "content": thoughts}, location="/")


def _tool_name(item: JSONObject, kind: str) -> str:
    names = (as_text(item.get(name)) for name in ("server", "tool"))
    return ".".join(name for name in names if name) or kind


def _arguments(item: JSONObject) -> JSONValue:
    if "arguments" in item:
        return item["arguments"]
    return {name: value for name, value in item.items() if name not in ("id", "type", *_RESULTS)}


def _result(item: JSONObject, call_id: str) -> JSONObject:
    error, exit_code = item.get("error"), item.get("exit_code")
    is_failed = (
        bool(error)
        or as_text(item.get("status")) in _FAILURES
        or exit_code not in (None, 0)
        or item.get("success") is False
        or item.get("type") == "error"
    )
    outputs = first_member(item, "aggregated_output", "result", "content_items", "agents_states")
    output = outputs or as_object(error).get("message") or error
    content = "" if output is None else result_text(output)
    if not content and is_failed:
        content = as_text(item.get("message")) or f"{as_text(item.get('status'))} {as_text(exit_code)}".strip()
    facts: JSONObject = {
        "exit_code": exit_code,
        "is_error": is_failed or None,
        "duration_ms": item.get("duration_ms"),
        "ts": item.get("completed_at_ms"),
    }
    known_facts = {name: value for name, value in facts.items() if value is not None}
    return {"role": "tool", "tool_call_id": call_id, "content": content, **known_facts}
