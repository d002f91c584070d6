"""Langflow: stored messages of chats (`/monitor/messages`), and answers of flows (`/run`).

{"sender": "Machine", "text": …, "session_id": …, "content_blocks": [{"contents": [{"type": "tool_use", …}]}]}
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import result_text
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.source import Source

FORMAT: Final = "langflow"
_MESSAGE: Final = frozenset({"sender", "text", "session_id", "flow_id"})
_USER: Final = "User"
_CALL: Final = "tool_use"
# Members of a message that are read, or say how a page shows it.
_READ: Final = (
    *("sender", "sender_name", "text", "timestamp", "session_id", "flow_id", "content_blocks", "properties"),
    *("edit", "category", "text_key", "default_value"),
)


def is_recording(value: JSONValue) -> bool:
    """Return whether `value` is a message, a list of messages, or the answer of a flow."""
    body = as_object(first_item(value))
    return body.keys() >= _MESSAGE or bool(_answers(body))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session."""
    sessions: dict[str, list[TranscriptMessage]] = {}
    flows: dict[str, JSONValue] = {}
    for body, location in source.entries():
        messages = [body] if body.keys() >= _MESSAGE else _answers(body)
        for message in messages:
            session = as_text(message.get("session_id"))
            flows.setdefault(session, message.get("flow_id"))
            sessions.setdefault(session, []).extend(_entries(message, location))
    for session, entries in sessions.items():
        yield _run(session, flows[session], drop_unreadable(entries, source.problems))


def _answers(body: JSONObject) -> list[JSONObject]:
    """Return the request and the messages in the answer of a flow."""
    messages: list[JSONObject] = []
    for output in as_objects(body.get("outputs")):
        answers = [as_object(member(item, "results", "message")) for item in as_objects(output.get("outputs"))]
        responses = [data for answer in answers if (data := as_object(answer.get("data")) or answer).keys() >= _MESSAGE]
        request = as_object(output.get("inputs")).get("input_value")
        if responses and request:
            facts = {name: responses[0][name] for name in ("session_id", "flow_id")}
            messages.append({**facts, "sender": _USER, "text": request})
        messages += responses
    return messages


def _run(session: str, flow: JSONValue, entries: list[TranscriptMessage]) -> RecordedRun:
    models = [as_text(as_object(entry.value).get("model")) for entry in entries]
    model = next(filter(None, models), "")
    # A later export of a session has more messages.
    identity = session or f"{FORMAT}-{content_id([entry.value for entry in entries], '')}"
    return build_run(
        RunFacts(external_id=identity, app=FORMAT, format=FORMAT, metadata={"session_id": session, "flow_id": flow}),
        transcripts.build_steps(entries, TranscriptSettings(provider=normalize_provider(None, model))),
        location=entries[0].location,
    )


def _entries(message: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield a message; before an answer, the calls of its agent, of which the order to its requests is unknown."""
    details = {name: item for name, item in omit(message, *_READ).items() if item not in (None, "", [], {}, False)}
    time: JSONObject = {"timestamp": message.get("timestamp")} if message.get("timestamp") else {}
    if message.get("sender") == _USER:
        request: JSONObject = {"role": "user", "content": message.get("text"), **time, **details}
        yield TranscriptMessage(value=request, location=location)
        return
    properties = as_object(message.get("properties"))
    model = as_text(as_object(properties.get("source")).get("source"))
    contents = [
        item for block in as_objects(message.get("content_blocks")) for item in as_objects(block.get("contents"))
    ]
    calls = [item for item in contents if item.get("type") == _CALL]
    identity = content_id(message, location) if calls else ""
    ids = [f"call-{identity}-{number}" for number, _ in enumerate(calls)]
    if calls:
        requests: list[JSONValue] = [
            {"id": id, "name": call.get("name"), "arguments": first_member(call, "tool_input", "input")}
            for id, call in zip(ids, calls, strict=True)
        ]
        yield TranscriptMessage(
            value={"role": "assistant", "content": None, "tool_calls": requests, "model": model, **time},
            location=location,
        )
    for id, call in zip(ids, calls, strict=True):
        yield TranscriptMessage(value=_result(id, call) | time, location=location)
    answer: JSONObject = {"role": "assistant", "content": message.get("text"), "model": model, **time, **details}
    notes: list[JSONValue] = [item for item in contents if item.get("type") != _CALL]
    yield TranscriptMessage(
        value=answer | _usage(properties) | ({"contents": notes} if notes else {}), location=location
    )


def _result(id: str, call: JSONObject) -> JSONObject:
    error = call.get("error")
    output = call.get("output") if call.get("output") is not None else as_list(call.get("contents")) or None
    failure: JSONObject = {"error": result_text(error)} if error else {}
    content = result_text(error) if output is None and error else result_text(output)
    return {"role": "tool", "tool_call_id": id, "content": content, "duration": call.get("duration"), **failure}


def _usage(properties: JSONObject) -> JSONObject:
    usage = as_object(properties.get("usage"))
    return {"usage": usage} if usage else {}
