"""OpenAI's Realtime API: the events of a session, as clients log them, with the session's items as a conversation.

{"type": "conversation.item.created", "event_id", "item": {…}}   {"type": "response.done", "response": {…}}
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_object, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_parameters
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.chats.openai_items import normalize_items, normalize_response

FORMAT: Final = "openai-realtime"
_EVENT: Final = re.compile(r"(?:session|conversation|response|input_audio_buffer|output_audio_buffer)\.[a-z_.]+")
_WRAPPERS: Final = ("event", "data", "message", "payload")
_TIMES: Final = ("timestamp", "time", "ts", "received_at", "created_at")
_ITEMS: Final = frozenset({"conversation.item.created", "conversation.item.added", "conversation.item.done"})
_SESSIONS: Final = frozenset({"session.created", "session.updated", "session.update"})
_TRANSCRIPT: Final = "conversation.item.input_audio_transcription.completed"
_SAMPLING: Final = ("temperature", "max_response_output_tokens", "max_output_tokens", "tool_choice", "speed")
_NOT_METADATA: Final = ("id", "object", "model", "instructions", "tools", "client_secret", "expires_at", *_SAMPLING)


@dataclass(kw_only=True)
class _Session:
    """A session: its settings, its items by their ids, and what came in which order."""

    fields: JSONObject = field(default_factory=dict)
    items: dict[str, JSONObject] = field(default_factory=dict)
    # Items and responses in the order of their beginning, with the places of their events.
    order: list[tuple[str, JSONObject | None, str]] = field(default_factory=list)
    # Items that are the output of a response.
    output_ids: set[str] = field(default_factory=set)
    # Items that the client sent without an id, which the server has not confirmed yet.
    sent_items: dict[str, deque[str]] = field(default_factory=dict)
    errors: list[JSONValue] = field(default_factory=list)


def sniff(sample: Sample) -> float:
    """Return the confidence that the file is a log of such events."""
    return 1.0 if any(_is_event(_unwrap(body)) for body in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of each session in a file."""
    sessions: list[_Session] = []
    for body, location in source.entries():
        event = _unwrap(body)
        if not sessions or (event.get("type") == "session.created" and sessions[-1].order):
            sessions.append(_Session())
        _add(sessions[-1], event, location)
    for session in sessions:
        yield _run(session)


def _is_event(event: JSONObject) -> bool:
    return "event_id" in event and _EVENT.fullmatch(as_text(event.get("type"))) is not None


def _unwrap(body: JSONObject) -> JSONObject:
    """Return an event, with the time that a program wrote beside it."""
    holder = next((as_object(body[name]) for name in _WRAPPERS if "type" in as_object(body.get(name))), {})
    event = holder if "event_id" in holder else body
    time = first_member(body, *_TIMES)
    return {**event, "ts": time} if time is not None else event


def _add(session: _Session, event: JSONObject, location: str) -> None:
    kind = as_text(event.get("type"))
    if kind in _SESSIONS:
        changes = {name: value for name, value in as_object(event.get("session")).items() if value is not None}
        session.fields |= changes
    elif kind == "conversation.item.create":
        _add_sent_item(session, as_object(event.get("item")), location)
    elif kind in _ITEMS:
        _add_item(session, as_object(event.get("item")), event, location)
    elif kind == _TRANSCRIPT:
        _add_transcript(session, event)
    elif kind == "response.done" and has_object(event, "response"):
        response = as_object(event["response"])
        session.output_ids |= {as_text(item.get("id")) for item in as_objects(response.get("output"))}
        session.order.append(("", {**response, "ts": event.get("ts")}, location))
    elif kind == "error":
        session.errors.append(event.get("error"))


def _add_sent_item(session: _Session, item: JSONObject, location: str) -> None:
    """Add an item that the client sent; the server confirms it under an id of its own, if it has none."""
    id = as_text(item.get("id")) or f"sent-{len(session.order)}"
    if not item.get("id"):
        session.sent_items.setdefault(as_text(item.get("type")), deque()).append(id)
    if item and id not in session.items:
        session.items[id] = item
        session.order.append((id, None, location))


def _add_item(session: _Session, item: JSONObject, event: JSONObject, location: str) -> None:
    id = as_text(item.get("id"))
    if not id:
        return
    is_known = id in session.items
    sent_ids = session.sent_items.get(as_text(item.get("type")))
    is_sent = not is_known and bool(sent_ids) and item.get("role") != "assistant"
    if is_sent and sent_ids:
        # The same item again: what the client sent is whole.
        id = sent_ids.popleft()
        is_known = True
    session.items[id] = {**item, **session.items.get(id, {}), **({} if is_sent else item)}
    if event.get("ts") is not None:
        session.items[id].setdefault("ts", event["ts"])
    if not is_known:
        session.order.append((id, None, location))


def _add_transcript(session: _Session, event: JSONObject) -> None:
    """Add what the user said to the item of its audio."""
    id = as_text(event.get("item_id"))
    if id in session.items:
        part: JSONObject = {"type": "input_text", "text": event.get("transcript")}
        session.items[id] = {**session.items[id], "content": [part]}


def _run(session: _Session) -> RecordedRun:
    model = as_text(session.fields.get("model"))
    settings = TranscriptSettings(
        model=model,
        provider="openai",
        tools=normalize_tools(session.fields.get("tools") or []),
        parameters=normalize_parameters({name: session.fields[name] for name in _SAMPLING if name in session.fields}),
        system=session.fields.get("instructions"),
    )
    messages = list(_messages(session))
    id = as_text(session.fields.get("id")) or f"{FORMAT}-{content_id([item.value for item in messages], '')}"
    last = next((response for _, response, _ in reversed(session.order) if response), {})
    return build_run(
        RunFacts(
            external_id=id,
            app="openai",
            format=FORMAT,
            name=model,
            failed=last.get("status") == "failed",
            metadata={**omit(session.fields, *_NOT_METADATA), "errors": session.errors},
        ),
        transcripts.build_steps(messages, settings),
    )


def _messages(session: _Session) -> Iterator[TranscriptMessage]:
    for id, response, location in session.order:
        if response is not None:
            yield TranscriptMessage(value=_answer(response), location=location)
        elif id not in session.output_ids:
            item = session.items[id]
            time: JSONObject = {"ts": item["ts"]} if item.get("ts") else {}
            for message in normalize_items([_plain_item(item)]):
                yield TranscriptMessage(value={**message, **time}, location=location)


def _plain_item(item: JSONObject) -> JSONObject:
    """Return an item with the words of its audio as texts."""
    parts: list[JSONValue] = [
        {"type": "text", "text": part["transcript"]} if part.get("transcript") else omit(part, "audio")
        for part in as_objects(item.get("content"))
    ]
    return {**omit(item, "ts", "object", "status"), **({"content": parts} if "content" in item else {})}


def _answer(response: JSONObject) -> JSONObject:
    """Return the message of a response, with its usage and the reason if it is no whole answer."""
    output = [_plain_item(item) for item in as_objects(response.get("output"))]
    answer = as_object(normalize_response({"output": [*output]}).output)
    details = as_object(response.get("status_details"))
    error = as_object(details.get("error"))
    status = as_text(response.get("status"))
    facts: JSONObject = {
        "id": response.get("id"),
        "usage": response.get("usage"),
        "ts": response.get("ts"),
        "finish_reason": first_member(details, "reason") or (status if status != "completed" else None),
        "error": as_text(first_member(error, "message", "code", "type")) if status == "failed" else None,
    }
    message = as_object(answer.get("message")) or {"role": "assistant", "content": None}
    reason = {"finish_reason": answer["finish_reason"]} if answer.get("finish_reason") else {}
    return {**message, **reason, **{name: item for name, item in facts.items() if item not in (None, "", {})}}
