"""The beginning and the end of a session, as hooks and telemetry hear of them."""

from uuid import UUID

from replay.core.hooks import PASS, Hooks, Outcome
from replay.core.vocabulary import OPEN_STATUSES
from replay.hooks import session_hooks as sessions
from replay.hooks import telemetry
from replay.models import ReplaySession
from traces.core.json_types import JSONValue
from traces.core.vocabulary import HookEvent, StepType
from traces.models import Step
from traces.payloads.parts import MissingPart
from traces.storage import artifacts


def begin(session: ReplaySession, *, taken_over: bool) -> Hooks:
    return sessions.hooks_of(session, taken_over=taken_over)


def started(hooks: Hooks, session: ReplaySession) -> Outcome:
    """Tell that the agent starts, with its task."""
    if not hooks.active:
        return PASS
    return hooks.fire(HookEvent.AGENT_START, {"task": _task(session)}, step=0)


def ended(session_id: UUID) -> None:
    """Tell that the agent stopped, and with what; waits a moment for the events to leave."""
    if not sessions.anybody_listens():
        return
    session = ReplaySession.objects.select_related("source_run").get(id=session_id)
    hooks = sessions.hooks_of(session, taken_over=False)
    if session.status in OPEN_STATUSES:
        return
    result = session.error or _result(session)
    payload = {"result": result, "status": session.status}
    hooks.fire(HookEvent.AGENT_STOP, payload, step=session.checkpoint_no)  # type: ignore[arg-type]  # a JSON object
    telemetry.flush(telemetry.SESSION_LIMIT_S)


def _task(session: ReplaySession) -> str:
    """What the source's agent was asked: its own task, else the first message of a user."""
    first = Step.objects.filter(run_id=session.source_run_id).exclude(input_ref="").order_by("sequence_no")
    for ref in first.values_list("input_ref", flat=True)[:3]:
        value = _payload(ref)
        if isinstance(value, dict) and (said := _asked(value)):
            return said
    return session.source_run.name


def _asked(input: dict[str, JSONValue]) -> str:
    if isinstance(input.get("task"), str):
        return str(input["task"])
    messages = input.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "user":
            return _text(message.get("content"))
    return ""


def _result(session: ReplaySession) -> str:
    """The last thing that the derived run's output or model steps said."""
    if session.run_id is None:
        return ""
    said = Step.objects.filter(run_id=session.run_id, type__in=(StepType.OUTPUT, StepType.MODEL)).exclude(output_ref="")
    ref = said.order_by("-sequence_no").values_list("output_ref", flat=True).first()
    value = _payload(ref) if ref else None
    if isinstance(value, dict):
        message = value.get("message")
        return _text(message.get("content") if isinstance(message, dict) else value.get("text"))
    return _text(value)


def _text(value: JSONValue) -> str:
    if isinstance(value, list):
        return "".join(str(block.get("text", "")) for block in value if isinstance(block, dict))
    return "" if value is None else value if isinstance(value, str) else str(value)


def _payload(ref: str) -> JSONValue:
    try:
        return artifacts.payload(ref)
    except MissingPart:
        return None
