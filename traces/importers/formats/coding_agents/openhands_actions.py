"""Events of the older OpenHands server: actions, and observations whose `cause` is the action that they answer.

With function calling, `tool_call_metadata` holds the model's whole response; the actions of one response are one
answer. Without it an action is a text that the program acted on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepStatus
from traces.importers.common.messages import normalize_tools
from traces.importers.common.model_calls import parse_cost
from traces.importers.common.times import parse_time
from traces.importers.common.transcripts import TextAction, TranscriptMessage
from traces.importers.files.json_reader import first, items, obj, text
from traces.importers.formats.coding_agents.openhands_session import Session

_UNSAID: Final = frozenset({"change_agent_state", "null", "recall", "pause", "resume", "task_tracking_state"})
_FAILED_STATES: Final = frozenset({"error"})
_ACTION_MAPPED: Final = frozenset({"thought", "content", "message"})


@dataclass(kw_only=True)
class _Reading:
    """The events by what they answer, and what was read of them so far."""

    session: Session
    observed: dict[int | str, JSONObject]  # observations by their cause
    responses: set[str] = field(default_factory=set)
    spent: float = 0.0


def session_of(events: Sequence[JSONObject], where: str) -> Session:
    """The session of a list of events."""
    observed = {
        cause: each for each in events if "observation" in each and isinstance(cause := each.get("cause"), int | str)
    }
    reading = _Reading(session=Session(), observed=observed)
    taken = {each_id for each in events if "action" in each and isinstance(each_id := each.get("id"), int | str)}
    for at, event in enumerate(events):
        place = f"{where}/{at}"
        if isinstance(event.get("action"), str):
            _action(reading, event, place)
        elif isinstance(event.get("observation"), str):
            _observation(
                reading, event, place, has_action=isinstance(cause := event.get("cause"), int | str) and cause in taken
            )
    return reading.session


def _action(reading: _Reading, event: JSONObject, where: str) -> None:
    session, args, name = reading.session, obj(event.get("args")), text(event.get("action"))
    time, event_id = event.get("timestamp"), event.get("id")
    if name == "system":
        session.tools = normalize_tools(args.get("tools") or [])
        session.say(
            TranscriptMessage(value={"role": "system", "content": args.get("content"), "ts": time}, location=where),
            event_id,
        )
    elif name == "condensation":
        _condense(session, args, where)
    elif event.get("source") == "user" and name == "message":
        session.say(
            TranscriptMessage(value={"role": "user", "content": _words(event), "ts": time}, location=where), event_id
        )
    elif event.get("source") == "agent" and name not in _UNSAID:
        _answer(reading, event, where)
    if name in {"finish", "reject"}:
        session.output = (
            text(first(args, "final_thought")) or text(obj(args.get("outputs")).get("content")) or session.output
        )


def _condense(session: Session, args: JSONObject, where: str) -> None:
    forgotten = items(args.get("forgotten_event_ids"))
    start, end = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
    if isinstance(start, int) and isinstance(end, int):
        forgotten = [each for each in session.events if isinstance(each, int) and start <= each <= end]
    offset = args.get("summary_offset")
    session.condense(forgotten, text(args.get("summary")), offset if isinstance(offset, int) else 1, where)


def _answer(reading: _Reading, event: JSONObject, where: str) -> None:
    """An action of the agent; the later actions of one response are in its first one's message already."""
    session = reading.session
    metadata = obj(event.get("tool_call_metadata"))
    response = obj(metadata.get("model_response"))
    response_id = text(response.get("id"))
    if response_id and response_id in reading.responses:
        return
    reading.responses.add(response_id)
    value: JSONObject = {"role": "assistant", "ts": event.get("timestamp"), **_spent(reading, event, response)}
    actions: tuple[TextAction, ...] = ()
    if metadata:
        value |= _message(response, metadata, event)
    else:
        value["content"] = _words(event)
        actions = () if event.get("action") == "message" else (_acted(reading, event, where),)
    session.say(TranscriptMessage(value=value, location=where, actions=actions), event.get("id"))


def _message(response: JSONObject, metadata: JSONObject, event: JSONObject) -> JSONObject:
    """What the model said, as its response has it; else the one call that the action came from."""
    choice = obj(next(iter(items(response.get("choices"))), None))
    message = obj(choice.get("message"))
    if items(message.get("tool_calls")):
        thought = text(message.get("reasoning_content"))
        spoken: list[JSONValue] = [{"type": "thinking", "thinking": thought}] if thought else []
        content = message.get("content")
        words = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
        return {"content": [*spoken, *words], "tool_calls": message["tool_calls"]}
    args = {key: item for key, item in obj(event.get("args")).items() if key != "thought"}
    call: JSONObject = {"id": metadata.get("tool_call_id"), "name": metadata.get("function_name"), "arguments": args}
    return {"content": obj(event.get("args")).get("thought") or None, "tool_calls": [call]}


def _spent(reading: _Reading, event: JSONObject, response: JSONObject) -> JSONObject:
    """Model, tokens and cost of an answer; metrics count the cost of the whole session so far."""
    spent: JSONObject = {}
    if model := text(response.get("model")):
        spent["model"] = model
    metrics = obj(event.get("llm_metrics"))
    usages = [obj(each) for each in items(metrics.get("token_usages"))]
    usage = obj(response.get("usage")) or next(
        (each for each in usages if each.get("response_id") == response.get("id")), {}
    )
    if usage:
        spent["usage"] = usage
    total = metrics.get("accumulated_cost")
    if isinstance(total, int | float) and not isinstance(total, bool) and total > reading.spent:
        if parse_cost(round(total - reading.spent, 8)):
            spent["cost"] = round(total - reading.spent, 8)
            reading.session.has_costs = True
        reading.spent = float(total)
    return spent


def _acted(reading: _Reading, event: JSONObject, where: str) -> TextAction:
    """The call that an action without function calling is."""
    args: JSONObject = {
        key: item for key, item in obj(event.get("args")).items() if key not in _ACTION_MAPPED and item is not None
    }
    event_id = event.get("id")
    observation = reading.observed.get(event_id) if isinstance(event_id, int | str) else None
    if observation is None:
        return TextAction(name=text(event.get("action")), arguments=args, status=StepStatus.PARTIAL)
    error, denied = _error(observation), observation.get("observation") == "user_rejected"
    return TextAction(
        name=text(event.get("action")),
        arguments=args,
        output=observation.get("content"),
        error=error,
        status=StepStatus.DENIED if denied else StepStatus.ERROR if error else StepStatus.OK,
        ended_at=parse_time(observation.get("timestamp"), f"{where}/timestamp"),
        attributes=_extras(observation),
    )


def _observation(reading: _Reading, event: JSONObject, where: str, *, has_action: bool) -> None:
    session, kind = reading.session, text(event.get("observation"))
    extras = obj(event.get("extras"))
    if kind == "agent_state_changed":
        state, reason = text(extras.get("agent_state")), text(extras.get("reason"))
        session.metadata |= {"agent_state": state, **({"reason": reason} if reason else {})}
        session.failed = state in _FAILED_STATES
        return
    if kind in {"null", "condense"} or (event.get("content") in (None, "") and not has_action):
        return
    metadata = obj(event.get("tool_call_metadata"))
    value: JSONObject = {"content": event.get("content"), "ts": event.get("timestamp")}
    if metadata:
        error = _error(event)
        value |= {"role": "tool", "tool_call_id": metadata.get("tool_call_id"), **({"error": error} if error else {})}
        value |= {**({"denied": True} if kind == "user_rejected" else {}), **_extras(event)}
        session.say(TranscriptMessage(value=value, location=where), event.get("id"))
    else:
        session.say(
            TranscriptMessage(value={"role": "user", **value}, location=where, is_injected=True), event.get("id")
        )


def _error(observation: JSONObject) -> str:
    """What went wrong, as the observation tells it."""
    code = obj(obj(observation.get("extras")).get("metadata")).get("exit_code")
    if code is None:
        code = obj(observation.get("extras")).get("exit_code")
    if observation.get("observation") == "error":
        return text(observation.get("content")) or "error"
    if isinstance(code, int) and code > 0:
        return f"exit code {code}"
    failed = observation.get("success") is False or obj(observation.get("extras")).get("error") is True
    return (text(observation.get("message")) or "error") if failed else ""


def _extras(observation: JSONObject) -> JSONObject:
    extras: JSONObject = {
        key: item for key, item in obj(observation.get("extras")).items() if item not in (None, "", [], {})
    }
    return {"extras": extras} if extras else {}


def _words(event: JSONObject) -> JSONValue:
    args = obj(event.get("args"))
    words = first(args, "content", "thought") if event.get("action") == "message" else first(args, "thought")
    images: list[JSONValue] = [
        {"type": "image_url", "image_url": {"url": url}} for url in items(first(args, "image_urls", "images_urls"))
    ]
    return [{"type": "text", "text": words or ""}, *images] if images else words or ""
