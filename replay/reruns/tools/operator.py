"""Calls about which the operator decides: the agent asks again until there is an answer."""

from dataclasses import dataclass, field
from typing import Final

from django.db import transaction

from forkpoint.vocabulary import ValueTool
from replay.core.errors import SessionConflict
from replay.core.vocabulary import RerunDecision
from replay.execution.session_redaction import SessionRedaction
from replay.live.providers.openai_protocol import tool_text
from replay.models import ReplaySession, Rerun, RerunQuestion
from replay.overrides.policy import ToolRules
from replay.overrides.profile import ToolOverride
from replay.questions import services as questions
from replay.questions.services import AgentCall
from replay.reruns.schemas import ToolAnswer, ToolQuestion
from replay.reruns.starts import AGENT_END
from replay.reruns.tools import overrides
from replay.reruns.tools.comparison import ComparableCall
from replay.reruns.tools.consents import REFUSAL
from replay.reruns.tools.overrides import CallOverride
from replay.sessions.schemas import OperatorAnswer
from traces.audit import audit_log
from traces.core.json_access import as_integer, as_object, as_text
from traces.core.json_types import JSONObject
from traces.core.vocabulary import AuditAction, StepStatus, StepType

_VALUE_TOOLS: Final = frozenset(tool.value for tool in ValueTool)
# Of a call that waits: the recorded step in whose place it is.
_PLACE: Final = "place"
# By the operator's action.
_REFUSALS: Final = {
    "fallback": "the operator refused this call of {name}",
    questions.EXPIRY: "no operator answered this call of {name} in time",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolution:
    """An answer, and the grounds of its label."""

    answer: ToolAnswer
    detail: JSONObject = field(default_factory=dict)

    def detail_of(self, question: ToolQuestion) -> JSONObject:
        """Return the grounds, with the reason of a refusal, and whether the agent ends after it."""
        if self.answer.decision is not RerunDecision.REFUSAL:
            return self.detail
        end: JSONObject = {AGENT_END: True} if question.ends_agent else {}
        return {**self.detail, REFUSAL: self.answer.reason, **end}


def ask(
    rerun: Rerun, question: ToolQuestion, call: ComparableCall, reason: str, *, may_run: bool, override: CallOverride
) -> Resolution | None:
    """Let the operator decide about a call; None if the policy has it decided, or if the agent cannot wait.

    `call` has the arguments of the `override`.
    """
    if not question.call or question.is_last or (rules := _asking_rules(rerun, question)) is None:
        return None
    agent_call = AgentCall(id=question.call, name=question.name, arguments=call.arguments)
    waiting = questions.ask(rerun, agent_call, reason, may_run=rules.is_consent or may_run)
    if waiting.answer is None:
        answer = ToolAnswer(decision=RerunDecision.ASK, reason=waiting.text)
        return Resolution(answer=answer, detail={_PLACE: override.place})
    return _decide(question, waiting, override)


def poll(rerun: Rerun, question: ToolQuestion, waiting: RerunQuestion) -> ToolAnswer:
    """Return what the operator decided about a call that waits; `ask` until then. The call counts once."""
    if waiting.answer is None:
        if not question.is_last:
            return ToolAnswer(decision=RerunDecision.ASK, reason=waiting.text)
        questions.expire(rerun, waiting)
    row = rerun.tool_calls.get(attempt=rerun.attempt, call=question.call)
    override = overrides.at(rerun, question, no=row.sequence_no, place=as_integer(row.detail.get(_PLACE)) or 0)
    resolution = _decide(question, waiting, override)
    if row.decision == RerunDecision.ASK:
        row.decision, row.detail = resolution.answer.decision, resolution.detail_of(question)
        row.save(update_fields=["decision", "detail"])
    return resolution.answer


def answer(rerun: Rerun, operator_answer: OperatorAnswer, *, by: str) -> None:
    """Store the operator's answer about a call; raise `SessionConflict` if it waits for none, or for another one."""
    content = operator_answer.model_dump(mode="json")
    content["output"] = SessionRedaction(rerun.source_run.app).field(StepType.TOOL, "output", content["output"])
    waiting = {item.sequence_no: item for item in questions.open_questions(rerun)}
    question = waiting.get(operator_answer.sequence_no)
    if question is not None and operator_answer.action == "run" and not question.may_run:
        raise SessionConflict("this call cannot run; answer it, or refuse it", where="/action")
    with transaction.atomic():
        if question is None or not questions.answer(rerun, question.sequence_no, content):
            raise SessionConflict(f"question {operator_answer.sequence_no} does not wait for an answer")
        audit_log.append(
            AuditAction.RERUN_ANSWERED, rerun.id, by=by, step=question.sequence_no, answer=operator_answer.action
        )


def override_answer(override: ToolOverride) -> ToolAnswer:
    """Return the answer that sets a result."""
    decision = RerunDecision.OVERRIDDEN
    if override.status is not StepStatus.OK:
        return ToolAnswer(decision=decision, error=tool_text(override.output) or "Exception")
    return ToolAnswer(decision=decision, output=override.output, is_text=isinstance(override.output, str))


@dataclass(frozen=True, kw_only=True, slots=True)
class _AskingRules:
    """Why the operator is asked: `is_consent` if where the agent runs, its user lets the operator run the tool."""

    is_consent: bool


def _asking_rules(rerun: Rerun, question: ToolQuestion) -> _AskingRules | None:
    """Return by what the operator is asked about a call; None if not."""
    if question.type != StepType.TOOL or question.name in _VALUE_TOOLS:
        return None
    if ToolRules(ask=rerun.tools_to_ask).asks(question.name):
        return _AskingRules(is_consent=True)
    session = ReplaySession.objects.filter(rerun=rerun).first()
    if session is not None and ToolRules.model_validate(session.policy["tools"]).asks(question.name):
        return _AskingRules(is_consent=False)
    return None


def _decide(question: ToolQuestion, waiting: RerunQuestion, override: CallOverride) -> Resolution:
    reply = as_object(waiting.answer)
    action = as_text(reply.get("action"))
    if action == "run":
        arguments = override.arguments(question)
        detail: JSONObject = {} if arguments is None else {"arguments": waiting.arguments}
        return Resolution(answer=ToolAnswer(decision=RerunDecision.RUN, arguments=arguments), detail=detail)
    if action in _REFUSALS:
        reason = _REFUSALS[action].format(name=waiting.name)
        return Resolution(answer=ToolAnswer(decision=RerunDecision.REFUSAL, reason=reason))
    output = ToolOverride(output=reply.get("output"), status=StepStatus(as_text(reply.get("status"))))
    return Resolution(answer=override_answer(output))
