"""What the operator is asked about a call, and what was answered."""

from replay.core.calls import Call, OperatorAnswer
from replay.execution.messages import OperatorQuestion
from replay.models import ReplaySession
from traces.core.vocabulary import StepStatus


def question(call: Call, why: str, *, may_run: bool) -> OperatorQuestion:
    """`may_run`: whether to make the call is one of the answers."""
    text = f"Step {call.no} calls {call.callee}, {why}"
    return OperatorQuestion(
        sequence_no=call.no, tool_name=call.callee, arguments=call.input, text=text, may_run=may_run
    )


def answered(session: ReplaySession, call: Call, *, may_run: bool) -> OperatorAnswer | None:
    """The stored answer; `run` answers only where that may be said."""
    given = session.answers.get(str(call.no))
    if given is None or (given["action"] == "run" and not may_run):
        return None
    said, output, status = given["action"], given.get("output"), StepStatus(given["status"])
    return OperatorAnswer(fallback=said == "fallback", run=said == "run", output=output, status=status)
