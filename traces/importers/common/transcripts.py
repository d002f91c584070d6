"""From the messages of a conversation to steps: turns, model calls, tool calls, and the final output."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import cast

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import message_text, normalize_messages, normalize_tool_call
from traces.importers.common.model_calls import (
    Usage,
    model_input,
    normalize_provider,
    normalize_usage,
    parse_cost,
    parse_token_count,
)
from traces.importers.common.times import parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, kind, obj, text
from traces.payloads.conversation import Conversation

_ROOT = "agent"
_MESSAGE_FIELDS = frozenset(
    {"role", "content", "tool_calls", "tool_call_id", "name", "i", "ts", "timestamp", "parts", "function_call", "type"}
)
_TIMES = ("ts", "timestamp", "created_at")
_RESULT_FIELDS = frozenset({"error", "is_error", "retries", "denied"})
_COUNTED = frozenset({"prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"})


@dataclass(frozen=True, kw_only=True, slots=True)
class TextAction:
    """A tool call that the program read out of an answer's text, and its result."""

    name: str
    arguments: JSONValue
    output: JSONValue = None
    error: str = ""
    status: StepStatus = StepStatus.OK
    ended_at: datetime | None = None
    attributes: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class TranscriptMessage:
    """One recorded message and its place; `parameters` are those of its own call, beside those of the setting.

    What is said `aside` was put into the conversation by the program: the model is shown it, nobody said it. With
    `anew` the model is shown nothing of what was said before: a summary took its place, or another recording goes on.
    An answer's `actions` are the calls in its text; `shown` are the messages of its request, where they are recorded.
    """

    value: JSONValue
    location: str
    is_injected: bool = False
    resets_history: bool = False
    parameters: JSONObject = field(default_factory=dict)
    actions: tuple[TextAction, ...] = ()
    request_messages: JSONValue = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TranscriptSettings:
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
    by_user: bool


@dataclass(kw_only=True)
class _Talk:
    """The conversation so far. The inputs of the model calls are its beginnings, never copies."""

    setting: TranscriptSettings
    history: Conversation = field(default_factory=Conversation)
    steps: list[RecordedStep] = field(default_factory=list)
    pending: dict[str, deque[_Pending]] = field(default_factory=lambda: defaultdict(deque))  # by call id, in order
    called: set[str] = field(default_factory=set)  # ids of all calls so far
    orphans: list[JSONValue] = field(default_factory=list)  # ids of results whose calls are not in the transcript
    unread: list[JSONValue] = field(default_factory=list)  # context that no model was shown yet, and no step holds
    forgotten: list[JSONValue] = field(default_factory=list)  # the same, of before a summary took its place
    turn: int | None = None
    before: datetime | None = None
    number: int = 0  # of the message, from 1: steps are named by it
    user_spoke: bool = False


def build_steps(messages: list[TranscriptMessage], setting: TranscriptSettings) -> list[RecordedStep]:
    """The steps of a transcript, in order."""
    talk = _Talk(setting=setting)
    _begin_anew(talk)
    talk.steps.append(RecordedStep(key=_ROOT, type=StepType.AGENT, name=setting.agent))
    for talk.number, message in enumerate(messages, 1):
        _add(talk, message)
    _close(talk)
    return talk.steps


def drop_unreadable(messages: Iterable[TranscriptMessage], skipped: list[BadFile]) -> list[TranscriptMessage]:
    """The messages of a log that may be damaged: without what cannot be read of them, which is added to `skipped`."""
    return [sound for each in messages for sound in _sound(each, skipped)]


def _sound(given: TranscriptMessage, skipped: list[BadFile]) -> Iterator[TranscriptMessage]:
    if not isinstance(given.value, dict):
        skipped.append(BadFile(f"a message was expected, not {kind(given.value)}", given.location))
        return
    checks: dict[str, Callable[[JSONValue], object]] = {
        **{name: lambda value: parse_time(value, given.location) for name in _TIMES},
        "usage": lambda value: normalize_usage(obj(value), f"{given.location}/usage"),
        "retries": lambda value: parse_token_count(value, given.location),
    }
    bad: set[str] = set()
    for name in checks.keys() & given.value.keys():
        try:
            checks[name](given.value[name])
        except BadFile as problem:
            skipped.append(problem)
            bad.add(name)
    kept = {name: value for name, value in given.value.items() if name not in bad}
    yield replace(given, value=kept) if bad else given


def replace_output(steps: list[RecordedStep], output_text: str) -> list[RecordedStep]:
    """What was handed in is the run's output, whatever the model said last."""
    if not output_text.strip():
        return steps
    output: JSONObject = {"text": output_text}
    kept = [step for step in steps if step.type is not StepType.OUTPUT]
    root = replace(kept[0], output=output)
    ended = root.ended_at
    final = RecordedStep(
        key="output",
        type=StepType.OUTPUT,
        name="output",
        parent=root.key,
        started_at=ended,
        ended_at=ended,
        output=output,
    )
    return [root, *kept[1:], final]


def _add(talk: _Talk, given: TranscriptMessage) -> None:
    if not isinstance(given.value, dict):
        raise BadFile(f"a message was expected, not {kind(given.value)}", given.location)
    at = parse_time(first(given.value, *_TIMES), given.location)
    if given.resets_history:
        talk.forgotten += talk.unread
        talk.unread = []
        _begin_anew(talk)
    for message in normalize_messages(given.value):
        match "aside" if given.is_injected else message["role"]:
            case "user":
                _user(talk, given, message, at)
            case "assistant":
                _assistant(talk, given, message, at)
            case "tool":
                _tool(talk, given, message, at)
            case _:
                _context(talk, message)
    talk.before = at or talk.before


def _context(talk: _Talk, message: JSONObject) -> None:
    """What the next model call is shown, and no step of its own tells."""
    talk.history.append(message)
    talk.unread.append(message)


def _begin_anew(talk: _Talk) -> None:
    """A conversation of which only the system's instructions were said."""
    talk.history = Conversation(
        [{**each, "role": "system"} for each in normalize_messages(talk.setting.system, "system")]
    )


def _user(talk: _Talk, given: TranscriptMessage, message: JSONObject, at: datetime | None) -> None:
    """What a user says opens a turn; a simulated user's own tool calls are no part of the agent's conversation."""
    calls = message.pop("tool_calls", None)
    if message["content"] is not None:
        talk.history.append(message)
        talk.user_spoke = True
        talk.turn = len(talk.steps)
        talk.steps.append(
            RecordedStep(
                key=_key(talk),
                type=StepType.TURN,
                name=message_text(message) or "turn",
                parent=_ROOT,
                started_at=at,
                input={"messages": [message]},
                attributes=_rest(given.value),
            )
        )
    for call in items(calls):
        _called(talk, obj(call), at, by_user=True)


def _assistant(talk: _Talk, given: TranscriptMessage, message: JSONObject, at: datetime | None) -> None:
    """An assistant message that nothing precedes is a greeting: context, not a call."""
    acts = given.actions or message.get("tool_calls")
    if not talk.history and not talk.user_spoke and not acts and given.request_messages is None:
        _context(talk, message)
        return
    source = obj(given.value)
    usage = _usage(source, given.location)
    model = text(source.get("model")) or talk.setting.model
    provider = talk.setting.provider or normalize_provider(None, model.rpartition("/")[2])
    talk.steps.append(
        RecordedStep(
            key=_key(talk),
            type=StepType.MODEL,
            name=model or "model",
            parent=_parent(talk),
            model=model,
            provider=provider,
            started_at=talk.before if at else None,
            ended_at=at,
            input=_model_input(talk, given),
            output={"message": message},
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            tokens_cached=usage.tokens_cached,
            cost_usd=usage.cost_usd,
            attributes=_unmapped(source),
        )
    )
    talk.history.append(message)
    talk.unread = []
    for call in items(message.get("tool_calls")):
        _called(talk, obj(call), at, by_user=False)
    for action in given.actions:
        _acted(talk, action, at)


def _model_input(talk: _Talk, given: TranscriptMessage) -> JSONObject:
    setting = talk.setting
    request = model_input([], setting.tools, {**setting.parameters, **given.parameters}, setting.response_format)
    shown = talk.history.so_far if given.request_messages is None else list(normalize_messages(given.request_messages))
    return {**request, "messages": cast(JSONValue, shown)}


def _acted(talk: _Talk, action: TextAction, at: datetime | None) -> None:
    """The step of a call in an answer's text; it links to the answer, as no call id does."""
    step = RecordedStep(
        key=_key(talk, call=True),
        type=StepType.TOOL,
        name=action.name or "tool",
        tool_name=action.name,
        parent=_parent(talk),
        links=(_key(talk),),
        started_at=at,
        ended_at=action.ended_at,
        input=action.arguments,
        output=action.output,
        error=action.error,
        status=action.status,
        attributes=action.attributes,
    )
    talk.steps.append(step)


def _called(talk: _Talk, given: JSONObject, at: datetime | None, *, by_user: bool) -> None:
    call = normalize_tool_call(given)
    name, call_id = text(call["name"]), text(call["id"])
    talk.called.add(call_id)
    talk.pending[call_id].append(_Pending(step=len(talk.steps), by_user=by_user))
    talk.steps.append(
        RecordedStep(
            key=_key(talk, call=True),
            type=StepType.TOOL,
            name=name or "tool",
            tool_name=name,
            call_id=call_id,
            parent=_ROOT if by_user else _parent(talk),
            started_at=at,
            input=call["arguments"],
            status=StepStatus.PARTIAL,
            attributes={"requestor": "user"} if by_user else {},
        )
    )


def _tool(talk: _Talk, given: TranscriptMessage, message: JSONObject, at: datetime | None) -> None:
    pending = _answered(talk, message)
    if pending is None:
        # A transcript that was cut or compacted has results without their calls: they are context, and noted.
        _context(talk, message)
        if message.get("tool_call_id") not in talk.called:
            talk.orphans.append(message.get("tool_call_id", ""))
        return
    if not pending.by_user:
        talk.history.append(message)
    source, step = obj(given.value), talk.steps[pending.step]
    error = _tool_error(source, message)
    denied = source.get("denied") is True
    status = StepStatus.DENIED if denied else StepStatus.ERROR if error else StepStatus.OK
    rest = {key: item for key, item in _rest(source).items() if key not in _RESULT_FIELDS}
    talk.steps[pending.step] = replace(
        step,
        output=message["content"],
        ended_at=at,
        error=error,
        status=status,
        retries=parse_token_count(source.get("retries"), given.location) or 0,
        attributes={**step.attributes, **rest},
    )


def _answered(talk: _Talk, message: JSONObject) -> _Pending | None:
    """The open call that a result names; without a name the oldest one, as old function calls had no ids."""
    waiting = talk.pending.get(text(message.get("tool_call_id")))
    return waiting.popleft() if waiting else None


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
    return flagged if isinstance(flagged, str) else message_text(message) or "error"


def _usage(source: JSONObject, where: str) -> Usage:
    usage = normalize_usage(obj(source.get("usage")), f"{where}/usage")
    return replace(usage, cost_usd=parse_cost(source.get("cost")) or usage.cost_usd)


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
    unread = [*talk.forgotten, *talk.unread]
    noted: JSONObject = {
        **({"results_without_calls": talk.orphans} if talk.orphans else {}),
        **({"unread_messages": unread} if unread else {}),
    }
    talk.steps[0] = replace(
        talk.steps[0],
        started_at=first_start,
        ended_at=ends.get(_ROOT),
        input=asked,
        output={"text": final} if final else None,
        attributes=noted,
    )
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
    pending = chain.from_iterable(talk.pending.values())
    if any(talk.steps[each.step].parent == _parent(talk) for each in pending if not each.by_user):
        answers = [step for step in answers if step.parent == _parent(talk)]
    words = (message_text(obj(step.output).get("message")) for step in reversed(answers))
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
