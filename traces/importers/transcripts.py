"""From the messages of a conversation to steps: turns, model calls, tool calls, and the final output."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from traces.importers.calls import Usage, cost_of, model_input, tokens, usage_of
from traces.importers.messages import messages_of, said, tool_call
from traces.importers.problems import BadFile
from traces.importers.reading import first, items, kind, obj, text
from traces.importers.times import instant
from traces.json_types import JSONObject, JSONValue
from traces.recording import RecordedStep
from traces.vocabulary import StepStatus, StepType

_ROOT = "agent"
_MESSAGE_FIELDS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", "i", "ts", "timestamp", "parts",
                             "function_call", "type"})  # fmt: skip
_RESULT_FIELDS = frozenset({"error", "is_error", "retries"})
_COUNTED = frozenset({"prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """One recorded message and its place; `parameters` are those of its own call, beside those of the setting.

    What is said `aside` was put into the conversation by the program: the model is shown it, nobody said it. With
    `anew` the model is shown nothing of what was said before: a summary took its place, or another recording goes on.
    """

    value: JSONValue
    where: str
    aside: bool = False
    anew: bool = False
    parameters: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What holds for every model call of a transcript."""

    model: str = ""
    provider: str = ""
    tools: list[JSONValue] = field(default_factory=list)
    parameters: JSONObject = field(default_factory=dict)
    response_format: JSONValue = None
    system: JSONValue = None
    agent: str = "agent"


@dataclass(kw_only=True)
class _Pending:
    """A tool call that no result answered yet."""

    step: int  # its place among the steps
    call_id: str
    by_user: bool


@dataclass(kw_only=True)
class _Talk:
    """The conversation so far. Messages are shared between the inputs of the model calls, never copied."""

    setting: Setting
    history: list[JSONObject] = field(default_factory=list)
    steps: list[RecordedStep] = field(default_factory=list)
    pending: list[_Pending] = field(default_factory=list)
    turn: int | None = None
    before: datetime | None = None
    number: int = 0  # of the message, from 1: steps are named by it
    user_spoke: bool = False


def steps_of(messages: list[Said], setting: Setting) -> list[RecordedStep]:
    """The steps of a transcript, in order."""
    talk = _Talk(setting=setting)
    _begin_anew(talk)
    talk.steps.append(RecordedStep(key=_ROOT, type=StepType.AGENT, name=setting.agent))
    for talk.number, message in enumerate(messages, 1):
        _add(talk, message)
    _close(talk)
    return talk.steps


def _add(talk: _Talk, given: Said) -> None:
    if not isinstance(given.value, dict):
        raise BadFile(f"a message was expected, not {kind(given.value)}", given.where)
    at = instant(first(given.value, "ts", "timestamp", "created_at"), given.where)
    if given.anew:
        _begin_anew(talk)
    for message in messages_of(given.value):
        match "aside" if given.aside else message["role"]:
            case "user":
                _user(talk, given, message, at)
            case "assistant":
                _assistant(talk, given, message, at)
            case "tool":
                _tool(talk, given, message, at)
            case _:
                talk.history.append(message)
    talk.before = at or talk.before


def _begin_anew(talk: _Talk) -> None:
    """A conversation of which only the system's instructions were said."""
    talk.history = [{**each, "role": "system"} for each in messages_of(talk.setting.system, "system")]


def _user(talk: _Talk, given: Said, message: JSONObject, at: datetime | None) -> None:
    """What a user says opens a turn; a simulated user's own tool calls are no part of the agent's conversation."""
    calls = message.pop("tool_calls", None)
    if message["content"] is not None:
        talk.history.append(message)
        talk.user_spoke = True
        talk.turn = len(talk.steps)
        talk.steps.append(
            RecordedStep(
                key=_key(talk), type=StepType.TURN, name=said(message) or "turn", parent=_ROOT,
                started_at=at, input={"messages": [message]}, attributes=_rest(given.value),
            )
        )  # fmt: skip
    for call in items(calls):
        _called(talk, obj(call), at, by_user=True)


def _assistant(talk: _Talk, given: Said, message: JSONObject, at: datetime | None) -> None:
    """An assistant message that nothing precedes is a greeting: context, not a call."""
    if not talk.history and not talk.user_spoke:
        talk.history.append(message)
        return
    source = obj(given.value)
    usage = _usage(source, given.where)
    model = text(source.get("model")) or talk.setting.model
    talk.steps.append(
        RecordedStep(
            key=_key(talk), type=StepType.MODEL, name=model or "model", parent=_parent(talk), model=model,
            provider=talk.setting.provider, started_at=talk.before if at else None, ended_at=at,
            input=_model_input(talk, given.parameters), output={"message": message}, tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out, tokens_cached=usage.tokens_cached, cost_usd=usage.cost_usd,
            attributes=_unmapped(source),
        )
    )  # fmt: skip
    talk.history.append(message)
    for call in items(message.get("tool_calls")):
        _called(talk, obj(call), at, by_user=False)


def _model_input(talk: _Talk, own: JSONObject) -> JSONObject:
    setting = talk.setting
    given = model_input([], setting.tools, {**setting.parameters, **own}, setting.response_format)
    return {**given, "messages": list(talk.history)}


def _called(talk: _Talk, given: JSONObject, at: datetime | None, *, by_user: bool) -> None:
    call = tool_call(given)
    name, call_id = text(call["name"]), text(call["id"])
    talk.pending.append(_Pending(step=len(talk.steps), call_id=call_id, by_user=by_user))
    talk.steps.append(
        RecordedStep(
            key=_key(talk, call=True), type=StepType.TOOL, name=name or "tool", tool_name=name, call_id=call_id,
            parent=_ROOT if by_user else _parent(talk), started_at=at, input=call["arguments"],
            status=StepStatus.PARTIAL, attributes={"requestor": "user"} if by_user else {},
        )
    )  # fmt: skip


def _tool(talk: _Talk, given: Said, message: JSONObject, at: datetime | None) -> None:
    pending = _answered(talk, message)
    if pending is None or not pending.by_user:
        talk.history.append(message)
    if pending is None:
        return  # a result whose call is not in the transcript is context
    source, step = obj(given.value), talk.steps[pending.step]
    error = _tool_error(source, message)
    rest = {key: item for key, item in _rest(source).items() if key not in _RESULT_FIELDS}
    talk.steps[pending.step] = replace(
        step, output=message["content"], ended_at=at, error=error, status=StepStatus.ERROR if error else StepStatus.OK,
        retries=tokens(source.get("retries"), given.where) or 0, attributes={**step.attributes, **rest},
    )  # fmt: skip


def _answered(talk: _Talk, message: JSONObject) -> _Pending | None:
    """The open call that a result names; without a name the oldest one, as old function calls had no ids."""
    call_id = message.get("tool_call_id")
    for pending in talk.pending:
        if pending.call_id == call_id or (not call_id and not pending.call_id):
            talk.pending.remove(pending)
            return pending
    return None


def _tool_error(source: JSONObject, message: JSONObject) -> str:
    flagged = (
        source.get("error")
        or source.get("is_error")
        or any(
            obj(block).get("is_error") is True and obj(block).get("tool_use_id") == message.get("tool_call_id")
            for block in items(source.get("content"))
        )
    )
    if not flagged:
        return ""
    return flagged if isinstance(flagged, str) else said(message) or "error"


def _usage(source: JSONObject, where: str) -> Usage:
    usage = usage_of(obj(source.get("usage")), f"{where}/usage")
    return replace(usage, cost_usd=cost_of(source.get("cost")) or usage.cost_usd)


def _close(talk: _Talk) -> None:
    """Turns and the agent end with their last step; the last thing said is the run's output."""
    ends: dict[str, datetime] = {}
    answers: dict[str, JSONValue] = {}
    for step in talk.steps:
        for key in (step.parent, _ROOT):
            if key and (ended := step.ended_at or step.started_at):
                ends[key] = max(ends.get(key, ended), ended)
        if step.type is StepType.MODEL and step.parent and isinstance(step.output, dict):
            answers[step.parent] = step.output["message"]
    for at, step in enumerate(talk.steps):
        if step.type is StepType.TURN:
            output = {"message": answers[step.key]} if step.key in answers else None
            talk.steps[at] = replace(step, ended_at=ends.get(step.key), output=output)
    final = _final(talk)
    first_start = next((step.started_at for step in talk.steps if step.started_at), None)
    asked = next((step.input for step in talk.steps if step.type is StepType.TURN), None)
    talk.steps[0] = replace(talk.steps[0], started_at=first_start, ended_at=ends.get(_ROOT), input=asked,
                            output={"text": final} if final else None)  # fmt: skip
    if final:
        talk.steps.append(
            RecordedStep(
                key="output",
                type=StepType.OUTPUT,
                name="output",
                parent=_ROOT,
                started_at=ends.get(_ROOT),
                ended_at=ends.get(_ROOT),
                output={"text": final},
            )
        )


def _final(talk: _Talk) -> str:
    """The last thing that the agent said; where the recording breaks off within a turn, what it said in that turn."""
    answers = [step for step in talk.steps if step.type is StepType.MODEL]
    if any(talk.steps[each.step].parent == _parent(talk) for each in talk.pending if not each.by_user):
        answers = [step for step in answers if step.parent == _parent(talk)]
    words = (said(obj(step.output).get("message")) for step in reversed(answers))
    return next((each for each in words if each), "")


def _parent(talk: _Talk) -> str:
    return _ROOT if talk.turn is None else talk.steps[talk.turn].key


def _key(talk: _Talk, *, call: bool = False) -> str:
    return f"msg-{talk.number}.{len(talk.steps)}" if call else f"msg-{talk.number}"


def _rest(value: JSONValue) -> JSONObject:
    """What a message says besides what every message has."""
    return {key: item for key, item in obj(value).items() if key not in _MESSAGE_FIELDS and item not in (None, [], "")}


def _unmapped(source: JSONObject) -> JSONObject:
    """The rest of an assistant message, without the counts that the step has in fields of its own."""
    usage: JSONObject = {key: item for key, item in obj(source.get("usage")).items() if key not in _COUNTED and item}
    rest = {key: item for key, item in _rest(source).items() if key not in {"usage", "cost", "model"}}
    return {**rest, **({"usage": usage} if usage else {})}
