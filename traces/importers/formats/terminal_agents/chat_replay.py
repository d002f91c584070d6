"""GitHub Copilot in VS Code: the chat debug log (`.chatreplay.json`), with every request of a chat as it was sent."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.identity import content_id
from traces.importers.common.messages import normalize_messages
from traces.importers.common.model_calls import model_input, normalize_parameters, normalize_provider, normalize_usage
from traces.importers.common.run_builder import AGENT_KEY, RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Source

FORMAT: Final = "chat-replay"
# Roles are numbers.
_ROLES: Final = ("system", "user", "assistant", "tool")
_TEXT: Final = 1
_STEP_FIELDS: Final = frozenset({"model", "startTime", "endTime", "usage", "tools"})
_LOG_FIELDS: Final = frozenset({"kind", "metadata", "requestMessages", "response"})
_CALL_FIELDS: Final = frozenset({"kind", "tool", "args", "response", "time", "id"})


def is_log(value: JSONValue) -> bool:
    """Return True if `value` is a debug log."""
    body = as_object(value)
    return has_list(body, "prompts") and any(has_list(prompt, "logs") for prompt in as_list(body["prompts"])[:5])


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the log: each prompt is a turn with its requests and calls."""
    for body, location in source.entries():
        steps = [RecordedStep(key=AGENT_KEY, type=StepType.AGENT, name="copilot")]
        for number, prompt in enumerate(as_objects(body.get("prompts")), 1):
            steps += _turn(prompt, f"prompt-{number}", f"{location}/prompts/{number - 1}")
        if len(steps) == 1:
            raise BadFile("this log has no prompts", f"{location}/prompts")
        yield build_run(
            RunFacts(
                external_id=f"{FORMAT}-{content_id(body.get('prompts'), location)}",
                app="copilot",
                format=FORMAT,
                metadata={name: item for name, item in body.items() if name != "prompts"},
            ),
            steps,
            location=location,
        )


def _turn(prompt: JSONObject, key: str, location: str) -> Iterator[RecordedStep]:
    text = as_text(prompt.get("prompt"))
    facts = {name: item for name, item in prompt.items() if name not in ("prompt", "logs")}
    logs = as_objects(prompt.get("logs"))
    elements = [log for log in logs if log.get("kind") not in ("request", "toolCall")]
    yield RecordedStep(
        key=key,
        type=StepType.TURN,
        name=text or "turn",
        parent=AGENT_KEY,
        input={"messages": [{"role": "user", "content": text}]},
        attributes={**facts, **({"elements": [*elements]} if elements else {})},
    )
    for index, log in enumerate(logs):
        if log.get("kind") == "request":
            yield _request(log, key, f"{key}.{index}", f"{location}/logs/{index}")
        elif log.get("kind") == "toolCall":
            yield _call(log, key, f"{key}.{index}", f"{location}/logs/{index}")


def _request(log: JSONObject, parent: str, key: str, location: str) -> RecordedStep:
    facts, response = as_object(log.get("metadata")), as_object(log.get("response"))
    model = as_text(facts.get("model"))
    requests = as_list(as_object(log.get("requestMessages")).get("messages"))
    messages = [message for item in requests for message in _message(item)]
    usage = normalize_usage(as_object(facts.get("usage")), location)
    error = _failure(as_text(log.get("type")), response)
    text = "\n".join(as_text(part) for part in as_list(response.get("message")))
    details = {name: item for name, item in facts.items() if name not in _STEP_FIELDS and item not in (None, "")}
    return RecordedStep(
        key=key,
        type=StepType.MODEL,
        name=model or as_text(log.get("name")) or "model",
        parent=parent,
        model=model,
        provider=normalize_provider(None, model),
        started_at=parse_time(facts.get("startTime"), location),
        ended_at=parse_time(facts.get("endTime"), location),
        input=model_input(
            messages,
            normalize_tools(facts.get("tools") or []),
            normalize_parameters(as_object(facts.get("requestOptions"))),
        ),
        output=None if error else {"message": {"role": "assistant", "content": text or None}},
        status=StepStatus.ERROR if error else StepStatus.OK,
        error=error,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        attributes={
            **details,
            **{name: item for name, item in log.items() if name not in _LOG_FIELDS and item is not None},
        },
    )


def _failure(kind: str, response: JSONObject) -> str:
    """Return why a request failed or was cancelled; empty if it was answered."""
    if response.get("type") == "success" or (kind.endswith("Success") and not response.get("reason")):
        return ""
    return as_text(first_member(response, "reason", "message", "type")) or kind or "failed"


def _message(value: JSONValue) -> list[JSONObject]:
    """Return a message, whose role and types of parts are numbers."""
    message = as_object(value)
    role = message.get("role")
    name = _ROLES[role] if isinstance(role, int) and 0 <= role < len(_ROLES) else as_text(role)
    content = message.get("content")
    parts = [_part(part) for part in content] if isinstance(content, list) else content
    calls: JSONObject = {"tool_calls": message["toolCalls"]} if message.get("toolCalls") else {}
    result: JSONObject = {"tool_call_id": message["toolCallId"]} if message.get("toolCallId") else {}
    return normalize_messages({"role": name, "content": parts, **calls, **result})


def _part(value: JSONValue) -> JSONValue:
    part = as_object(value)
    if part.get("type") == _TEXT and "text" in part:
        return {"type": "text", "text": part["text"]}
    kind = "image" if "imageUrl" in part else "part"
    return {**part, "type": kind}


def _call(log: JSONObject, parent: str, key: str, location: str) -> RecordedStep:
    name = as_text(log.get("tool"))
    parts = as_list(log.get("response"))
    texts = all(isinstance(part, str) for part in parts)
    return RecordedStep(
        key=key,
        type=StepType.TOOL,
        name=name or "tool",
        tool_name=name,
        call_id=as_text(log.get("id")),
        parent=parent,
        ended_at=parse_time(log.get("time"), location),
        input=parse_embedded(log.get("args")),
        output="\n".join(as_text(part) for part in parts) if texts else log.get("response"),
        error=text_or_json(log["error"]) if log.get("error") else "",
        status=StepStatus.ERROR if log.get("error") else StepStatus.OK,
        attributes={field: item for field, item in log.items() if field not in _CALL_FIELDS and item is not None},
    )
