"""LlamaIndex: events of a workflow's agents as JSON, with their type or without, or as its serializer writes them.

AgentInput: the request    AgentOutput: the answer    ToolCallResult: a call with its result
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, has_object, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import message_text
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source
from traces.importers.formats.chats.client_chats import read_llamaindex_message

FORMAT: Final = "llamaindex-events"
_REFUSAL: Final = "an event of LlamaIndex is an object with the fields of an agent's input, output or tool call"
_REQUEST: Final = "AgentInput"
_ANSWER: Final = "AgentOutput"
_RESULT: Final = "ToolCallResult"
# Events that repeat what others contain: pieces of an answer, and calls before their results.
_REPEATS: Final = frozenset({"AgentStream", "ToolCall", "StopEvent", "StartEvent", "AgentSetup"})


def is_event(value: JSONValue) -> bool:
    """Return whether `value` is an event of an agent, or a list of these."""
    return _kind(_unwrap(as_object(first_item(value)))) in (_REQUEST, _ANSWER, _RESULT)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of a file's events."""
    events = [
        (_unwrap(row), location)
        for record in source.records()
        for row, location in read_rows(
            record.value, record.location, holders=("events",), is_row=lambda row: "events" not in row, refusal=_REFUSAL
        )
    ]
    entries: list[TranscriptMessage] = []
    request: list[JSONValue] = []
    for event, location in events:
        match _kind(event):
            case "AgentInput":
                request = [read_llamaindex_message(message) for message in as_objects(event["input"])]
                if not entries:
                    entries += [TranscriptMessage(value=message, location=location) for message in request]
            case "AgentOutput":
                entries.append(
                    TranscriptMessage(value=_answer(event), location=location, request_messages=request or None)
                )
            case "ToolCallResult":
                entries.append(TranscriptMessage(value=_result(event), location=location))
    agents = [agent for event, _ in events if (agent := as_text(event.get("current_agent_name")))]
    yield build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id([event for event, _ in events], events[0][1])}",
            app=next(iter(agents), FORMAT),
            format=FORMAT,
        ),
        transcripts.replace_output(
            transcripts.build_steps(entries, TranscriptSettings(agent=next(iter(agents), "agent"))),
            _final_text(events[-1][0]),
        ),
        location=events[0][1],
    )


def _unwrap(event: JSONObject) -> JSONObject:
    """Return the fields of an event that LlamaIndex's serializer wrote."""
    name = as_text(event.get("qualified_name")).rpartition(".")[2]
    return {**as_object(event["value"]), "type": name} if has_object(event, "value") and name else event


def _kind(event: JSONObject) -> str:
    """Return the type of an event, from its fields if it is not recorded."""
    kind = as_text(first_member(event, "type", "event_type", "event"))
    if kind in _REPEATS or "delta" in event:
        return ""
    if has_list(event, "input") and "current_agent_name" in event:
        return _REQUEST
    if has_object(event, "response") and {"tool_calls", "current_agent_name"} <= event.keys():
        return _ANSWER
    return _RESULT if {"tool_name", "tool_kwargs", "tool_id", "tool_output"} <= event.keys() else ""


def _final_text(event: JSONObject) -> str:
    """Return what the workflow made of the last answer, by its last event; empty if that is another one."""
    response = as_object(as_object(event.get("result")).get("response"))
    return message_text(read_llamaindex_message(response)) if response else ""


def _answer(event: JSONObject) -> JSONObject:
    calls: list[JSONValue] = [
        {"id": call.get("tool_id"), "name": call.get("tool_name"), "arguments": call.get("tool_kwargs")}
        for call in as_objects(event.get("tool_calls"))
    ]
    raw = as_object(event.get("raw"))
    message = read_llamaindex_message(as_object(event["response"]))
    return {
        **message,
        **({"tool_calls": calls} if calls else {}),
        **{name: raw[name] for name in ("model", "usage") if raw.get(name)},
        "agent": event.get("current_agent_name"),
        "structured_response": event.get("structured_response"),
    }


def _result(event: JSONObject) -> JSONObject:
    output = as_object(event["tool_output"])
    texts = [as_text(block.get("text")) for block in as_objects(as_list(output.get("blocks")))]
    return {
        "role": "tool",
        "tool_call_id": event.get("tool_id"),
        "name": event.get("tool_name"),
        "content": first_member(output, "content") or "\n".join(texts),
        **({"is_error": True} if output.get("is_error") is True else {}),
        "tool_output": omit(output, "blocks", "content", "tool_name", "is_error"),
    }
