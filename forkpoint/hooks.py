"""Hooks: functions of the agent's author that hear what the agent does while it does it, with the events of Krabs."""

import contextvars
import inspect
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from forkpoint.encoding import plain
from traces.core.vocabulary import TOOL_EVENTS, HookEvent

Ask = Callable[[dict[str, Any]], Any]
Decision = dict[str, Any]
_log = logging.getLogger("forkpoint")
_STRENGTH: Final = ("deny", "modify_args")  # the strongest first


@dataclass(frozen=True, kw_only=True)
class _Hook:
    name: str
    ask: Ask
    events: frozenset[HookEvent]
    matcher: re.Pattern[str]

    def wants(self, event: HookEvent, tool: str) -> bool:
        """The matcher speaks of tools: events without a tool pass it by."""
        return event in self.events and (event not in TOOL_EVENTS or self.matcher.search(tool) is not None)


class Hooks:
    """The registered hooks, in their order. Whatever goes wrong in one of them is logged, and the hook is skipped."""

    def __init__(self) -> None:
        self._hooks: tuple[_Hook, ...] = ()
        self._asking = contextvars.ContextVar("forkpoint_asking_hooks", default=False)

    @property
    def active(self) -> bool:
        """Whether anybody listens. Nobody listens to what a hook does itself, which would never end."""
        return bool(self._hooks) and not self._asking.get()

    def add(self, ask: Ask, events: tuple[str, ...], matcher: str) -> None:
        """Register a hook; one that could never be asked is logged and left out."""
        name = ask.__name__ if inspect.isroutine(ask) else type(ask).__name__
        try:
            heard = frozenset(HookEvent(event) for event in events or HookEvent)
            hook = _Hook(name=name, ask=ask, events=heard, matcher=re.compile(matcher))
        except (ValueError, TypeError, re.error) as error:
            _log.error("The hook %r is not asked: %s", name, error)
            return
        if inspect.iscoroutinefunction(ask):
            _log.error("The hook %r is not asked: it is a coroutine, and agents do not wait for hooks", name)
            return
        self._hooks = (*self._hooks, hook)

    def fire(self, event: HookEvent, *, run: str, agent: str, payload: dict[str, Any], tool: str) -> Decision:
        """Ask every hook that wants the event. The strongest decision counts, and among equals the first hook's."""
        if not self.active:
            return {}
        envelope = {
            "event_type": event.value,
            "timestamp_ms": time.time_ns() // 1_000_000,
            "session_id": run,
            "agent_id": agent,
            "payload": payload,
        }
        asking = self._asking.set(True)
        try:
            said = [_said(hook, event, envelope, tool) for hook in self._hooks]
        finally:
            self._asking.reset(asking)
        return min((one for one in said if one), key=lambda one: _STRENGTH.index(one["action"]), default={})


def _said(hook: _Hook, event: HookEvent, envelope: dict[str, Any], tool: str) -> Decision:
    """What one hook says. It gets a copy, because what it does to the event must not reach the agent."""
    try:
        if not hook.wants(event, tool):
            return {}
        decision = _understood(event, hook.ask(plain(envelope)))
    except Exception as error:  # noqa: BLE001 - code of the agent's author runs here, and may raise anything
        _log.warning("The hook %r failed at %s: %s: %s", hook.name, event.value, type(error).__name__, error)
        return {}
    return {**decision, "hook": hook.name} if decision else {}


def _understood(event: HookEvent, answer: Any) -> Decision:
    """A hook's answer as a decision about a tool call; empty where it lets the event pass."""
    given = {"action": answer} if isinstance(answer, str) else answer
    match given:
        case None | {"action": "allow" | "continue"}:
            return {}
        case {"action": "deny"} if event is HookEvent.PRE_TOOL_USE:
            return {"action": "deny", "message": str(given.get("message", ""))}
        case {"action": "modify_args", "args": dict(args)} if event is HookEvent.PRE_TOOL_USE:
            return {"action": "modify_args", "args": args}
        case dict() if not given:
            return {}
        case _:
            raise ValueError(f"{given!r:.200} is no decision that an agent could heed here")
