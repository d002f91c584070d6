"""UI messages of the Vercel AI SDK: version 4 with `toolInvocations`, later ones with typed tool parts.

One assistant message spans several model calls. A `step-start` begins the next one, and so does anything that is said
after a result.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import as_text
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcripts import TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import first, items, obj, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "vercel-ui"
_STATES: Final = frozenset(
    {
        "input-streaming",
        "input-available",
        "approval-requested",
        "approval-responded",
        "output-available",
        "output-error",
        "output-denied",
    }
)
_TYPES: Final = frozenset({"step-start", "dynamic-tool", "tool-invocation"})
_BODY_KEPT: Final = ("title", "userId", "visibility", "trigger", "metadata")


def recognises(sample: Sample) -> float:
    """How sure it is that the file holds UI messages with steps or tools; plain ones are any chat's."""
    for each in sample.objects:
        for message in [each, *items(each.get("messages"))[:20]]:
            if _is_ui_message(obj(message)):
                return 1.0
    return 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """The chats of the file: each with its envelope, or one of loose messages; stored rows name their chat."""
    loose: dict[str, list[JSONObject]] = {}
    for record in source.records():
        for value in record.value if isinstance(record.value, list) else [record.value]:
            body = obj(value)
            if isinstance(body.get("messages"), list):
                yield _run(body, [obj(each) for each in items(body["messages"])], f"{record.location}/messages")
            else:
                loose.setdefault(text(body.get("chatId")), []).append(body)
    for chat, messages in loose.items():
        yield _run({"id": chat}, messages, "")


def _is_ui_message(message: JSONObject) -> bool:
    if "role" not in message:
        return False
    if any("toolName" in obj(each) and "state" in obj(each) for each in items(message.get("toolInvocations"))):
        return True
    return any(_is_tool(obj(part)) or obj(part).get("type") in _TYPES for part in _parts(message))


def _parts(message: JSONObject) -> list[JSONValue]:
    return [part for part in items(message.get("parts")) if isinstance(obj(part).get("type"), str)]


def _is_tool(part: JSONObject) -> bool:
    kind = text(part.get("type"))
    return (kind.startswith("tool-") or kind == "dynamic-tool") and text(part.get("state")) in _STATES


def _run(body: JSONObject, messages: list[JSONObject], where: str) -> RecordedRun:
    said = [each for at, message in enumerate(messages) for each in _said(message, f"{where}/{at}")]
    model = text(first(body, "model", "modelId", "selectedChatModel"))
    setting = TranscriptSettings(
        model=model, provider=normalize_provider(None, model.rpartition("/")[2]), system=body.get("system")
    )
    external_id = text(first(body, "id", "chatId")) or f"chat-{content_id([*messages], where)}"
    metadata: JSONObject = {key: body[key] for key in _BODY_KEPT if key in body}
    return build_run(
        RunFacts(external_id=external_id, app=FORMAT, format=FORMAT, metadata=metadata),
        transcripts.build_steps(said, setting),
        location=where,
    )


def _said(message: JSONObject, where: str) -> Iterator[TranscriptMessage]:
    time = first(message, "createdAt", "created_at") or obj(message.get("metadata")).get("createdAt")
    if message.get("role") != "assistant":
        content = [_block(obj(part)) for part in _parts(message)] or message.get("content")
        yield TranscriptMessage(location=where, value={"role": message.get("role"), "content": content, "ts": time})
        return
    steps = list(_steps(message))
    for at, step in enumerate(steps):
        own = _own(message) if at == len(steps) - 1 else {}
        value: JSONObject = {"role": "assistant", "content": step.content, "tool_calls": [*step.calls], "ts": time}
        yield TranscriptMessage(
            location=where, value={**value, **own} if len(steps) > 1 else {**value, **own, **_counted(message)}
        )
        yield from (TranscriptMessage(location=where, value={**result, "ts": time}) for result in step.results)


def _own(message: JSONObject) -> JSONObject:
    """What the whole message says of itself, told with its last model call."""
    metadata = obj(message.get("metadata"))
    model = text(first(metadata, "model", "modelId"))
    kept: JSONObject = {"metadata": metadata or None, "message_id": message.get("id")}
    return {**kept, **({"model": model} if model else {})}


def _counted(message: JSONObject) -> JSONObject:
    """The usage, where the message is one model call: of several it is the sum."""
    usage = first(obj(message.get("metadata")), "usage", "totalUsage")
    return {"usage": usage} if isinstance(usage, dict) else {}


@dataclass(kw_only=True)
class _Step:
    """One model call of an assistant message, and the results of its calls."""

    content: list[JSONValue] = field(default_factory=list)
    calls: list[JSONValue] = field(default_factory=list)
    results: list[JSONObject] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.content or self.calls)


def _steps(message: JSONObject) -> Iterator[_Step]:
    step = _Step()
    for part in _all_parts(message):
        tool = _tool(part)
        begins = part.get("type") == "step-start" or (step.results and tool is None)
        if begins and not step.is_empty:
            yield step
            step = _Step()
        if tool is not None:
            step.calls.append({"id": tool.get("toolCallId"), "name": tool["name"], "arguments": tool["input"]})
            if (result := _result(tool)) is not None:
                step.results.append(result)
        elif part.get("type") != "step-start":
            step.content.append(_block(part))
    if not step.is_empty:
        yield step


def _all_parts(message: JSONObject) -> list[JSONObject]:
    """The parts; older messages list their tools apart, which were called before the text was said."""
    parts = [obj(part) for part in _parts(message)]
    named = [part for part in parts if _tool(part) is not None]
    apart: list[JSONObject] = []
    last: JSONValue = None
    for each in items(message.get("toolInvocations")) if not named else []:
        number = obj(each).get("step")
        apart += [{"type": "step-start"}] if apart and number != last else []
        apart.append({"type": "tool-invocation", "toolInvocation": each})
        last = number
    if not parts and message.get("content") not in (None, ""):
        parts = [{"type": "text", "text": message["content"]}]
    return [*apart, *parts]


def _tool(part: JSONObject) -> JSONObject | None:
    """A tool part of any version as `{name, input, state, toolCallId, output?, errorText?}`."""
    kind = text(part.get("type"))
    if kind == "tool-invocation":
        call = obj(part.get("toolInvocation"))
        return {**call, "name": call.get("toolName"), "input": call.get("args"), "output": call.get("result")}
    if not _is_tool(part):
        return None
    named = part.get("toolName") if kind == "dynamic-tool" else kind.removeprefix("tool-")
    return {
        **part,
        "name": named,
        "input": part.get("input") if part.get("input") is not None else part.get("rawInput"),
    }


def _result(tool: JSONObject) -> JSONObject | None:
    """What came of a call; nothing for one that still waits."""
    answer: JSONObject = {"role": "tool", "tool_call_id": tool.get("toolCallId")}
    match tool.get("state"):
        case "result" | "output-available":
            output = tool.get("output")
            return {**answer, "content": output if isinstance(output, str) else as_text(output)}
        case "output-error":
            problem = text(tool.get("errorText")) or "error"
            return {**answer, "content": problem, "error": problem}
        case "output-denied":
            reason = text(obj(tool.get("approval")).get("reason")) or "the user denied the call"
            return {**answer, "content": reason, "denied": True}
    return None


def _block(part: JSONObject) -> JSONValue:
    if part.get("type") == "reasoning":
        return {"type": "thinking", "thinking": first(part, "text", "reasoning")}
    return {"type": "text", "text": part.get("text")} if part.get("type") == "text" else part
