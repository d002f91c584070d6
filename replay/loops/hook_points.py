"""The points of a walk at which hooks are asked, and what they made of its loops. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from replay.core.calls import Answer, Call, label_key
from replay.core.hooks import AppendContext, Deny, Hooks, ModifyArgs, Outcome, Stop, SystemMessage
from replay.detection.agent_loops import LoopKey
from replay.inputs.rebuilt_inputs import Slots
from traces.core.json_output import as_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import HookEvent, Label, Reason, StepStatus
from traces.payloads.messages import ModelAnswer

_FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT, StepStatus.DENIED})


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What hooks say before a tool call: other arguments, or an answer in its place; `detail` names the hook."""

    arguments: JSONValue
    denial: str | None = None
    detail: JSONObject

    def denied(self) -> Answer | None:
        if self.denial is None:
            return None
        return Answer(
            action="blocked",
            label=Label.SIMULATED,
            reason=Reason.DENIED,
            output=self.denial,
            status=StepStatus.DENIED,
            detail={**label_key(), **self.detail},
            note=self.denial.removeprefix(_SAYS),
        )

    def on(self, answer: Answer) -> Answer:
        """The answer, with what hooks had to do with it."""
        return replace(answer, detail={**answer.detail, **self.detail}) if self.detail else answer


@dataclass(frozen=True, kw_only=True)
class HookMessage:
    """A message that a hook puts into the next model request of a loop."""

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
    """Where one walk asks. Turns are told in a stack, because an agent's tool can be an agent with turns of its own.

    A loop is named by what holds it in the source run, and by the conversation that it is.
    """

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.active = hooks.active
        self.stops: dict[LoopKey, Outcome] = {}
        self._waiting: dict[LoopKey, list[HookMessage]] = {}
        # For the first model request, whatever its loop
        self._early: list[HookMessage] = []
        self._early_stop: Outcome | None = None
        self._open: list[_Turn] = []
        self._turns: dict[LoopKey, int] = {}

    def heed_start(self, outcome: Outcome) -> None:
        """What a hook said to the agent's start waits for the first model step that is resolved anew."""
        if isinstance(outcome.decision, Stop):
            self._early_stop = outcome
        else:
            self._early += _added(outcome)

    def turn_started(self, loop: LoopKey, number: int, step: int) -> None:
        """A model is about to be asked; `number` counts the loop's model calls from 0."""
        if not self.active:
            return
        if self._early_stop is not None:
            self.stops[loop], self._early_stop = self._early_stop, None
            return
        number = max(number, self._turns.get(loop, -1) + 1)
        self._turns[loop] = number
        outcome = self.hooks.fire(HookEvent.TURN_START, {"turn": number}, step=step)
        self._open.append(_Turn(loop=loop, number=number))
        self._heed(loop, outcome)
        if loop in self.stops:
            self.turn_ended(step - 1)

    def answered(self, call: Call, answer: Answer) -> None:
        """The model of the innermost turn has answered."""
        if self._open:
            self._open[-1].call, self._open[-1].answer = call, answer

    def turn_ended(self, step: int) -> None:
        """The innermost turn is over; `step` is the last one of the derived run so far."""
        if not self._open:
            return
        turn = self._open.pop()
        outcome = self.hooks.fire(HookEvent.TURN_END, {"turn": turn.number, **_llm(turn)}, step=step)
        self._heed(turn.loop, outcome)

    @property
    def turn(self) -> LoopKey | None:
        """The loop of the innermost open turn; None when none is open."""
        return self._open[-1].loop if self._open else None

    def before_tool(self, step: int, tool: str, arguments: JSONValue, call_id: str) -> Verdict:
        verdict = Verdict(arguments=arguments, detail={})
        if not self.active:
            return verdict
        payload: JSONObject = {"tool_name": tool, "args": arguments, "tool_use_id": call_id}
        outcome = self.hooks.fire(HookEvent.PRE_TOOL_USE, payload, step=step)
        match outcome.decision:
            case Deny(message=message):
                why = f": {message}" if message else ""
                said = f"{_SAYS}Tool '{tool}' was denied by the hook '{outcome.hook}'{why}"
                detail: JSONObject = {"hook": {"name": outcome.hook, "action": "deny", "message": message}}
                return Verdict(arguments=arguments, denial=said, detail=detail)
            case ModifyArgs(args=changed) if changed != arguments:
                detail = {"hook": {"name": outcome.hook, "action": "modify_args", "asked": arguments}}
                return Verdict(arguments=changed, detail=detail)
            case _:
                return verdict

    def after_tool(self, loop: LoopKey, call: Call, answer: Answer) -> None:
        """Tell how a tool call ended: `post_tool_use` where it succeeded, else the failure alone."""
        if not self.active:
            return
        payload: JSONObject = {"tool_name": call.callee, "args": call.input}
        if answer.status in _FAILED:
            error = answer.error or answer.output or str(answer.status)
            payload |= {"error": _text(error)}
            event = HookEvent.POST_TOOL_USE_FAILURE
        else:
            payload |= {"result": answer.output}
            event = HookEvent.POST_TOOL_USE
        self._heed(loop, self.hooks.fire(event, {**payload, "tool_use_id": call.call_id}, step=call.no))

    def waits(self, loop: LoopKey, *, model: bool) -> bool:
        """Whether something was said to this loop's next model request, or the loop was stopped."""
        return (model and loop in self._waiting) or loop in self.stops

    def take(self, loop: LoopKey) -> list[HookMessage]:
        """What hooks put into the request that is about to be made."""
        early, self._early = self._early, []
        return [*early, *self._waiting.pop(loop, ())]

    def _heed(self, loop: LoopKey, outcome: Outcome) -> None:
        if isinstance(outcome.decision, Stop):
            self.stops.setdefault(loop, outcome)
        elif added := _added(outcome):
            self._waiting.setdefault(loop, []).extend(added)


def stop_text(outcome: Outcome) -> str:
    reason = outcome.decision.reason if isinstance(outcome.decision, Stop) else ""
    return f"The hook '{outcome.hook}' stopped the agent{f': {reason}' if reason else ''}"


def stop_answer(outcome: Outcome) -> Answer:
    """What stands for a stopped loop's last answer."""
    text = f"{_SAYS}{stop_text(outcome)}"
    return Answer(
        action="blocked",
        label=Label.SIMULATED,
        reason=Reason.STOPPED,
        detail=label_key(),
        note=stop_text(outcome),
        output={"message": {"role": "assistant", "content": text}, "finish_reason": "stopped"},
    )


def error_answer(error: str) -> Answer:
    """How a tool call ended that ends the replay."""
    return Answer(action="live", label=Label.SIMULATED, reason=Reason.LIVE_TOOL, status=StepStatus.ERROR, error=error)


def with_messages(slots: Slots, added: Iterable[HookMessage]) -> Slots:
    """The messages with what hooks said at their end, where later requests of the conversation keep it."""
    messages: list[JSONValue] = [one.message for one in added]
    if not messages:
        return slots
    return [*slots[:-1], [*slots[-1], *messages]] if slots else [messages]


def with_hook_detail(answer: Answer, added: Iterable[HookMessage]) -> Answer:
    """The answer to a request into which hooks put something: the step says what, and whose it is."""
    said: list[JSONValue] = [{"name": one.hook, "action": one.action, "text": one.message["content"]} for one in added]
    return replace(answer, detail={**answer.detail, "hooks": said}) if said else answer


def _added(outcome: Outcome) -> list[HookMessage]:
    match outcome.decision:
        case SystemMessage(text=text, action=action):
            return [HookMessage(message={"role": "system", "content": text}, hook=outcome.hook, action=action)]
        case AppendContext(text=text, action=action):
            return [HookMessage(message={"role": "user", "content": text}, hook=outcome.hook, action=action)]
        case _:
            return []


def _llm(turn: _Turn) -> JSONObject:
    """What the model was and used, which Krabs's own events do not say."""
    call, answer = turn.call, turn.answer
    if call is None or answer is None:
        return {}
    output = answer.output if isinstance(answer.output, dict) else {}
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
        "attempts": answer.retries + 1,
        "step": call.no,
    }


def _text(value: JSONValue) -> str:
    """An error as text: a tool's own words for it, where it has some."""
    said = value.get("error") if isinstance(value, dict) else value
    return said if isinstance(said, str) else as_json(value).decode()


_SAYS: Final = "[Forkpoint] "
