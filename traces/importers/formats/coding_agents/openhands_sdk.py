"""Events of the OpenHands agent SDK: typed by `kind`, with the calls of one response in events of their own."""

from collections.abc import Sequence
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import as_text, normalize_tools
from traces.importers.common.transcripts import TranscriptMessage
from traces.importers.files.json_reader import first, items, obj, text
from traces.importers.formats.coding_agents.openhands_session import Session

_RESULTS: Final = frozenset({"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"})
KINDS: Final = frozenset(
    {
        "SystemPromptEvent",
        "MessageEvent",
        "ActionEvent",
        *_RESULTS,
        "Condensation",
        "CondensationRequest",
        "CondensationSummaryEvent",
        "ConversationErrorEvent",
        "ConversationStateUpdateEvent",
        "PauseEvent",
        "TokenEvent",
    }
)


def session_of(events: Sequence[JSONObject], where: str) -> Session:
    """The session of a list of events."""
    session = Session()
    answers: dict[str, JSONObject] = {}
    for at, event in enumerate(events):
        place, kind = f"{where}/{at}", text(event.get("kind"))
        match kind:
            case "SystemPromptEvent":
                session.tools = normalize_tools(event.get("tools") or [])
                _say(session, event, {"role": "system", "content": _words(event.get("system_prompt"))}, place)
            case "MessageEvent":
                _message(session, event, place)
            case "ActionEvent":
                _action(session, event, answers, place)
            case "Condensation":
                offset = event.get("summary_offset")
                session.condense(
                    items(event.get("forgotten_event_ids")),
                    text(event.get("summary")),
                    offset if isinstance(offset, int) else 1,
                    place,
                )
            case "ConversationErrorEvent":
                session.failed = True
                session.metadata["error"] = first(event, "detail", "code")
            case "ConversationStateUpdateEvent":
                _state(session, event)
            case _ if kind in _RESULTS:
                _say(session, event, _result(event), place)
    return session


def _say(session: Session, event: JSONObject, value: JSONObject, where: str) -> None:
    session.say(TranscriptMessage(value={**value, "ts": event.get("timestamp")}, location=where), event.get("id"))


def _message(session: Session, event: JSONObject, where: str) -> None:
    message = obj(event.get("llm_message"))
    content = [*_thoughts(message), *_blocks(message.get("content"))]
    kept = {"tool_calls": message["tool_calls"]} if items(message.get("tool_calls")) else {}
    role = "assistant" if event.get("source") == "agent" else text(message.get("role")) or "user"
    _say(session, event, {"role": role, "content": content, **kept}, where)


def _action(session: Session, event: JSONObject, answers: dict[str, JSONObject], where: str) -> None:
    """A call; those of one response are one answer."""
    response = text(event.get("llm_response_id"))
    known = answers.get(response) if response else None
    call = _call(event)
    if known is not None:
        known["tool_calls"] = [*items(known["tool_calls"]), call]
    else:
        content = [*_thoughts(event), *_blocks(event.get("thought"))]
        value: JSONObject = {
            "role": "assistant",
            "content": content,
            "tool_calls": [call],
            "ts": event.get("timestamp"),
            **({"llm_response_id": response} if response else {}),
        }
        answers[response] = value
        session.say(TranscriptMessage(value=value, location=where), event.get("id"))
    if text(event.get("tool_name")) == "finish":
        session.output = text(obj(event.get("action")).get("message")) or session.output


def _call(event: JSONObject) -> JSONObject:
    given = obj(event.get("tool_call"))
    function = obj(given.get("function")) or given
    arguments = first(function, "arguments")
    if arguments is None:
        arguments = {key: value for key, value in obj(event.get("action")).items() if key != "kind"}
    return {
        "id": text(event.get("tool_call_id")) or text(given.get("id")),
        "name": text(event.get("tool_name")) or text(function.get("name")),
        "arguments": arguments,
    }


def _result(event: JSONObject) -> JSONObject:
    value: JSONObject = {"role": "tool", "tool_call_id": text(event.get("tool_call_id"))}
    if event.get("kind") == "AgentErrorEvent":
        error = text(event.get("error")) or "error"
        return {**value, "content": error, "error": error}
    if event.get("kind") == "UserRejectObservation":
        return {**value, "content": text(event.get("rejection_reason")) or "rejected", "denied": True}
    observation = obj(event.get("observation"))
    content = first(observation, "content", "output", "text")
    if content is None:
        content = as_text({key: item for key, item in observation.items() if key != "kind"})
    error = _error(observation)
    return {**value, "content": content, **({"error": error} if error else {})}


def _error(observation: JSONObject) -> str:
    code = observation.get("exit_code")
    if code is None:
        code = obj(observation.get("metadata")).get("exit_code")
    if isinstance(code, int) and code > 0:
        return f"exit code {code}"
    error = observation.get("error")
    if isinstance(error, str) and error:
        return error
    failed = observation.get("is_error") is True or error is True
    return (_words(observation.get("content")) or "error") if failed else ""


def _state(session: Session, event: JSONObject) -> None:
    value = event.get("value")
    model = obj(obj(obj(value).get("agent")).get("llm")).get("model")
    session.model = text(model) or session.model
    if event.get("key") == "execution_status":
        session.metadata["execution_status"] = value
        session.failed = value in ("error", "stuck")


def _thoughts(source: JSONObject) -> list[JSONValue]:
    blocks = [each for each in items(source.get("thinking_blocks")) if obj(each).get("type") == "thinking"]
    thought = text(source.get("reasoning_content"))
    return blocks or ([{"type": "thinking", "thinking": thought}] if thought else [])


def _blocks(content: JSONValue) -> list[JSONValue]:
    """Content blocks as the product writes them, without what the SDK keeps beside them."""
    listed = content if isinstance(content, list) else [content] if content else []
    return [_block(each) for each in listed if each not in ("", {}, None)]


def _block(value: JSONValue) -> JSONValue:
    block = obj(value)
    if isinstance(value, str):
        return {"type": "text", "text": value}
    return {"type": "text", "text": block["text"]} if isinstance(block.get("text"), str) else value


def _words(content: JSONValue) -> str:
    return "\n".join(text(obj(each).get("text")) for each in _blocks(content) if obj(each).get("text"))
