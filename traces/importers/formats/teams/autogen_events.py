"""Typed messages and events of AutoGen 0.4, with the agent in `source`, and the model context of an agent."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_string
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import content_blocks
from traces.importers.common.model_calls import normalize_usage
from traces.importers.common.times import parse_time
from traces.importers.formats.teams.speakers import Result, Utterance, Voice, classify_speaker

_MESSAGE_TYPES: Final = frozenset(
    {
        "TextMessage",
        "MultiModalMessage",
        "StopMessage",
        "HandoffMessage",
        "StructuredMessage",
        "AssistantMessage",
        "UserMessage",
        "CodeGenerationEvent",
    }
)
_CALLS: Final = "ToolCallRequestEvent"
_RESULTS: Final = frozenset({"ToolCallExecutionEvent", "FunctionExecutionResultMessage"})
_CONTEXT: Final = frozenset(
    {
        "ToolCallSummaryMessage",
        "MemoryQueryEvent",
        "SystemMessage",
        "SelectSpeakerEvent",
        "UserInputRequestedEvent",
        "ModelClientStreamingChunkEvent",
    }
)
_EXECUTION: Final = "CodeExecutionEvent"
_THOUGHT: Final = "ThoughtEvent"
TYPES: Final = frozenset({*_MESSAGE_TYPES, _CALLS, *_RESULTS, *_CONTEXT, _THOUGHT, _EXECUTION})
# Messages in an agent's context, and the events that they are.
_EVENTS: Final = {
    "AssistantMessage": "ToolCallRequestEvent",
    "FunctionExecutionResultMessage": "ToolCallExecutionEvent",
}
_NO_CONTENT: Final = frozenset({"SelectSpeakerEvent", "UserInputRequestedEvent", "ModelClientStreamingChunkEvent"})
_MAPPED_FIELDS: Final = frozenset({"content", "source", "type", "models_usage", "created_at", "agent", "thought"})


def build_utterances(messages: Sequence[JSONObject], location: str) -> list[Utterance]:
    """Convert messages to utterances; a thought joins the next message of its agent."""
    utterances: list[Utterance] = []
    thoughts: dict[str, list[JSONValue]] = {}
    for index, message in enumerate(messages):
        source = as_text(first_member(message, "source", "agent"))
        if message.get("type") == _THOUGHT:
            thoughts.setdefault(source, []).append({"type": "thinking", "thinking": as_text(message.get("content"))})
            continue
        if message.get("type") == _EXECUTION:
            message = {**message, **_execution(as_object(message.get("result")))}
        utterances.append(_utterance(message, thoughts.pop(source, []), f"{location}/{index}"))
    return utterances


def _execution(result: JSONObject) -> JSONObject:
    """Return what the execution of code printed as the text of a message, as earlier versions write it."""
    return {"content": f"exitcode: {as_text(result.get('exit_code'))}\n{as_text(result.get('output'))}", "result": None}


def add_events(thread: Sequence[JSONObject], contexts: Iterable[JSONObject]) -> list[JSONObject]:
    """Add to a team's thread what only the contexts of its agents have: calls, results and thoughts.

    Each comes before the message that its agent sent next.
    """
    events: dict[str, deque[JSONObject]] = {}
    owner = ""
    # Newer teams have the events of their agents in the thread.
    thread_ids = {id for message in thread for id in _call_ids(message)}
    thoughts = {as_text(message.get("content")) for message in thread if message.get("type") == _THOUGHT}
    for message in contexts:
        # A result names no agent: it follows the call.
        owner = as_text(message.get("source")) or owner
        if as_text(message.get("type")) in _EVENTS and thread_ids.isdisjoint(_call_ids(message)):
            events.setdefault(owner, deque()).append({**message, "source": owner})
    messages: list[JSONObject] = []
    for message in thread:
        own_events = events.get(as_text(message.get("source")), deque())
        while own_events and not as_text(message.get("type")).endswith("Event"):
            event = own_events.popleft()
            if isinstance(event.get("content"), str):
                has_thought = event.get("thought") and as_text(event["thought"]) not in thoughts
                message = {**message, **({"thought": event["thought"]} if has_thought else {})}
                break
            messages.append({**event, "type": _EVENTS[as_text(event["type"])]})
        messages.append(message)
    return messages


def _call_ids(message: JSONObject) -> set[str]:
    """Return the ids of the calls, or of the calls whose results a message has."""
    return {as_text(first_member(as_object(item), "call_id", "id")) for item in as_list(message.get("content"))} - {""}


def _utterance(message: JSONObject, thoughts: list[JSONValue], location: str) -> Utterance:
    kind, content = as_text(message.get("type")), message.get("content")
    speaker = as_text(first_member(message, "source", "agent"))
    calls = [as_object(call) for call in as_list(content) if "arguments" in as_object(call)] if _may_call(kind) else []
    results = _results(as_list(content)) if kind in _RESULTS else ()
    if has_string(message, "thought") and message["thought"]:
        thoughts = [*thoughts, {"type": "thinking", "thinking": message["thought"]}]
    usage = as_object(message.get("models_usage"))
    visible_content = None if calls or results or kind in _NO_CONTENT else _content_blocks(content)
    return Utterance(
        speaker=speaker,
        content=_join_thoughts(thoughts, visible_content),
        location=location,
        voice=_voice(kind, speaker, content, bool(calls)),
        at=parse_time(message.get("created_at"), f"{location}/created_at"),
        # A team passes the messages of an agent on to the others, and its events to nobody.
        audience=frozenset({speaker}) if kind.endswith("Event") else None,
        calls=tuple({"id": call.get("id"), "name": call.get("name"), "arguments": call["arguments"]} for call in calls),
        results=results,
        usage=normalize_usage(usage, f"{location}/models_usage"),
        attributes={
            "message_type": kind,
            **{
                key: value
                for key, value in message.items()
                if key not in _MAPPED_FIELDS and value not in (None, "", [], {})
            },
        },
    )


def _may_call(kind: str) -> bool:
    return kind in {_CALLS, "AssistantMessage"}


def _voice(kind: str, speaker: str, content: JSONValue, calls: bool) -> Voice:
    if calls:
        return Voice.AGENT
    if kind in _CONTEXT or kind in _RESULTS:
        return Voice.CONTEXT
    if kind == "UserMessage":
        return Voice.USER if classify_speaker(speaker, content) is Voice.USER else Voice.CONTEXT
    return classify_speaker(speaker, content)


def _results(result_values: list[JSONValue]) -> tuple[Result, ...]:
    results = [as_object(value) for value in result_values]
    return tuple(
        Result(
            call_id=as_text(result.get("call_id")),
            content=result.get("content"),
            error=(as_text(result.get("content")) or "error") if result.get("is_error") is True else "",
        )
        for result in results
    )


def _content_blocks(content: JSONValue) -> JSONValue:
    """Convert a list of texts and images to blocks; leave other content unchanged."""
    if not isinstance(content, list):
        return content
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]


def _join_thoughts(thoughts: list[JSONValue], content: JSONValue) -> JSONValue:
    if not thoughts:
        return content if not isinstance(content, dict) else [{"type": "json", "json": content}]
    blocks = [{"type": "json", "json": content}] if isinstance(content, dict) else content_blocks(content)
    return [*thoughts, *blocks]
