"""Which hooks an event goes to, and which of their answers counts. Pure but for what the hooks themselves do."""

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
    """A hook gave no answer."""


@dataclass(frozen=True, kw_only=True)
class Hook:
    """One registered hook. No events: all of them. `gate`: where it fails, the tool call is denied."""

    name: str
    ask: Ask
    events: frozenset[HookEvent] = frozenset()
    matcher: str = ""
    gate: bool = False

    def wants(self, event: HookEvent, tool: str) -> bool:
        """Whether it listens to this event; the matcher speaks of tools, so other events pass it by."""
        if self.events and event not in self.events:
            return False
        return event not in TOOL_EVENTS or matches(self.matcher, tool)


@dataclass(frozen=True, kw_only=True)
class Said:
    """The answer of one hook."""

    hook: str
    decision: Decision


@dataclass(frozen=True, kw_only=True)
class Registry:
    """The hooks in the order of their registration, which decides among equal answers."""

    hooks: tuple[Hook, ...] = ()

    def fire(self, event: HookEvent, envelope: JSONObject, *, tool: str = "") -> Outcome:
        """Ask every hook that wants the event; a failing one is reported and skipped, unless it is a gate."""
        said: list[Said] = []
        failures: list[Failure] = []
        for hook in self.hooks:
            if not hook.wants(event, tool):
                continue
            try:
                said.append(Said(hook=hook.name, decision=understood(event, hook.ask(envelope))))
            except HookFailure as error:
                failures.append(Failure(hook=hook.name, error=str(error)))
                if hook.gate and event is HookEvent.PRE_TOOL_USE:
                    said.append(Said(hook=hook.name, decision=Deny(message="it gave no answer")))
        return _outcome(resolved(event, said), failures)


def compiled(matcher: str) -> re.Pattern[str]:
    """The expression; raises `ValueError` saying what is wrong with it."""
    try:
        return re.compile(matcher)
    except re.error as error:
        raise ValueError(f"{matcher!r} is no regular expression: {error}") from error


def matches(matcher: str, tool: str) -> bool:
    """Whether the expression is found anywhere in the name; an empty one is everywhere, an invalid one nowhere."""
    try:
        return compiled(matcher).search(tool) is not None
    except ValueError:
        return False


def understood(event: HookEvent, answer: JSONValue) -> Decision:
    """A hook's answer as a decision about this event; raises `HookFailure`. No answer lets the event pass."""
    if answer is None or answer == {}:
        return CONTINUE
    given = {"action": answer} if isinstance(answer, str) else answer
    try:
        decision = DECISION.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise HookFailure(f"its answer is no decision: {first['msg']}") from error
    if not isinstance(decision, Allow | Continue) and type(decision) not in _RANKED[event is HookEvent.PRE_TOOL_USE]:
        raise HookFailure(f"{decision.action!r} is no answer to {event}")
    return decision


def resolved(event: HookEvent, said: Sequence[Said]) -> Said | None:
    """Deny > ModifyArgs > Allow before a tool; else Stop > SystemMessage > AppendContext > Continue.

    The first of the strongest counts.
    """
    for kind in _RANKED[event is HookEvent.PRE_TOOL_USE]:
        if (found := next((one for one in said if isinstance(one.decision, kind)), None)) is not None:
            return found
    return None


# By whether the event is `pre_tool_use`, the strongest first.
_RANKED: dict[bool, tuple[type[Decision], ...]] = {
    True: (Deny, ModifyArgs),
    False: (Stop, SystemMessage, AppendContext),
}


def _outcome(said: Said | None, failures: Iterable[Failure]) -> Outcome:
    if said is None:
        return Outcome(failures=tuple(failures))
    return Outcome(decision=said.decision, hook=said.hook, failures=tuple(failures))
