"""Events of one session: sent to hooks, whose decisions are stored, and to telemetry."""

import time
from collections.abc import Mapping
from typing import Final

import structlog
from django.db import transaction

from replay.core.hooks import DECISION, NO_HOOKS, PASS, Failure, Hooks, Outcome
from replay.hooks import callers, configuration, telemetry
from replay.hooks.registry import Registry
from replay.models import HookOutcome, ReplaySession
from traces.core.json_access import as_string
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import HookEvent

logger = structlog.get_logger("replay.hooks")
_BEFORE: Final = frozenset({HookEvent.PRE_TOOL_USE, HookEvent.TURN_START})


def create_hooks(session: ReplaySession, *, taken_over: bool) -> Hooks:
    """Return the hooks and telemetry of a session; `NO_HOOKS` if none are configured."""
    if not has_listeners():
        return NO_HOOKS
    return SessionHooks(session, callers.registry(), taken_over=taken_over)


def has_listeners() -> bool:
    return bool(configuration.hooks() or telemetry.targets())


class SessionHooks:
    """Implements `Hooks`.

    Events from before a takeover are not fired again: their decision is stored, or had no effect.
    """

    active = True

    def __init__(self, session: ReplaySession, registry: Registry, *, taken_over: bool) -> None:
        self.session = session
        self.registry = registry
        self.fired_to = session.checkpoint_no if taken_over else -1
        self.stored_outcomes: Mapping[tuple[int, str], Outcome] = {}
        if taken_over:
            rows = HookOutcome.objects.filter(session=session)
            self.stored_outcomes = {(row.sequence_no, row.event): _stored_outcome(row) for row in rows}

    def fire(self, event: HookEvent, payload: JSONObject, *, step: int) -> Outcome:
        if (stored_outcome := self.stored_outcomes.get((step, event))) is not None:
            return stored_outcome
        if self._was_fired(event, step):
            return PASS
        envelope = self.send_telemetry(event, payload)
        tool = payload.get("tool_name")
        outcome = self.registry.fire(event, envelope, tool=as_string(tool))
        if outcome.decision.action not in {"allow", "continue"} or outcome.failures:
            self._store(event, payload, step, outcome)
        return outcome

    def send_telemetry(self, event: str, payload: JSONObject) -> JSONObject:
        """Send an event to telemetry only; returns it in the format of Krabs."""
        envelope: JSONObject = {
            "event_type": str(event),
            "timestamp_ms": time.time_ns() // 1_000_000,
            "session_id": str(self.session.id),
            "agent_id": self.session.source_run.app,
            "payload": payload,
        }
        telemetry.emit(envelope)
        return envelope

    def _was_fired(self, event: HookEvent, step: int) -> bool:
        """True if the previous worker fired the event.

        Events before a step were fired if the step is committed, events after it if the next step is committed.
        """
        return step <= self.fired_to if event in _BEFORE or not step else step < self.fired_to

    def _store(self, event: HookEvent, payload: JSONObject, step: int, outcome: Outcome) -> None:
        for failure in outcome.failures:
            logger.warning(
                "hook_failed", session_id=str(self.session.id), hook=failure.hook, on=str(event), error=failure.error
            )
        with transaction.atomic():
            HookOutcome.objects.update_or_create(
                session=self.session,
                sequence_no=step,
                event=str(event),
                defaults={
                    "tool_name": str(payload.get("tool_name") or "")[:300],
                    "asked": payload.get("args"),
                    "hook": outcome.hook,
                    "decision": outcome.decision.model_dump(mode="json"),
                    "failures": [[failure.hook, failure.error] for failure in outcome.failures],
                },
            )


def _stored_outcome(row: HookOutcome) -> Outcome:
    decision: JSONValue = row.decision
    failures = tuple(Failure(hook=hook, error=error) for hook, error in row.failures)
    return Outcome(decision=DECISION.validate_python(decision), hook=row.hook, failures=failures)
