"""Hook points of a replay: where hooks are called, and how their decisions affect loops. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from replay.core.calls import Answer, Call, label_key
from replay.core.hooks import AppendContext, Deny, Hooks, ModifyArgs, Outcome, Stop, SystemMessage
from replay.core.values.json_output import as_json
from replay.detection.agent_loops import LoopKey
from replay.state.rebuilt_messages import RebuiltMessages
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import HookEvent, Label, Reason, StepStatus
from traces.payloads.messages import ModelAnswer

_PREFIX: Final = "[Forkpoint] "
_FAILURE_STATUSES: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT, StepStatus.DENIED})


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Decision of hooks before a tool call: other arguments or a denial; `detail` names the hook."""

    arguments: JSONValue
    denial: str | None = None
    detail: JSONObject

    def denial_answer(self) -> Answer | None:
        if self.denial is None:
            return None
        return Answer(
            action="blocked",
            label=Label.SIMULATED,
            reason=Reason.DENIED,
            output=self.denial,
            status=StepStatus.DENIED,
            detail={**label_key(), **self.detail},
            note=self.denial.removeprefix(_PREFIX),
        )

    def annotate(self, answer: Answer) -> Answer:
        """Add the hook's detail to an answer."""
        return replace(answer, detail={**answer.detail, **self.detail}) if self.detail else answer


@dataclass(frozen=True, kw_only=True)
class HookMessage:
    """A message that a hook adds to the next model request of a loop."""

    message: JSONObject
    hook: str
    action: str


@dataclass
class _Turn:
    loop: LoopKey
    number: int
    call: Call | None = None
    answer: Answer | None = None


class HookPoints:
    """Calls the hooks of one replay; turns form a stack, because an agent's tool can be an agent with its own turns."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.active = hooks.active
        self.stops: dict[LoopKey, Outcome] = {}
        self._pending: dict[LoopKey, list[HookMessage]] = {}
        # Messages for the first model request of any loop.
        self._start_messages: list[HookMessage] = []
        self._start_stop: Outcome | None = None
        self._open_turns: list[_Turn] = []
        self._last_turn_numbers: dict[LoopKey, int] = {}

    def apply_start_outcome(self, outcome: Outcome) -> None:
        """Apply a hook's decision about the agent's start to the first model step that is resolved."""
        if isinstance(outcome.decision, Stop):
            self._start_stop = outcome
        else:
            self._start_messages += _hook_messages(outcome)

    def start_turn(self, loop: LoopKey, number: int, step: int) -> None:
        """Start a turn before a model call; `number` counts the loop's model calls from 0."""
        if not self.active:
            return
        if self._start_stop is not None:
            self.stops[loop], self._start_stop = self._start_stop, None
            return
        number = max(number, self._last_turn_numbers.get(loop, -1) + 1)
        self._last_turn_numbers[loop] = number
        outcome = self.hooks.fire(HookEvent.TURN_START, {"turn": number}, step=step)
        self._open_turns.append(_Turn(loop=loop, number=number))
        self._apply(loop, outcome)
        if loop in self.stops:
            self.end_turn(step - 1)

    def record_model_answer(self, call: Call, answer: Answer) -> None:
        """Record the model's answer in the innermost turn."""
        if self._open_turns:
            self._open_turns[-1].call, self._open_turns[-1].answer = call, answer

    def end_turn(self, step: int) -> None:
        """End the innermost turn; `step` is the latest step of the derived run."""
        if not self._open_turns:
            return
        turn = self._open_turns.pop()
        outcome = self.hooks.fire(HookEvent.TURN_END, {"turn": turn.number, **_model_usage(turn)}, step=step)
        self._apply(turn.loop, outcome)

    @property
    def turn(self) -> LoopKey | None:
        """Loop of the innermost open turn; None if no turn is open."""
        return self._open_turns[-1].loop if self._open_turns else None

    def before_tool(self, step: int, tool: str, arguments: JSONValue, call_id: str) -> Verdict:
        """Call the hooks before a tool call."""
        verdict = Verdict(arguments=arguments, detail={})
        if not self.active:
            return verdict
        payload: JSONObject = {"tool_name": tool, "args": arguments, "tool_use_id": call_id}
        outcome = self.hooks.fire(HookEvent.PRE_TOOL_USE, payload, step=step)
        match outcome.decision:
            case Deny(message=message):
                reason_text = f": {message}" if message else ""
                denial = f"{_PREFIX}Tool '{tool}' was denied by the hook '{outcome.hook}'{reason_text}"
                detail: JSONObject = {"hook": {"name": outcome.hook, "action": "deny", "message": message}}
                return Verdict(arguments=arguments, denial=denial, detail=detail)
            case ModifyArgs(args=new_arguments) if new_arguments != arguments:
                detail = {"hook": {"name": outcome.hook, "action": "modify_args", "asked": arguments}}
                return Verdict(arguments=new_arguments, detail=detail)
            case _:
                return verdict

    def after_tool(self, loop: LoopKey, call: Call, answer: Answer) -> None:
        """Report the end of a tool call: `post_tool_use` on success, `post_tool_use_failure` on failure."""
        if not self.active:
            return
        payload: JSONObject = {"tool_name": call.callee, "args": call.input}
        if answer.status in _FAILURE_STATUSES:
            error = answer.error or answer.output or str(answer.status)
            payload |= {"error": _error_text(error)}
            event = HookEvent.POST_TOOL_USE_FAILURE
        else:
            payload |= {"result": answer.output}
            event = HookEvent.POST_TOOL_USE
        self._apply(loop, self.hooks.fire(event, {**payload, "tool_use_id": call.call_id}, step=call.no))

    def affects_next_step(self, loop: LoopKey, *, model: bool) -> bool:
        """True if a hook stopped this loop or added messages to its next model request."""
        return (model and loop in self._pending) or loop in self.stops

    def take_messages(self, loop: LoopKey) -> list[HookMessage]:
        """Take the messages that hooks added to the request under construction."""
        start_messages, self._start_messages = self._start_messages, []
        return [*start_messages, *self._pending.pop(loop, ())]

    def _apply(self, loop: LoopKey, outcome: Outcome) -> None:
        if isinstance(outcome.decision, Stop):
            self.stops.setdefault(loop, outcome)
        elif messages := _hook_messages(outcome):
            self._pending.setdefault(loop, []).extend(messages)


def stop_text(outcome: Outcome) -> str:
    reason = outcome.decision.reason if isinstance(outcome.decision, Stop) else ""
    return f"The hook '{outcome.hook}' stopped the agent{f': {reason}' if reason else ''}"


def stop_answer(outcome: Outcome) -> Answer:
    """Last answer of a loop that a hook stopped."""
    text = f"{_PREFIX}{stop_text(outcome)}"
    return Answer(
        action="blocked",
        label=Label.SIMULATED,
        reason=Reason.STOPPED,
        detail=label_key(),
        note=stop_text(outcome),
        output={"message": {"role": "assistant", "content": text}, "finish_reason": "stopped"},
    )


def error_answer(error: str) -> Answer:
    """Answer of a tool call whose failure ends the replay."""
    return Answer(action="live", label=Label.SIMULATED, reason=Reason.LIVE_TOOL, status=StepStatus.ERROR, error=error)


def with_messages(history: RebuiltMessages, hook_messages: Iterable[HookMessage]) -> RebuiltMessages:
    """Append hook messages to the messages, so that later requests of the conversation contain them."""
    messages: list[JSONValue] = [message.message for message in hook_messages]
    if not messages:
        return history
    return history.extend(lambda slots: [*slots[:-1], [*slots[-1], *messages]] if slots else [messages])


def with_hook_detail(answer: Answer, hook_messages: Iterable[HookMessage]) -> Answer:
    """Record the hook messages of a request, with their hooks, in the answer's detail."""
    entries: list[JSONValue] = [
        {"name": message.hook, "action": message.action, "text": message.message["content"]}
        for message in hook_messages
    ]
    return replace(answer, detail={**answer.detail, "hooks": entries}) if entries else answer


def _hook_messages(outcome: Outcome) -> list[HookMessage]:
    match outcome.decision:
        case SystemMessage(text=text, action=action):
            return [HookMessage(message={"role": "system", "content": text}, hook=outcome.hook, action=action)]
        case AppendContext(text=text, action=action):
            return [HookMessage(message={"role": "user", "content": text}, hook=outcome.hook, action=action)]
        case _:
            return []


def _model_usage(turn: _Turn) -> JSONObject:
    """Model, usage and cost of a turn, which Krabs's own events omit."""
    call, answer = turn.call, turn.answer
    if call is None or answer is None:
        return {}
    output = as_object(answer.output)
    return {
        "model": call.model,
        "provider": call.provider,
        "label": answer.label,
        "reason": answer.reason,
        "tokens_in": answer.tokens_in,
        "tokens_out": answer.tokens_out,
        "tokens_cached": answer.tokens_cached,
        "cost_usd": None if answer.cost_usd is None else float(answer.cost_usd),
        "duration_ms": answer.duration_ms,
        "finish_reason": output.get("finish_reason"),
        "tool_calls": len(ModelAnswer(answer.output).calls),
        # No call is attempted for an answer from the recording or from the operator.
        "attempts": answer.retries + 1 if answer.action == "live" else 0,
        "step": call.no,
    }


def _error_text(value: JSONValue) -> str:
    """Error as text: the tool's own message if it has one."""
    text = value.get("error") if isinstance(value, dict) else value
    return text if isinstance(text, str) else as_json(value).decode()
