"""Hook registry: dispatches events and picks the winning answer. Pure, except for the hooks."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from replay.core.hooks import (
    CONTINUE,
    DECISION,
    Allow,
    AppendContext,
    Continue,
    Decision,
    Deny,
    Failure,
    ModifyArgs,
    Outcome,
    Stop,
    SystemMessage,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import TOOL_EVENTS, HookEvent

Ask = Callable[[JSONObject], JSONValue]


class HookFailure(Exception):
    """A hook failed or gave an invalid answer."""


@dataclass(frozen=True, kw_only=True)
class Hook:
    """One registered hook.

    Empty `events`: all events. `gate`: if the hook fails, the tool call is denied.
    """

    name: str
    ask: Ask
    events: frozenset[HookEvent] = frozenset()
    matcher: str = ""
    gate: bool = False

    def wants(self, event: HookEvent, tool: str) -> bool:
        """True if the hook handles this event; the matcher applies to tool events only."""
        if self.events and event not in self.events:
            return False
        return event not in TOOL_EVENTS or matches(self.matcher, tool)


@dataclass(frozen=True, kw_only=True)
class HookAnswer:
    """The answer of one hook."""

    hook: str
    decision: Decision


@dataclass(frozen=True, kw_only=True)
class Registry:
    """Hooks in registration order, which decides between answers of equal rank."""

    hooks: tuple[Hook, ...] = ()

    def fire(self, event: HookEvent, envelope: JSONObject, *, tool: str = "") -> Outcome:
        """Call every hook that handles the event.

        Failures are reported, and a failed gate denies the tool call.
        """
        answers: list[HookAnswer] = []
        failures: list[Failure] = []
        for hook in self.hooks:
            if not hook.wants(event, tool):
                continue
            try:
                answers.append(HookAnswer(hook=hook.name, decision=parse_decision(event, hook.ask(envelope))))
            except HookFailure as error:
                failures.append(Failure(hook=hook.name, error=str(error)))
                if hook.gate and event is HookEvent.PRE_TOOL_USE:
                    answers.append(HookAnswer(hook=hook.name, decision=Deny(message="it gave no answer")))
        return _outcome(winning_answer(event, answers), failures)


def compile_matcher(matcher: str) -> re.Pattern[str]:
    """Compile a matcher; raises `ValueError` that describes the mistake."""
    try:
        return re.compile(matcher)
    except re.error as error:
        raise ValueError(f"“{matcher}” is not a regular expression: {error}") from error


def matches(matcher: str, tool: str) -> bool:
    """True if the expression matches anywhere in the name.

    An empty one always does, an invalid one never.
    """
    try:
        return compile_matcher(matcher).search(tool) is not None
    except ValueError:
        return False


def parse_decision(event: HookEvent, answer: JSONValue) -> Decision:
    """Parse a hook's answer to this event; raises `HookFailure`. An empty answer lets the event pass."""
    if answer is None or answer == {}:
        return CONTINUE
    value = {"action": answer} if isinstance(answer, str) else answer
    try:
        decision = DECISION.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise HookFailure(f"its answer is not a decision: {first['msg']}") from error
    if not isinstance(decision, Allow | Continue) and type(decision) not in _RANKS[event is HookEvent.PRE_TOOL_USE]:
        raise HookFailure(f"“{decision.action}” is not a valid answer to {event}")
    return decision


def winning_answer(event: HookEvent, answers: Sequence[HookAnswer]) -> HookAnswer | None:
    """Return the first answer of the highest rank.

    Before a tool call: Deny > ModifyArgs > Allow. At other events: Stop > SystemMessage > AppendContext > Continue.
    """
    for kind in _RANKS[event is HookEvent.PRE_TOOL_USE]:
        if (winner := next((answer for answer in answers if isinstance(answer.decision, kind)), None)) is not None:
            return winner
    return None


# By whether the event is `pre_tool_use`; highest rank first.
_RANKS: dict[bool, tuple[type[Decision], ...]] = {
    True: (Deny, ModifyArgs),
    False: (Stop, SystemMessage, AppendContext),
}


def _outcome(winner: HookAnswer | None, failures: Iterable[Failure]) -> Outcome:
    if winner is None:
        return Outcome(failures=tuple(failures))
    return Outcome(decision=winner.decision, hook=winner.hook, failures=tuple(failures))
