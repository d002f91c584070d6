"""Hooks: functions that the agent's author registers for the agent's events. Event names are those of Krabs."""

import contextvars
import inspect
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from forkpoint.encoding import as_json_value
from forkpoint.vocabulary import TOOL_EVENTS, HookEvent

HookFunction = Callable[[dict[str, Any]], Any]
Decision = dict[str, Any]
_log = logging.getLogger("forkpoint")
# The strongest action comes first.
_STRENGTH: Final = ("deny", "modify_args")


@dataclass(frozen=True, kw_only=True)
class _Hook:
    name: str
    function: HookFunction
    events: frozenset[HookEvent]
    matcher: re.Pattern[str]

    def matches(self, event: HookEvent, tool: str) -> bool:
        """Return whether the hook subscribes to the event. The matcher applies to tool events only."""
        return event in self.events and (event not in TOOL_EVENTS or self.matcher.search(tool) is not None)


class Hooks:
    """The registered hooks in registration order. A hook that fails is logged and skipped."""

    def __init__(self) -> None:
        self._hooks: tuple[_Hook, ...] = ()
        self._inside_hook = contextvars.ContextVar("forkpoint_inside_hook", default=False)

    @property
    def active(self) -> bool:
        """True if any hook is registered. False inside a hook, so that hooks do not trigger themselves."""
        return bool(self._hooks) and not self._inside_hook.get()

    def add(self, function: HookFunction, events: tuple[str, ...], matcher: str) -> None:
        """Register a hook. An invalid registration is logged and ignored."""
        name = function.__name__ if inspect.isroutine(function) else type(function).__name__
        try:
            subscriptions = frozenset(HookEvent(event) for event in events or HookEvent)
            hook = _Hook(name=name, function=function, events=subscriptions, matcher=re.compile(matcher))
        except (ValueError, TypeError, re.error) as error:
            _log.error("Hook %r is not registered: %s", name, error)
            return
        if inspect.iscoroutinefunction(function):
            _log.error("Hook %r is not registered: it is a coroutine function; hooks must be synchronous", name)
            return
        self._hooks = (*self._hooks, hook)

    def fire(self, event: HookEvent, *, run: str, agent: str, payload: dict[str, Any], tool: str) -> Decision:
        """Call every hook that matches the event.

        The strongest decision wins; among equal ones, that of the hook registered first.
        """
        if not self.active:
            return {}
        envelope = {
            "event_type": event.value,
            "timestamp_ms": time.time_ns() // 1_000_000,
            "session_id": run,
            "agent_id": agent,
            "payload": payload,
        }
        token = self._inside_hook.set(True)
        try:
            decisions = [_call(hook, event, envelope, tool) for hook in self._hooks]
        finally:
            self._inside_hook.reset(token)
        decisions = [decision for decision in decisions if decision]
        return min(decisions, key=lambda decision: _STRENGTH.index(decision["action"]), default={})


def _call(hook: _Hook, event: HookEvent, envelope: dict[str, Any], tool: str) -> Decision:
    """Call a hook with a copy of the event, so that its changes cannot reach the agent."""
    try:
        if not hook.matches(event, tool):
            return {}
        decision = _parse_decision(event, hook.function(as_json_value(envelope)))
    except Exception as error:  # noqa: BLE001 - code of the agent's author runs here, and may raise anything
        _log.warning("Hook %r failed at %s: %s: %s", hook.name, event.value, type(error).__name__, error)
        return {}
    return {**decision, "hook": hook.name} if decision else {}


def _parse_decision(event: HookEvent, answer: Any) -> Decision:
    """Parse a hook's answer into a decision about a tool call; empty if the hook allows the call."""
    decision = {"action": answer} if isinstance(answer, str) else answer
    match decision:
        case None | {"action": "allow" | "continue"}:
            return {}
        case {"action": "deny"} if event is HookEvent.PRE_TOOL_USE:
            return {"action": "deny", "message": str(decision.get("message", ""))}
        case {"action": "modify_args", "args": dict(args)} if event is HookEvent.PRE_TOOL_USE:
            return {"action": "modify_args", "args": args}
        case dict() if not decision:
            return {}
        case _:
            raise ValueError(f"{decision!r:.200} is not a valid decision for this event")
