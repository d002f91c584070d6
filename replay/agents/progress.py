"""Follow a session whose agent runs: write its steps while they arrive, and end it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Literal
from uuid import UUID

from django.db import transaction

from replay.core.errors import LostOwnership
from replay.core.vocabulary import FAILED, RerunDecision, SessionStatus
from replay.execution import event_log, observers, task_names
from replay.execution.derived_run import final_status
from replay.execution.derived_run.open_run import open_run
from replay.execution.messages import StepsMessage
from replay.execution.session_row import SessionRow
from replay.hooks import session_lifecycle
from replay.models import ReplaySession, Rerun
from replay.questions import services as questions
from replay.reruns import queries as reruns
from replay.reruns.derived_run import contents
from replay.reruns.tools import consents
from traces import enqueue, notify
from traces.core.json_access import as_text
from traces.core.vocabulary import Label, Reason, RunStatus
from traces.ingest.step_rows import StepRow
from traces.models import Step
from traces.runs import services as traces

# Of an agent that is killed each time.
MOST_STARTS: Final = 3
_LONGEST_NOTE: Final = 300
# Exit codes of a command that the SDK ended: a tool was refused, or the session could not be reached.
REFUSAL_EXIT: Final = 5
_OUTAGE_EXIT: Final = 6
_COLUMNS: Final = ("external_id", "type", "name", "status", "label", "reason", "input_ref", "output_ref", "error")

Interruption = Literal["cancelled", "deadline", "taken over"]


def interruption(session_id: UUID, owner: str) -> Interruption | None:
    """Return why a session must not go on; None if it may."""
    session = ReplaySession.objects.get(id=session_id)
    if session.owner != owner or not (session.status == SessionStatus.RUNNING or is_asking(session)):
        return "taken over"
    if session.cancel_requested:
        return "cancelled"
    deadline = session.deadline
    is_late = session.question is None and deadline is not None and datetime.now(UTC) > deadline
    return "deadline" if is_late else None


def is_asking(session: ReplaySession) -> bool:
    """Return whether the agent of a session waits for the answer of an operator."""
    return session.status == SessionStatus.AWAITING_OPERATOR and session.question is not None


def count_calls(session_id: UUID) -> int:
    """Return a number that grows with every stored call and report of the agent."""
    rerun = Rerun.objects.get(session=session_id)
    calls = rerun.calls.filter(attempt=rerun.attempt).exclude(exchange=None)
    return calls.count() + rerun.reports.filter(attempt=rerun.attempt).count()


def lacks_calls(session_id: UUID) -> bool:
    """Return whether the agent has not made some of the recorded model calls in its last start."""
    return bool(reruns.view(Rerun.objects.get(session=session_id)).unused_steps)


def write_steps(session_id: UUID, owner: str, *, is_final: bool = False) -> None:
    """Write the steps that the agent has made so far; those of an earlier start that it did not make again go."""
    session = _load(session_id)
    derived = contents.read(_rerun(session), is_final=is_final)
    if derived is None:
        return
    row = SessionRow(session, owner)
    if session.run_id is None:
        open_run(row)
    if is_final:
        derived.restore_payloads(row.run_id)
    rows = derived.rows
    first = _first_difference(row.run_id, rows)
    stored_count = Step.objects.filter(run_id=row.run_id).count()
    if first > len(rows) and stored_count == len(rows):
        return
    derived.store_payloads(row.run_id)
    with transaction.atomic():
        # First, because it checks ownership: only the owner may write steps.
        row.record(_columns(rows), StepsMessage(seq=0, first=first, last=len(rows)), "session")
        traces.truncate_steps(row.run_id, first - 1)
        traces.append_steps(row.run_id, rows[first - 1 :])
        notify.touch("runs")


def finish(session_id: UUID, owner: str, *, exit_code: int, error: str = "") -> None:
    """End a session whose agent has ended, unless another process has taken it over.

    If a tool without consent was refused, or an answer that calls one did not reach the agent, the session waits for a
    runner that allows the tool: the answers until then may be paid for. A probe does not wait for anybody.
    """
    questions.withdraw(session_id)
    try:
        write_steps(session_id, owner, is_final=True)
        session = _load(session_id)
        if not session.is_probe and (reasons := _reasons_to_wait(_rerun(session))):
            _await_consent(session, owner, reasons, exit_code)
            return
        problem = error or _problem(session, exit_code)
        status = SessionStatus.FAILED_EXECUTION if problem else final_status.session_status(session, _counts(session))
        columns: dict[str, Any] = {}
        if problem:
            refused_tools = consents.refused_tools(_rerun(session))
            columns = {"error_code": "agent_failed", "error": problem, "held_back_tools": [*refused_tools]}
        _end(session, owner, status, exit_code=exit_code, **columns)
    except LostOwnership:
        return


def _reasons_to_wait(rerun: Rerun) -> dict[str, str]:
    """Return the tools without consent at which an agent ended, and what that was about."""
    held_back = consents.held_back_tools(rerun)
    text = f"The model's answer calls {', '.join(held_back)}, and the agent gets it when a runner allows that"
    return {**consents.refused_tools(rerun), **dict.fromkeys(held_back, text)}


def _await_consent(session: ReplaySession, owner: str, reasons: Mapping[str, str], exit_code: int) -> None:
    """Let a session wait for a runner that allows these tools."""
    text = next(iter(reasons.values()))
    with transaction.atomic():
        columns = {"held_back_tools": [*reasons], "current": text[:1].upper() + text[1:_LONGEST_NOTE]}
        SessionRow(session, owner).leave(SessionStatus.AWAITING_OPERATOR, **columns)
        Rerun.objects.filter(id=_rerun(session).id).update(ended_at=datetime.now(UTC), exit_code=exit_code)
        event_log.append(session.id, "session")
        # Others may start in its place.
        transaction.on_commit(partial(enqueue.send, task_names.EXECUTE, session.id))


def stop(session_id: UUID, owner: str, reason: Interruption) -> None:
    """End a session that was cancelled or that has reached its deadline."""
    session = _load(session_id)
    columns: dict[str, Any] = {}
    status = SessionStatus.CANCELLED
    if reason == "deadline":
        status = SessionStatus.FAILED_EXECUTION
        limit_s = session.policy["budget"]["deadline_s"]
        columns = {"error_code": "budget_deadline", "error": f"the agent did not end within {limit_s:g} seconds"}
    try:
        write_steps(session_id, owner, is_final=True)
        _end(_load(session_id), owner, status, exit_code=None, **columns)
    except LostOwnership:
        return


def _end(session: ReplaySession, owner: str, status: SessionStatus, *, exit_code: int | None, **columns: Any) -> None:
    """Move a session to an end state, seal its run, and let everything that waits for it go on."""
    rerun, now = _rerun(session), datetime.now(UTC)
    if status == SessionStatus.CANCELLED:
        run_status = RunStatus.PARTIAL
    else:
        run_status = RunStatus.FAILED if exit_code != 0 or status in FAILED else RunStatus.COMPLETED
    with transaction.atomic():
        columns |= {"current": "", "ended_at": now, "unused_calls": reruns.view(rerun).unused_steps}
        columns["divergences"] = _unapplied_changes(rerun, session)
        SessionRow(session, owner).leave(status, **columns)
        Rerun.objects.filter(id=rerun.id).update(ended_at=now, exit_code=exit_code)
        if session.run_id is not None:
            traces.seal_run(session.run_id, run_status)
            observers.run_sealed(session.run_id)
        rerun.calls.update(exchange=None)
        rerun.reports.all().delete()
        event_log.append(session.id, "session")
        transaction.on_commit(partial(_send_tasks, session.id))
    session_lifecycle.fire_end(session.id)


def _unapplied_changes(rerun: Rerun, session: ReplaySession) -> list[str]:
    """Return a sentence for each change that the agent never got to."""
    steps = [] if session.run_id is None else reruns.unapplied_steps(rerun, session.run_id)
    return [f"The change of step {no} was not applied: the agent did not make the recorded call." for no in steps]


def _send_tasks(session_id: UUID) -> None:
    """Compare the run with its source, and start what waits for the session: the task finds that it has ended."""
    enqueue.send(task_names.COMPARE, session_id)
    enqueue.send(task_names.EXECUTE, session_id)


def _problem(session: ReplaySession, exit_code: int) -> str:
    """Return why what an agent did is no replay; empty if it ended in its own way, also with an error of its own."""
    rerun = _rerun(session)
    calls = rerun.calls.filter(attempt=rerun.attempt)
    refusal_count = calls.filter(label="").count()
    if refusal_count:
        calls_text = "a model call" if refusal_count == 1 else f"{refusal_count} model calls"
        return f"{calls_text} of the agent got no answer: not in the recording, and not allowed to go live"
    if exit_code == REFUSAL_EXIT and (reason := _refusal_of_tool(rerun)):
        return f"the agent was ended at a call of a tool: {reason}"
    if exit_code == _OUTAGE_EXIT:
        return "the server could not be reached, so the agent was ended: its standard error has the reason"
    if session.run_id is None:
        return f"the agent ended with exit code {exit_code} before its first model call: see its output"
    return ""


def _refusal_of_tool(rerun: Rerun) -> str:
    """Return why the last tool was refused in the last start of an agent; empty if none was."""
    refusals = rerun.tool_calls.filter(attempt=rerun.attempt, decision=RerunDecision.REFUSAL).order_by("id")
    call = refusals.last()
    return "" if call is None else as_text(call.detail.get(consents.REFUSAL)) or f"{call.name} was refused"


def _first_difference(run_id: UUID, rows: Sequence[StepRow]) -> int:
    """Return the number of the first step that is stored differently, or not at all."""
    steps = Step.objects.filter(run_id=run_id).order_by("sequence_no").values_list(*_COLUMNS)
    for no, (step, row) in enumerate(zip(steps, rows, strict=False), 1):
        if step != tuple(getattr(row, column) for column in _COLUMNS):
            return no
    return min(len(steps), len(rows)) + 1


def _columns(rows: Sequence[StepRow]) -> dict[str, object]:
    live_costs = [row.cost_usd for row in rows if row.reason == Reason.LIVE_MODEL]
    known_costs = [cost for cost in live_costs if cost is not None]
    labels = [row.label for row in rows]
    return {
        "checkpoint_no": len(rows),
        "resolved_steps": len(rows),
        "exact_count": labels.count(Label.EXACT),
        "cached_count": labels.count(Label.CACHED),
        "simulated_count": labels.count(Label.SIMULATED),
        "live_calls": len(live_costs),
        "cost_usd": sum(known_costs) if len(known_costs) == len(live_costs) else None,
        "lost_workers": 0,
    }


def _counts(session: ReplaySession) -> Mapping[Label, int]:
    return {
        Label.EXACT: session.exact_count,
        Label.CACHED: session.cached_count,
        Label.SIMULATED: session.simulated_count,
    }


def _load(session_id: UUID) -> ReplaySession:
    return ReplaySession.objects.select_related("source_run", "profile", "rerun").get(id=session_id)


def _rerun(session: ReplaySession) -> Rerun:
    if session.rerun is None:
        raise RuntimeError(f"the agent of session {session.id} was never started")
    return session.rerun
