"""Events of the older OpenHands server: actions, and observations whose `cause` is the action that they answer.

With function calling, `tool_call_metadata` contains the whole model response, and the actions of one response form one
answer. Without it, an action is a text that the program acted on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_string, is_number
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepStatus
from traces.importers.common.messages import content_blocks
from traces.importers.common.model_calls import parse_cost
from traces.importers.common.times import parse_time
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage
from traces.importers.formats.coding_agents.openhands_session import Session

_NOT_SHOWN: Final = frozenset({"change_agent_state", "null", "recall", "pause", "resume", "task_tracking_state"})
_FAILED_STATES: Final = frozenset({"error"})
_MAPPED_ARGS: Final = frozenset({"thought", "content", "message"})


@dataclass(kw_only=True)
class _Reading:
    """The session read so far, the actions by id, and the observations by cause."""

    session: Session
    actions: dict[int | str, JSONObject]
    observations: dict[int | str, JSONObject]
    responses: set[str] = field(default_factory=set)
    total_cost: float = 0.0


def build_session(events: Sequence[JSONObject], location: str) -> Session:
    """Build the session of a list of events."""
    observations = {
        cause: event
        for event in events
        if "observation" in event and isinstance(cause := event.get("cause"), int | str)
    }
    actions = {
        event_id: event for event in events if "action" in event and isinstance(event_id := event.get("id"), int | str)
    }
    reading = _Reading(session=Session(), actions=actions, observations=observations)
    for index, event in enumerate(events):
        event_location = f"{location}/{index}"
        if has_string(event, "action"):
            _action(reading, event, event_location)
        elif has_string(event, "observation"):
            _observation(reading, event, event_location)
    return reading.session


def _action(reading: _Reading, event: JSONObject, location: str) -> None:
    session, args, name = reading.session, as_object(event.get("args")), as_text(event.get("action"))
    time, event_id = event.get("timestamp"), event.get("id")
    if name == "system":
        session.tools = normalize_tools(args.get("tools") or [])
        # Some programs write the whole message in place of its content.
        content = as_object(args.get("content")).get("content", args.get("content"))
        session.append(
            TranscriptMessage(value={"role": "system", "content": content, "ts": time}, location=location), event_id
        )
    elif name == "condensation":
        _condense(session, args, location)
    elif event.get("source") == "user" and name == "message":
        session.append(
            TranscriptMessage(value={"role": "user", "content": _words(event), "ts": time}, location=location), event_id
        )
    elif event.get("source") == "agent" and name not in _NOT_SHOWN:
        _answer(reading, event, location)
    if name in {"finish", "reject"}:
        session.output = (
            as_text(first_member(args, "final_thought"))
            or as_text(as_object(args.get("outputs")).get("content"))
            or session.output
        )


def _condense(session: Session, args: JSONObject, location: str) -> None:
    forgotten_ids = as_list(args.get("forgotten_event_ids"))
    start, end = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
    if isinstance(start, int) and isinstance(end, int):
        forgotten_ids = [
            event_id for event_id in session.events if isinstance(event_id, int) and start <= event_id <= end
        ]
    offset = args.get("summary_offset")
    session.condense(forgotten_ids, as_text(args.get("summary")), offset if isinstance(offset, int) else 1, location)


def _answer(reading: _Reading, event: JSONObject, location: str) -> None:
    """Add an action of the agent; the message of a response's first action already has its later actions."""
    session = reading.session
    metadata = as_object(event.get("tool_call_metadata"))
    response = as_object(metadata.get("model_response"))
    response_id = as_text(response.get("id"))
    if response_id and response_id in reading.responses:
        return
    reading.responses.add(response_id)
    session.failed = False
    session.metadata.pop("error", None)
    value: JSONObject = {"role": "assistant", "ts": event.get("timestamp"), **_usage(reading, event, response)}
    actions: tuple[TextAction, ...] = ()
    if metadata:
        value |= _message(response, metadata, event)
    else:
        value["content"] = _words(event)
        actions = () if event.get("action") == "message" else (_text_action(reading, event, location),)
    session.append(TranscriptMessage(value=value, location=location, actions=actions), event.get("id"))


def _message(response: JSONObject, metadata: JSONObject, event: JSONObject) -> JSONObject:
    """Return the model message of a response, or the single call that the action came from."""
    choice = as_object(next(iter(as_list(response.get("choices"))), None))
    message = as_object(choice.get("message"))
    if as_list(message.get("tool_calls")):
        thought = as_text(message.get("reasoning_content"))
        thoughts: list[JSONValue] = [{"type": "thinking", "thinking": thought}] if thought else []
        content = message.get("content")
        text_blocks = content_blocks(content)
        return {"content": [*thoughts, *text_blocks], "tool_calls": message["tool_calls"]}
    args = {key: item for key, item in as_object(event.get("args")).items() if key != "thought"}
    call: JSONObject = {"id": metadata.get("tool_call_id"), "name": metadata.get("function_name"), "arguments": args}
    return {"content": as_object(event.get("args")).get("thought") or None, "tool_calls": [call]}


def _usage(reading: _Reading, event: JSONObject, response: JSONObject) -> JSONObject:
    """Return model, tokens and cost of an answer; metrics have the cost of the whole session so far."""
    usage_fields: JSONObject = {}
    if model := as_text(response.get("model")):
        usage_fields["model"] = model
    metrics = as_object(event.get("llm_metrics"))
    usages = [as_object(entry) for entry in as_list(metrics.get("token_usages"))]
    usage = as_object(response.get("usage")) or next(
        (entry for entry in usages if entry.get("response_id") == response.get("id")), {}
    )
    if usage:
        usage_fields["usage"] = usage
    total = metrics.get("accumulated_cost")
    if is_number(total) and total > reading.total_cost:
        if parse_cost(round(total - reading.total_cost, 8)):
            usage_fields["cost"] = round(total - reading.total_cost, 8)
            reading.session.has_costs = True
        reading.total_cost = float(total)
    return usage_fields


def _text_action(reading: _Reading, event: JSONObject, location: str) -> TextAction:
    """Convert an action without function calling into a tool call."""
    args: JSONObject = {
        key: item for key, item in as_object(event.get("args")).items() if key not in _MAPPED_ARGS and item is not None
    }
    event_id = event.get("id")
    observation = reading.observations.get(event_id) if isinstance(event_id, int | str) else None
    if observation is None:
        return TextAction(name=as_text(event.get("action")), arguments=args, status=StepStatus.PARTIAL)
    error, is_denied = _error(observation), observation.get("observation") == "user_rejected"
    return TextAction(
        name=as_text(event.get("action")),
        arguments=args,
        output=observation.get("content"),
        error=error,
        status=StepStatus.DENIED if is_denied else StepStatus.ERROR if error else StepStatus.OK,
        ended_at=parse_time(observation.get("timestamp"), f"{location}/timestamp"),
        attributes=_extras(observation),
    )


def _observation(reading: _Reading, event: JSONObject, location: str) -> None:
    cause = event.get("cause")
    action = reading.actions.get(cause) if isinstance(cause, int | str) else None
    session, kind = reading.session, as_text(event.get("observation"))
    extras = as_object(event.get("extras"))
    if kind == "agent_state_changed":
        state, reason = as_text(extras.get("agent_state")), as_text(extras.get("reason"))
        session.metadata |= {"agent_state": state, **({"reason": reason} if reason else {})}
        session.failed = state in _FAILED_STATES
        return
    if kind == "error" and action is None:
        # Of the session, such as too many iterations, unless the agent goes on.
        session.failed = True
        session.metadata |= {"error": event.get("content")}
    if kind in {"null", "condense"} or (event.get("content") in (None, "") and action is None):
        return
    # Not every version repeats the metadata of a call in its result.
    metadata = as_object(event.get("tool_call_metadata")) or as_object((action or {}).get("tool_call_metadata"))
    value: JSONObject = {"content": event.get("content"), "ts": event.get("timestamp")}
    if metadata:
        error = _error(event)
        value |= {"role": "tool", "tool_call_id": metadata.get("tool_call_id"), **({"error": error} if error else {})}
        value |= {**({"denied": True} if kind == "user_rejected" else {}), **_extras(event)}
        session.append(TranscriptMessage(value=value, location=location), event.get("id"))
    else:
        session.append(
            TranscriptMessage(value={"role": "user", **value}, location=location, is_injected=True), event.get("id")
        )


def _error(observation: JSONObject) -> str:
    """Return the error in an observation; empty if there is none."""
    code = as_object(as_object(observation.get("extras")).get("metadata")).get("exit_code")
    if code is None:
        code = as_object(observation.get("extras")).get("exit_code")
    if observation.get("observation") == "error":
        return as_text(observation.get("content")) or "error"
    if isinstance(code, int) and code > 0:
        return f"exit code {code}"
    is_failure = observation.get("success") is False or as_object(observation.get("extras")).get("error") is True
    return (as_text(observation.get("message")) or "error") if is_failure else ""


def _extras(observation: JSONObject) -> JSONObject:
    extras: JSONObject = {
        key: item for key, item in as_object(observation.get("extras")).items() if item not in (None, "", [], {})
    }
    return {"extras": extras} if extras else {}


def _words(event: JSONObject) -> JSONValue:
    args = as_object(event.get("args"))
    text_value = (
        first_member(args, "content", "thought") if event.get("action") == "message" else first_member(args, "thought")
    )
    images: list[JSONValue] = [
        {"type": "image_url", "image_url": {"url": url}}
        for url in as_list(first_member(args, "image_urls", "images_urls"))
    ]
    return [{"type": "text", "text": text_value or ""}, *images] if images else text_value or ""
