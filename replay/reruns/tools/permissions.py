"""Whether a call of a tool that no recording answers may run."""

from typing import Final

from forkpoint.vocabulary import ValueTool
from replay.core.vocabulary import RerunDecision
from replay.models import Rerun
from replay.reruns.core.matcher import Divergence, Match
from replay.reruns.schemas import ToolAnswer, ToolQuestion
from replay.tool_review.queries import safety
from traces.core.json_access import text_or_json
from traces.core.vocabulary import StepType

_VALUE_TOOLS: Final = frozenset(tool.value for tool in ValueTool)
# Characters of a value in a reason.
_SHORT: Final = 100


def answer_without_recording(rerun: Rerun, question: ToolQuestion, problem: str) -> ToolAnswer:
    """Let a call run that changes nothing or that the user allowed, and refuse any other."""
    is_read = question.type == StepType.RETRIEVAL or question.name in _VALUE_TOOLS
    if is_read or safety(question.name) is True:
        return ToolAnswer(decision=RerunDecision.RUN)
    if question.name in rerun.tools_to_run:
        return _allowed_answer(rerun, question.name)
    reason = (
        f"this call of {question.name} {problem}. "
        f"It may have side effects: review the tool as safe, or allow it with --allow-tool {question.name}"
    )
    return ToolAnswer(decision=RerunDecision.REFUSAL, reason=reason)


def _allowed_answer(rerun: Rerun, name: str) -> ToolAnswer:
    """Let a tool run that may have side effects, unless it ran before the agent was started again."""
    if not rerun.tool_calls.filter(name=name, decision=RerunDecision.RUN, attempt__lt=rerun.attempt).exists():
        return ToolAnswer(decision=RerunDecision.RUN)
    reason = (
        f"{name} ran before the agent was started again, and what it returned is not recorded. Running it again could "
        "repeat its side effects: review the tool as safe, or start a new rerun"
    )
    return ToolAnswer(decision=RerunDecision.REFUSAL, reason=reason)


def describe_difference(result: Match | Divergence) -> str:
    """Return where a call differs from the nearest recorded one; empty if that is not known."""
    if isinstance(result, Match) or result.nearest is None or result.difference is None:
        return ""
    new, old = (text_or_json(value)[:_SHORT] for value in (result.difference.new, result.difference.old))
    place = result.difference.path.removeprefix("/arguments").removeprefix("/") or "its input"
    return f": {place} is {new}, not {old} as in step {result.nearest.no}"
