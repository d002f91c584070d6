"""The messages and events of AutoGen 0.4: typed, with the agent in `source`; and an agent's own model context."""

from collections.abc import Sequence
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.model_calls import normalize_usage
from traces.importers.common.speakers import Result, Utterance, Voice, classify_speaker
from traces.importers.common.times import parse_time
from traces.importers.files.json_reader import first, items, obj, text

_SAID: Final = frozenset(
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
        "CodeExecutionEvent",
    }
)
_THOUGHT: Final = "ThoughtEvent"
TYPES: Final = frozenset({*_SAID, _CALLS, *_RESULTS, *_CONTEXT, _THOUGHT})
_UNSAID: Final = frozenset({"SelectSpeakerEvent", "UserInputRequestedEvent", "ModelClientStreamingChunkEvent"})
_MAPPED: Final = frozenset({"content", "source", "type", "models_usage", "created_at", "id", "agent", "thought"})


def utterances_of(messages: Sequence[JSONObject], where: str) -> list[Utterance]:
    """The messages as utterances; a thought belongs to what its agent says next."""
    said: list[Utterance] = []
    thoughts: dict[str, list[JSONValue]] = {}
    for at, message in enumerate(messages):
        source = text(first(message, "source", "agent"))
        if message.get("type") == _THOUGHT:
            thoughts.setdefault(source, []).append({"type": "thinking", "thinking": text(message.get("content"))})
            continue
        said.append(_utterance(message, thoughts.pop(source, []), f"{where}/{at}"))
    return said


def _utterance(message: JSONObject, thoughts: list[JSONValue], where: str) -> Utterance:
    kind, content = text(message.get("type")), message.get("content")
    speaker = text(first(message, "source", "agent"))
    calls = [obj(each) for each in items(content) if "arguments" in obj(each)] if _may_call(kind) else []
    results = _results(items(content)) if kind in _RESULTS else ()
    if isinstance(message.get("thought"), str) and message["thought"]:
        thoughts = [*thoughts, {"type": "thinking", "thinking": message["thought"]}]
    usage = obj(message.get("models_usage"))
    words = None if calls or results or kind in _UNSAID else _words(content)
    return Utterance(
        speaker=speaker,
        content=_with(thoughts, words),
        location=where,
        voice=_voice(kind, speaker, content, bool(calls)),
        at=parse_time(message.get("created_at"), f"{where}/created_at"),
        calls=tuple({"id": call.get("id"), "name": call.get("name"), "arguments": call["arguments"]} for call in calls),
        results=results,
        usage=normalize_usage(usage, f"{where}/models_usage"),
        attributes={
            "message_type": kind,
            **{key: value for key, value in message.items() if key not in _MAPPED and value not in (None, "", [], {})},
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


def _results(listed: list[JSONValue]) -> tuple[Result, ...]:
    results = [obj(each) for each in listed]
    return tuple(
        Result(
            call_id=text(each.get("call_id")),
            content=each.get("content"),
            error=(text(each.get("content")) or "error") if each.get("is_error") is True else "",
        )
        for each in results
    )


def _words(content: JSONValue) -> JSONValue:
    """Texts and images as blocks; a structured message as it is."""
    if not isinstance(content, list):
        return content
    return [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]


def _with(thoughts: list[JSONValue], words: JSONValue) -> JSONValue:
    if not thoughts:
        return words if not isinstance(words, dict) else [{"type": "json", "json": words}]
    rest = words if isinstance(words, list) else [{"type": "text", "text": words}] if words else []
    return [*thoughts, *rest]
