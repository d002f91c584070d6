"""Questions to the operator about a call, and the stored answers."""

from replay.core.calls import Call, OperatorAnswer
from replay.execution.messages import OperatorQuestion
from replay.models import ReplaySession
from traces.core.vocabulary import StepStatus


def question(call: Call, reason: str, *, may_run: bool) -> OperatorQuestion:
    """Build the question about a call; with `may_run` the operator may let it run."""
    text = f"Step {call.no} calls {call.callee}, {reason}"
    return OperatorQuestion(
        sequence_no=call.no, tool_name=call.callee, arguments=call.input, text=text, may_run=may_run
    )


def stored_answer(session: ReplaySession, call: Call, *, may_run: bool) -> OperatorAnswer | None:
    """Return the stored answer to a question, if any; `run` counts only with `may_run`."""
    entry = session.answers.get(str(call.no))
    if entry is None or (entry["action"] == "run" and not may_run):
        return None
    action, output, status = entry["action"], entry.get("output"), StepStatus(entry["status"])
    return OperatorAnswer(fallback=action == "fallback", run=action == "run", output=output, status=status)
