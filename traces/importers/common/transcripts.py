"""Steps of a transcript between users and one agent: turns, model calls, tool calls, final output."""

from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import cast

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, omit, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import message_text, normalize_messages, normalize_tool_call
from traces.importers.common.model_calls import (
    model_input,
    normalize_finish_reason,
    normalize_provider,
    normalize_usage,
    parse_cost,
    parse_token_count,
)
from traces.importers.common.run_builder import AGENT_KEY, OUTPUT_KEY
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import (
    REASONS,
    TIME_FIELDS,
    TextAction,
    TranscriptMessage,
    TranscriptSettings,
    answer_error,
    call_fields,
    extra_fields,
    extra_model_fields,
    has_failed_result,
    result_fields,
    server_calls,
)
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import kind
from traces.payloads.conversation import Conversation

_ROOT = AGENT_KEY
_RESULT_FIELDS = frozenset({"error", "is_error", "retries", "denied"})


@dataclass(kw_only=True)
class _PendingCall:
    """A tool call without a result so far."""

    step_index: int
    is_user_call: bool


@dataclass(kw_only=True)
class _Progress:
    """The conversation so far. Inputs of model calls are prefixes of `history`, never copies."""

    settings: TranscriptSettings
    history: Conversation = field(default_factory=Conversation)
    steps: list[RecordedStep] = field(default_factory=list)
    # Queues by call id; calls without an id share one.
    pending: dict[str, deque[_PendingCall]] = field(default_factory=lambda: defaultdict(deque))
    # Ids of all calls so far.
    call_ids: set[str] = field(default_factory=set)
    # What states results whose calls are not in the transcript, without their contents, which are messages.
    orphans: list[JSONValue] = field(default_factory=list)
    # Context messages that are in no step and no model input so far.
    unread_context: list[JSONValue] = field(default_factory=list)
    # What context messages state beside their contents: they have no step. Repeated messages have it once.
    context_fields: dict[str, JSONValue] = field(default_factory=dict)
    # Unread context that a reset of the history discarded.
    discarded_context: list[JSONValue] = field(default_factory=list)
    turn_index: int | None = None
    previous_time: datetime | None = None
    # Number of the message, from 1; step keys contain it.
    number: int = 0
    has_user_message: bool = False


def build_steps(entries: list[TranscriptMessage], settings: TranscriptSettings) -> list[RecordedStep]:
    """Build the steps of a transcript, in order."""
    state = _Progress(settings=settings)
    _reset_history(state)
    state.steps.append(RecordedStep(key=_ROOT, type=StepType.AGENT, name=settings.agent))
    for state.number, entry in enumerate(entries, 1):
        _add_entry(state, entry)
    _end_containers(state)
    return state.steps


def replace_output(steps: list[RecordedStep], output_text: str) -> list[RecordedStep]:
    """Make `output_text` the run's output instead of the last answer; an empty text changes nothing."""
    if not output_text.strip():
        return steps
    output: JSONObject = {"text": output_text}
    other_steps = [step for step in steps if step.type is not StepType.OUTPUT]
    root = replace(other_steps[0], output=output)
    end = root.ended_at
    final = RecordedStep(
        key=OUTPUT_KEY,
        type=StepType.OUTPUT,
        name="output",
        parent=root.key,
        started_at=end,
        ended_at=end,
        output=output,
    )
    return [root, *other_steps[1:], final]


def _add_entry(state: _Progress, entry: TranscriptMessage) -> None:
    if not isinstance(entry.value, dict):
        raise BadFile(f"expected a message, got {kind(entry.value)}", entry.location)
    time = parse_time(first_member(entry.value, *TIME_FIELDS), entry.location)
    if entry.resets_history:
        state.discarded_context += state.unread_context
        state.unread_context = []
        _reset_history(state)
    for message in normalize_messages(entry.value):
        match "injected" if entry.is_injected else message["role"]:
            case "user":
                _add_user_turn(state, entry, message, time)
            case "assistant":
                _add_model_step(state, entry, message, time)
            case "tool":
                _record_result(state, entry, message, time)
            case _:
                _add_context(state, message, extra_fields(entry.value))
    state.previous_time = time or state.previous_time


def _add_context(state: _Progress, message: JSONObject, fields: JSONObject) -> None:
    """Add a message that is part of later model inputs and gets no step."""
    state.history.append(message)
    if fields:
        state.context_fields[text_or_json(fields)] = {"role": message["role"], **fields}
    state.unread_context.append(message)


def _reset_history(state: _Progress) -> None:
    """Start a history that contains only the system instructions."""
    state.history = Conversation(
        [{**message, "role": "system"} for message in normalize_messages(state.settings.system, "system")]
    )


def _add_user_turn(state: _Progress, entry: TranscriptMessage, message: JSONObject, time: datetime | None) -> None:
    """Open a turn. Tool calls of a simulated user become steps and stay out of the agent's history."""
    calls = as_list(message.pop("tool_calls", None))
    if message["content"] is not None:
        state.history.append(message)
        state.has_user_message = True
        state.turn_index = len(state.steps)
        state.steps.append(
            RecordedStep(
                key=_step_key(state),
                type=StepType.TURN,
                name=message_text(message) or "turn",
                parent=_ROOT,
                started_at=time,
                input={"messages": [message]},
                attributes=extra_fields(entry.value),
            )
        )
    # Without a turn, its first call has the fields of the message.
    fields = extra_fields(entry.value) if message["content"] is None else {}
    for call in calls:
        _add_tool_call(state, as_object(call), time, {"requestor": "user", **fields}, is_user_call=True)
        fields = {}


def _add_model_step(state: _Progress, entry: TranscriptMessage, message: JSONObject, time: datetime | None) -> None:
    """Add a model step. A first message by the assistant is a greeting, thus context and not a model call."""
    acts = entry.actions or message.get("tool_calls")
    if not state.history and not state.has_user_message and not acts and entry.request_messages is None:
        _add_context(state, message, extra_fields(entry.value))
        return
    # Haystack writes the facts of an answer in `meta`.
    source = {**as_object(as_object(entry.value).get("meta")), **as_object(entry.value)}
    usage = normalize_usage(as_object(source.get("usage")), f"{entry.location}/usage")
    model = as_text(source.get("model")) or state.settings.model
    provider = state.settings.provider or normalize_provider(None, model.rpartition("/")[2])
    error = answer_error(source, message)
    # A call that failed has no answer, or a text about its failure.
    is_answered = message["content"] is not None or bool(acts) or not error
    state.steps.append(
        RecordedStep(
            key=_step_key(state),
            type=StepType.MODEL,
            name=model or "model",
            parent=_parent_key(state),
            model=model,
            provider=provider,
            started_at=entry.started_at or (state.previous_time if time else None),
            ended_at=time,
            input=_request(state, entry),
            output=_answer(source, message) if is_answered else None,
            status=StepStatus.ERROR if error else StepStatus.OK,
            error=error,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            tokens_cached=usage.tokens_cached,
            cost_usd=parse_cost(source.get("cost")) or usage.cost_usd,
            retries=parse_token_count(source.get("retries"), entry.location) or 0,
            attributes=extra_model_fields(source),
        )
    )
    if is_answered:
        state.history.append(message)
    _drop_read_context(state, entry)
    fields = call_fields(entry.value) if message.get("tool_calls") else {}
    for call in as_objects(message.get("tool_calls")):
        _add_tool_call(state, call, time, fields.get(as_text(call["id"]), {}))
    for action in (*entry.actions, *server_calls(message["content"])):
        _add_text_action(state, action, time)


def _drop_read_context(state: _Progress, entry: TranscriptMessage) -> None:
    """Drop the context that the request of an answer contains: all of it, unless the request was recorded."""
    if entry.request_messages is None or not state.unread_context:
        state.unread_context = []
        return
    texts = {text_or_json(message) for message in normalize_messages(entry.request_messages)}
    state.unread_context = [message for message in state.unread_context if text_or_json(message) not in texts]


def _answer(source: JSONObject, message: JSONObject) -> JSONObject:
    """Return the output of a model step."""
    reason = as_text(first_member(source, *REASONS))
    return {"message": message, **({"finish_reason": normalize_finish_reason(reason)} if reason else {})}


def _request(state: _Progress, entry: TranscriptMessage) -> JSONObject:
    settings = state.settings
    parameters = {**settings.parameters, **entry.parameters}
    request = model_input([], settings.tools, parameters, settings.response_format)
    messages = (
        state.history.snapshot if entry.request_messages is None else [*normalize_messages(entry.request_messages)]
    )
    return {**request, "messages": cast(JSONValue, messages)}


def _add_text_action(state: _Progress, action: TextAction, time: datetime | None) -> None:
    """Add the step of a call in an answer's text; without a call id, it links to the answer's step."""
    state.steps.append(
        RecordedStep(
            key=_step_key(state, call=True),
            type=StepType.TOOL,
            name=action.name or "tool",
            tool_name=action.name,
            parent=_parent_key(state),
            links=(_step_key(state),),
            started_at=time,
            ended_at=action.ended_at,
            input=action.arguments,
            output=action.output,
            error=action.error,
            status=action.status,
            attributes=action.attributes,
        )
    )


def _add_tool_call(
    state: _Progress,
    raw_call: JSONObject,
    time: datetime | None,
    attributes: JSONObject,
    *,
    is_user_call: bool = False,
) -> None:
    """Add the step of a call."""
    call = normalize_tool_call(raw_call)
    name, call_id = as_text(call["name"]), as_text(call["id"])
    state.call_ids.add(call_id)
    state.pending[call_id].append(_PendingCall(step_index=len(state.steps), is_user_call=is_user_call))
    state.steps.append(
        RecordedStep(
            key=_step_key(state, call=True),
            type=StepType.TOOL,
            name=name or "tool",
            tool_name=name,
            call_id=call_id,
            parent=_ROOT if is_user_call else _parent_key(state),
            started_at=time,
            input=call["arguments"],
            status=StepStatus.PARTIAL,
            attributes=attributes,
        )
    )


def _record_result(state: _Progress, entry: TranscriptMessage, message: JSONObject, time: datetime | None) -> None:
    pending = _take_pending_call(state, message)
    if pending is None:
        # Truncated or compacted transcripts contain results without their calls.
        _add_context(state, message, {})
        if message.get("tool_call_id") not in state.call_ids:
            state.orphans.append({**extra_fields(entry.value), **omit(message, "role", "content")})
        return
    if not pending.is_user_call:
        state.history.append(message)
    source, step = as_object(entry.value), state.steps[pending.step_index]
    error = _tool_error(source, message)
    is_denied = source.get("denied") is True
    status = StepStatus.DENIED if is_denied else StepStatus.ERROR if error else StepStatus.OK
    fields = {key: item for key, item in extra_fields(source).items() if key not in _RESULT_FIELDS}
    fields |= result_fields(source, message.get("tool_call_id"))
    state.steps[pending.step_index] = replace(
        step,
        output=message["content"],
        ended_at=time,
        error=error,
        status=status,
        retries=parse_token_count(source.get("retries"), entry.location) or 0,
        attributes={**step.attributes, **fields},
    )


def _take_pending_call(state: _Progress, message: JSONObject) -> _PendingCall | None:
    """Remove and return the pending call with the result's id, or the oldest call if neither has an id."""
    queue = state.pending.get(as_text(message.get("tool_call_id")))
    return queue.popleft() if queue else None


def _tool_error(source: JSONObject, message: JSONObject) -> str:
    error = (
        source.get("error")
        or source.get("is_error")
        or has_failed_result(source.get("content"), message.get("tool_call_id"))
    )
    if not error:
        return ""
    return error if isinstance(error, str) else message_text(message) or "error"


def _end_containers(state: _Progress) -> None:
    """End turns and the agent with their last step; the final answer becomes the output."""
    ends: dict[str, datetime] = {}
    answers: dict[str, JSONValue] = {}
    for step in state.steps:
        for key in (step.parent, _ROOT):
            if key and (end := step.ended_at or step.started_at):
                ends[key] = max(ends.get(key, end), end)
        if step.type is StepType.MODEL and step.parent and isinstance(step.output, dict):
            answers[step.parent] = step.output["message"]
    for index, step in enumerate(state.steps):
        if step.type is StepType.TURN:
            output = {"message": answers[step.key]} if step.key in answers else None
            state.steps[index] = replace(step, ended_at=ends.get(step.key), output=output)
    final = _final_answer(state)
    first_start = next((step.started_at for step in state.steps if step.started_at), None)
    request = next((step.input for step in state.steps if step.type is StepType.TURN), None)
    unread_messages = [*state.discarded_context, *state.unread_context]
    notes: JSONObject = {
        **({"context_messages": [*state.context_fields.values()]} if state.context_fields else {}),
        **({"results_without_calls": state.orphans} if state.orphans else {}),
        **({"unread_messages": unread_messages} if unread_messages else {}),
    }
    state.steps[0] = replace(
        state.steps[0],
        started_at=first_start,
        ended_at=ends.get(_ROOT),
        input=request,
        output={"text": final} if final else None,
        attributes=notes,
    )
    if final:
        state.steps.append(
            RecordedStep(
                key=OUTPUT_KEY,
                type=StepType.OUTPUT,
                name="output",
                parent=_ROOT,
                started_at=ends.get(_ROOT),
                ended_at=ends.get(_ROOT),
                output={"text": final},
            )
        )


def _final_answer(state: _Progress) -> str:
    """Return the agent's last text; if the last turn has calls without results or answer, only from that turn."""
    answers = [step for step in state.steps if step.type is StepType.MODEL]
    pending = [
        state.steps[call.step_index] for call in chain.from_iterable(state.pending.values()) if not call.is_user_call
    ]
    failed = [step for step in answers[-1:] if step.output is None]
    if any(step.parent == _parent_key(state) for step in (*pending, *failed)):
        answers = [step for step in answers if step.parent == _parent_key(state)]
    texts = (message_text(as_object(step.output).get("message")) for step in reversed(answers))
    return next((answer for answer in texts if answer), "")


def _parent_key(state: _Progress) -> str:
    return _ROOT if state.turn_index is None else state.steps[state.turn_index].key


def _step_key(state: _Progress, *, call: bool = False) -> str:
    return f"msg-{state.number}.{len(state.steps)}" if call else f"msg-{state.number}"
