"""Hook and telemetry events at the start and end of a session."""

from uuid import UUID

from replay.core.hooks import PASS, Hooks, Outcome
from replay.core.vocabulary import OPEN_STATUSES
from replay.hooks import session_hooks as sessions
from replay.hooks import telemetry
from replay.models import ReplaySession
from traces.core.json_access import as_object, as_objects
from traces.core.json_types import JSONValue
from traces.core.vocabulary import HookEvent, StepType
from traces.models import Step
from traces.payloads.messages import Message, ModelAnswer, ModelRequest
from traces.payloads.parts import MissingPart
from traces.storage import artifacts


def begin(session: ReplaySession, *, taken_over: bool) -> Hooks:
    return sessions.create_hooks(session, taken_over=taken_over)


def fire_start(hooks: Hooks, session: ReplaySession) -> Outcome:
    """Fire the agent's start event with its task."""
    if not hooks.active:
        return PASS
    return hooks.fire(HookEvent.AGENT_START, {"task": _task(session)}, step=0)


def fire_end(session_id: UUID) -> None:
    """Fire the agent's stop event with its result, and wait briefly for the delivery of events."""
    if not sessions.has_listeners():
        return
    session = ReplaySession.objects.select_related("source_run").get(id=session_id)
    hooks = sessions.create_hooks(session, taken_over=False)
    if session.status in OPEN_STATUSES:
        return
    result = session.error or _result(session)
    payload = {"result": result, "status": session.status}
    # A JSON object.
    hooks.fire(HookEvent.AGENT_STOP, payload, step=session.checkpoint_no)  # type: ignore[arg-type]
    telemetry.flush(telemetry.SESSION_LIMIT_S)


def _task(session: ReplaySession) -> str:
    """Return the task of the source's agent, or else the first user message."""
    first = Step.objects.filter(run_id=session.source_run_id).exclude(input_ref="").order_by("sequence_no")
    for ref in first.values_list("input_ref", flat=True)[:3]:
        value = _payload(ref)
        if text := _task_text(as_object(value)):
            return text
    return session.source_run.name


def _task_text(input: dict[str, JSONValue]) -> str:
    task = input.get("task")
    if isinstance(task, str):
        return task
    messages = map(Message, ModelRequest(input).messages)
    return next((_text(message.content) for message in messages if message.role == "user"), "")


def _result(session: ReplaySession) -> str:
    """Return the text of the derived run's last output or model step."""
    if session.run_id is None:
        return ""
    steps = Step.objects.filter(run_id=session.run_id, type__in=(StepType.OUTPUT, StepType.MODEL)).exclude(
        output_ref=""
    )
    ref = steps.order_by("-sequence_no").values_list("output_ref", flat=True).first()
    value = _payload(ref) if ref else None
    answer = ModelAnswer(value)
    if answer.message:
        return _text(answer.message.get("content"))
    return _text(value.get("text") if isinstance(value, dict) else value)


def _text(value: JSONValue) -> str:
    if isinstance(value, list):
        return "".join(str(block.get("text", "")) for block in as_objects(value))
    return "" if value is None else value if isinstance(value, str) else str(value)


def _payload(ref: str) -> JSONValue:
    try:
        return artifacts.payload(ref)
    except MissingPart:
        return None
