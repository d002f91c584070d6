"""Events of the OpenHands agent SDK, typed by `kind`; every call of a response is a separate event."""

from collections.abc import Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_string, is_number, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import result_text
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TranscriptMessage
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
        "ACPToolCallEvent",
    }
)


# What an action states beside its call.
_ACTION_DETAILS: Final = ("summary", "security_risk", "critic_result")
_ANSWER_DETAILS: Final = ("activated_skills", "critic_result")
# Events of which a condensation or an answer has everything.
_SILENT: Final = frozenset(
    {"CondensationRequest", "CondensationSummaryEvent", "TokenEvent", "LLMCompletionLogEvent", "StreamingDeltaEvent"}
)
# What the result of a call, its error and its status have.
_RESULT_FIELDS: Final = frozenset({"content", "output", "text", "kind", "error", "is_error"})
_ENDS: Final = frozenset({"completed", "failed"})


def build_session(events: Sequence[JSONObject], location: str, totals: JSONObject) -> Session:
    """Build the session of a list of events; `totals` are what an evaluation states of its usage."""
    session = Session()
    answers: dict[str, JSONObject] = {}
    # By the ids of their actions.
    call_ids: dict[str, str] = {}
    # Calls of other agents, by their ids.
    agent_calls: dict[str, JSONObject] = {}
    for index, event in enumerate(events):
        event_location, kind = f"{location}/{index}", as_text(event.get("kind"))
        match kind:
            case "SystemPromptEvent":
                session.tools = normalize_tools(event.get("tools") or [])
                _append(session, event, {"role": "system", "content": _instructions(event)}, event_location)
            case "MessageEvent":
                _message(session, event, answers, event_location)
            case "ActionEvent":
                call_ids[as_text(event.get("id"))] = as_text(_call(event)["id"])
                _action(session, event, answers, event_location)
            case "Condensation":
                offset = event.get("summary_offset")
                session.condense(
                    as_list(event.get("forgotten_event_ids")),
                    as_text(event.get("summary")),
                    offset if isinstance(offset, int) else 1,
                    event_location,
                )
            case "ConversationErrorEvent" | "ConversationStateUpdateEvent":
                _state(session, event)
            case "ACPToolCallEvent":
                _agent_call(session, event, agent_calls, event_location)
            case _ if kind in _RESULTS:
                _append(session, event, _result(event, call_ids), event_location)
            case _ if kind not in _SILENT:
                session.notes.append(omit(event, "id"))
    _add_usage(session, answers, totals)
    return session


def _instructions(event: JSONObject) -> JSONValue:
    """Return the instructions; what is known of the place where the agent runs is a second block of them."""
    texts = [text for name in ("system_prompt", "dynamic_context") if (text := _words(event.get(name)))]
    return [{"type": "text", "text": text} for text in texts] if len(texts) > 1 else "".join(texts)


def _append(session: Session, event: JSONObject, value: JSONObject, location: str) -> None:
    fields: JSONObject = {"ts": event.get("timestamp"), "event_id": event.get("id")}
    session.append(TranscriptMessage(value={**value, **fields}, location=location), event.get("id"))


def _message(session: Session, event: JSONObject, answers: dict[str, JSONObject], location: str) -> None:
    message = as_object(event.get("llm_message"))
    # The model received what skills added to a request as a part of it.
    content = [*_thoughts(message), *_blocks(message.get("content")), *_blocks(event.get("extended_content"))]
    is_agent = event.get("source") == "agent"
    value: JSONObject = {
        "role": "assistant" if is_agent else as_text(message.get("role")) or "user",
        "content": content,
        "ts": event.get("timestamp"),
        "event_id": event.get("id"),
        **({"tool_calls": message["tool_calls"]} if as_list(message.get("tool_calls")) else {}),
        **{name: event[name] for name in _ANSWER_DETAILS if event.get(name)},
    }
    if is_agent and event.get("llm_response_id"):
        answers[as_text(event["llm_response_id"])] = value
    session.append(TranscriptMessage(value=value, location=location), event.get("id"))


def _action(session: Session, event: JSONObject, answers: dict[str, JSONObject], location: str) -> None:
    """Add a call; the calls of one response form one answer."""
    response = as_text(event.get("llm_response_id"))
    answer = answers.get(response) if response else None
    call = _call(event)
    if answer is not None:
        answer["tool_calls"] = [*as_list(answer["tool_calls"]), call]
    else:
        content = [*_thoughts(event), *_blocks(event.get("thought"))]
        value: JSONObject = {
            "role": "assistant",
            "content": content,
            "tool_calls": [call],
            "ts": event.get("timestamp"),
            **({"llm_response_id": response} if response else {}),
            "responses_reasoning_item": event.get("responses_reasoning_item"),
        }
        answers[response] = value
        session.append(TranscriptMessage(value=value, location=location), event.get("id"))
    if as_text(event.get("tool_name")) == "finish":
        session.output = as_text(as_object(event.get("action")).get("message")) or session.output


def _call(event: JSONObject) -> JSONObject:
    tool_call = as_object(event.get("tool_call"))
    function = as_object(tool_call.get("function")) or tool_call
    arguments = first_member(function, "arguments")
    if arguments is None:
        arguments = {key: value for key, value in as_object(event.get("action")).items() if key != "kind"}
    return {
        "id": as_text(event.get("tool_call_id")) or as_text(tool_call.get("id")),
        "name": as_text(event.get("tool_name")) or as_text(function.get("name")),
        "arguments": arguments,
        "action_id": event.get("id"),
        **{name: event[name] for name in _ACTION_DETAILS if event.get(name)},
    }


def _agent_call(session: Session, event: JSONObject, calls: dict[str, JSONObject], location: str) -> None:
    """Add a call of an agent behind the Agent Client Protocol; each of its events has all that is known by then."""
    call_id = as_text(event.get("tool_call_id"))
    call = calls.get(call_id)
    if call is None:
        call = calls[call_id] = {"id": call_id}
        _append(session, event, {"role": "assistant", "content": None, "tool_calls": [call]}, location)
    call["name"] = as_text(first_member(event, "tool_kind", "title"))
    call["arguments"] = event["raw_input"] if event.get("raw_input") is not None else call.get("arguments")
    call["title"] = event.get("title")
    if as_text(event.get("status")) in _ENDS and "status" not in call:
        call["status"] = event["status"]
        is_failed = event.get("is_error") is True or event["status"] == "failed"
        output = first_member(event, "raw_output", "content")
        result: JSONObject = {"role": "tool", "tool_call_id": call_id, "content": result_text(output or "")}
        _append(session, event, {**result, "is_error": is_failed}, location)


def _result(event: JSONObject, call_ids: dict[str, str]) -> JSONObject:
    call_id = as_text(event.get("tool_call_id")) or call_ids.get(as_text(event.get("action_id")), "")
    value: JSONObject = {"role": "tool", "tool_call_id": call_id, "classification": event.get("classification")}
    if event.get("kind") == "AgentErrorEvent":
        error = as_text(event.get("error")) or "error"
        return {**value, "content": error, "error": error}
    if event.get("kind") == "UserRejectObservation":
        return {**value, "content": as_text(event.get("rejection_reason")) or "rejected", "denied": True}
    observation = as_object(event.get("observation"))
    content = first_member(observation, "content", "output", "text")
    if content is None:
        content = result_text({key: item for key, item in observation.items() if key != "kind"})
    error = _error(observation)
    fields: JSONObject = {
        name: item
        for name, item in observation.items()
        if name not in _RESULT_FIELDS and item not in (None, "", [], {})
    }
    return {**value, "content": content, "observation": fields or None, **({"error": error} if error else {})}


def _error(observation: JSONObject) -> str:
    code = observation.get("exit_code")
    if code is None:
        code = as_object(observation.get("metadata")).get("exit_code")
    if isinstance(code, int) and code > 0:
        return f"exit code {code}"
    error = observation.get("error")
    if isinstance(error, str) and error:
        return error
    is_failure = observation.get("is_error") is True or error is True
    return (_words(observation.get("content")) or "error") if is_failure else ""


def _state(session: Session, event: JSONObject) -> None:
    if event.get("kind") == "ConversationErrorEvent":
        session.failed = True
        session.metadata["error"] = first_member(event, "detail", "code")
        if facts := {name: event[name] for name in ("code", "classification") if event.get(name)}:
            session.metadata["error_facts"] = facts
        return
    value, key = event.get("value"), event.get("key")
    model = as_object(as_object(as_object(value).get("agent")).get("llm")).get("model")
    session.model = as_text(model) or session.model
    if key == "execution_status":
        session.metadata["execution_status"] = value
        session.failed = value in ("error", "stuck")
    # A later event has the sums of all earlier ones.
    statistics = value if key == "stats" else as_object(value).get("stats")
    if isinstance(statistics, dict):
        session.metadata["stats"] = statistics


def _add_usage(session: Session, answers: dict[str, JSONObject], totals: JSONObject) -> None:
    """Add the tokens of each answer, which the statistics of the session have by response, and the cost of all."""
    statistics = as_object(session.metadata.get("stats"))
    metrics = [as_object(item) for item in as_object(statistics.get("usage_to_metrics")).values()] or [totals]
    for usage in (usage for item in metrics for usage in as_objects(item.get("token_usages"))):
        answer = answers.get(as_text(usage.get("response_id")))
        if answer is not None:
            counts = {name: count for name, count in usage.items() if name not in ("model", "response_id") and count}
            answer["usage"] = {**counts, "cached_tokens": usage.get("cache_read_tokens") or None}
            answer["model"] = usage.get("model")
    costs = [cost for item in metrics if is_number(cost := item.get("accumulated_cost"))]
    session.cost = sum(costs) if costs else None


def _thoughts(source: JSONObject) -> list[JSONValue]:
    blocks = [block for block in as_list(source.get("thinking_blocks")) if as_object(block).get("type") == "thinking"]
    thought = as_text(source.get("reasoning_content"))
    return blocks or ([{"type": "thinking", "thinking": thought}] if thought else [])


def _blocks(content: JSONValue) -> list[JSONValue]:
    """Normalize content blocks; drop the additional fields of the SDK."""
    # Some programs write a whole message, such as `{"role": "system", "content": …}`, in place of its content.
    body = as_object(content).get("content", content)
    values = body if isinstance(body, list) else [body] if body else []
    return [_block(value) for value in values if value not in ("", {}, None)]


def _block(value: JSONValue) -> JSONValue:
    block = as_object(value)
    if isinstance(value, str):
        return {"type": "text", "text": value}
    return {"type": "text", "text": block["text"]} if has_string(block, "text") else value


def _words(content: JSONValue) -> str:
    return "\n".join(
        as_text(as_object(block).get("text")) for block in _blocks(content) if as_object(block).get("text")
    )
