"""Answer the tool calls and searches that a running agent asks about before it makes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction

from forkpoint.vocabulary import ValueTool
from replay.core.errors import SessionConflict
from replay.core.vocabulary import RerunDecision
from replay.execution import observers
from replay.execution.session_redaction import SessionRedaction
from replay.live.providers.openai_protocol import tool_text
from replay.models import ReplaySession, Rerun, RerunQuestion, RerunToolCall
from replay.overrides.policy import ToolRules
from replay.overrides.profile import ToolOverride
from replay.questions import services as questions
from replay.questions.services import AgentCall
from replay.reruns import forks, recordings
from replay.reruns.core.matcher import Divergence, Match, Matcher, unchanged
from replay.reruns.core.playback import rename
from replay.reruns.core.recorded_calls import RecordedCalls, RecordedRequest
from replay.reruns.core.renaming import Renaming
from replay.reruns.core.shell_calls import shell_command
from replay.reruns.schemas import ToolAnswer, ToolQuestion
from replay.reruns.shared_answers.recorded_steps import numbers_by_run, real_numbers
from replay.sessions.schemas import OperatorAnswer
from replay.tool_review.queries import safety
from traces.call_index import ignore_lists
from traces.core.json_access import as_object, as_text, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepStatus, StepType

_QUERY: Final = frozenset({"query", "top_k", "filters", "embedding_profile"})
_VALUE_TOOLS: Final = frozenset(tool.value for tool in ValueTool)
_SHELL: Final[JSONObject] = {"type": StepType.TOOL, "name": "", "is_shell": True}
# Characters of a value in a reason.
_SHORT: Final = 100


def answer(rerun: Rerun, question: ToolQuestion) -> ToolAnswer:
    """Decide about a call that the agent is about to make; raise `SessionConflict` if the rerun has ended.

    The recording contains what its app's policy allows, so the call is compared as it would be stored.
    """
    arguments, strict = _comparable(rerun.source_run.app, question)
    calls = _calls_of(rerun.source_run_id, strict, arguments)
    with transaction.atomic():
        rerun = Rerun.objects.select_for_update().get(id=rerun.id)
        if rerun.ended_at is not None:
            raise SessionConflict(f"rerun {rerun.id} has ended")
        if question.call and (earlier := questions.find(rerun, _agent_call(question, arguments))):
            return _operator_answer(rerun, earlier)
        calls_before = rerun.tool_calls.filter(attempt=rerun.attempt)
        used_numbers = {no for no in calls_before.values_list("sequence_no", flat=True) if no is not None}
        matcher = _matcher(rerun, question, calls, used_numbers)
        result = matcher.match({"arguments": arguments}, strict)
        detail: JSONObject = {}
        if override := _override(rerun, question, result):
            answer = _override_answer(override)
        elif isinstance(result, Match):
            answer = _recorded_answer(rerun.source_run_id, result, matcher.renaming)
        elif shared_answer := _shared_answer(rerun, question, arguments, strict):
            answer, detail = shared_answer
        else:
            answer = _answer_without_recording(rerun, question, result)
            if rules := _asking_rules(rerun, question):
                may_run = rules.is_consent or answer.decision is RerunDecision.RUN
                reason = f"which is not in the recording{_difference(result)}"
                waiting = questions.ask(rerun, _agent_call(question, arguments), reason, may_run=may_run)
                return _operator_answer(rerun, waiting)
        no = result.call.no if isinstance(result, Match) else None
        RerunToolCall.objects.create(
            rerun=rerun,
            attempt=rerun.attempt,
            name=question.name,
            sequence_no=no,
            decision=answer.decision,
            detail=detail,
        )
        if isinstance(result, Match) and result.renames:
            Rerun.objects.filter(id=rerun.id).update(names=matcher.renaming.pairs())
    return answer


def answer_question(rerun: Rerun, operator_answer: OperatorAnswer) -> None:
    """Store the operator's answer about a call; raise `SessionConflict` if it waits for none, or for another one."""
    content = operator_answer.model_dump(mode="json")
    content["output"] = SessionRedaction(rerun.source_run.app).field(StepType.TOOL, "output", content["output"])
    waiting = {item.sequence_no: item for item in questions.open_questions(rerun)}
    question = waiting.get(operator_answer.sequence_no)
    if question is not None and operator_answer.action == "run" and not question.may_run:
        raise SessionConflict("this call cannot run; answer it, or refuse it", where="/action")
    if question is None or not questions.answer(rerun, question.sequence_no, content):
        raise SessionConflict(f"question {operator_answer.sequence_no} does not wait for an answer")


def answer_read(rerun: Rerun, question: ToolQuestion) -> ToolAnswer:
    """Answer a call that changes nothing: as recorded, however often it is made, else let it run.

    Raise `SessionConflict` if the rerun has ended.
    """
    if rerun.ended_at is not None:
        raise SessionConflict(f"rerun {rerun.id} has ended")
    arguments, strict = _comparable(rerun.source_run.app, question)
    calls = _calls_of(rerun.source_run_id, strict, arguments)
    matcher = _matcher(rerun, question, calls, set())
    result = matcher.match({"arguments": arguments}, strict)
    if isinstance(result, Match):
        return _recorded_answer(rerun.source_run_id, result, matcher.renaming)
    decision = RerunDecision.RUN
    RerunToolCall.objects.create(rerun=rerun, attempt=rerun.attempt, name=question.name, decision=decision)
    return ToolAnswer(decision=decision)


def _comparable(app: str, question: ToolQuestion) -> tuple[JSONValue, JSONObject]:
    """Return the arguments and the strict fields of a call, as they are compared with recorded ones."""
    arguments = SessionRedaction(app).field(question.type, "input", question.arguments)
    if question.is_shell:
        return shell_command(arguments), _SHELL
    return arguments, {"type": question.type, "name": question.name}


def _calls_of(run_id: UUID, strict: JSONObject, arguments: JSONValue) -> Sequence[RecordedRequest]:
    """Return the recorded calls of a tool or retriever; a search has only the arguments that this one could have."""
    if strict == _SHELL:
        return [
            RecordedRequest(no=call.no, request={"arguments": command}, strict=strict)
            for call in recordings.load_tool_calls(run_id)
            if (command := shell_command(call.request["arguments"]))
        ]
    calls = [call for call in recordings.load_tool_calls(run_id) if call.strict == strict]
    if strict["type"] != StepType.RETRIEVAL:
        return calls
    names = _QUERY | as_object(arguments).keys()
    return [
        RecordedRequest(no=call.no, request={"arguments": _part(call.request["arguments"], names)}, strict=strict)
        for call in calls
    ]


def _matcher(rerun: Rerun, question: ToolQuestion, calls: Sequence[RecordedRequest], used_numbers: set[int]) -> Matcher:
    """Return the matcher of a tool's calls, without the arguments that the app's calibration ignores."""
    ignoring = ignore_lists.to_rules(ignore_lists.active(rerun.source_run.app))

    def reduce(request: JSONObject) -> JSONObject:
        return {"arguments": ignoring.reduce(StepType(question.type), question.name, request["arguments"])}

    return Matcher(
        calls=RecordedCalls(calls),
        used_numbers=used_numbers,
        renaming=Renaming.from_pairs(rerun.names),
        reduce=reduce if ignoring.rules else unchanged,
    )


def _part(value: JSONValue, names: frozenset[str]) -> JSONObject:
    return {name: item for name, item in as_object(value).items() if name in names}


def _override(rerun: Rerun, question: ToolQuestion, result: Match | Divergence) -> ToolOverride | None:
    """Return the result that a fork's override sets."""
    if rerun.profile_id is None or question.type != StepType.TOOL:
        return None
    no = result.call.no if isinstance(result, Match) else None
    nearest = result.nearest if isinstance(result, Divergence) else None
    return forks.load(rerun.id).tool_result(question.name, no, nearest.no if nearest else None)


def _override_answer(override: ToolOverride) -> ToolAnswer:
    decision = RerunDecision.OVERRIDDEN
    if override.status is not StepStatus.OK:
        return ToolAnswer(decision=decision, error=tool_text(override.output) or "Exception")
    return ToolAnswer(decision=decision, output=override.output, is_text=isinstance(override.output, str))


def _recorded_answer(run_id: UUID, match: Match, renaming: Renaming) -> ToolAnswer:
    outcome = recordings.load_outcome(run_id, match.call.no)
    if outcome is None:
        reason = f"the recorded output of step {match.call.no} is lost or redacted"
        return ToolAnswer(decision=RerunDecision.REFUSAL, reason=reason)
    return ToolAnswer(
        decision=RerunDecision.EXACT if match.is_exact else RerunDecision.CACHED,
        output=rename(outcome.output, renaming),
        error=renaming.rewrite(outcome.error),
        is_text=outcome.is_text,
        step=match.call.no,
    )


def _shared_answer(
    rerun: Rerun, question: ToolQuestion, arguments: JSONValue, strict: JSONObject
) -> tuple[ToolAnswer, JSONObject] | None:
    """Give the answer that another recording has for this call, if those that share their answers include one."""
    session_id = ReplaySession.objects.filter(rerun=rerun).values_list("id", flat=True).first()
    sources = None if session_id is None else observers.shared_recordings(session_id)
    if sources is None:
        return None
    details = rerun.tool_calls.filter(attempt=rerun.attempt).values_list("detail", flat=True)
    used_numbers = numbers_by_run(details)
    for run_id in sources.load_runs():
        numbers = real_numbers(run_id, StepType(question.type))
        calls = [call for call in _calls_of(run_id, strict, arguments) if call.no in numbers]
        matcher = _matcher(rerun, question, calls, used_numbers[str(run_id)])
        result = matcher.match({"arguments": arguments}, strict)
        if isinstance(result, Match):
            answer = _recorded_answer(run_id, result, matcher.renaming)
            # Of another run, which the agent's own recording does not contain.
            is_refusal = answer.decision is RerunDecision.REFUSAL
            update = {"step": None} if is_refusal else {"step": None, "decision": RerunDecision.CACHED}
            return answer.model_copy(update=update), {"matched": {"run": str(run_id), "step": result.call.no}}
    return None


def _answer_without_recording(rerun: Rerun, question: ToolQuestion, divergence: Divergence) -> ToolAnswer:
    """Let a call run that changes nothing or that the user allowed, and refuse any other."""
    is_read = question.type == StepType.RETRIEVAL or question.name in _VALUE_TOOLS
    if is_read or safety(question.name) is True:
        return ToolAnswer(decision=RerunDecision.RUN)
    if question.name in rerun.tools_to_run:
        return _allowed_answer(rerun, question.name)
    reason = (
        f"this call of {question.name} is not in the recording of run {rerun.source_run_id}{_difference(divergence)}. "
        f"It may have side effects: review the tool as safe, or allow it with --allow-tool {question.name}"
    )
    return ToolAnswer(decision=RerunDecision.REFUSAL, reason=reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class _AskingRules:
    """Why the operator is asked: `is_consent` if where the agent runs, its user lets the operator run the tool."""

    is_consent: bool


def _asking_rules(rerun: Rerun, question: ToolQuestion) -> _AskingRules | None:
    """Return by what the operator is asked about a call; None if not, or if the agent cannot wait."""
    if not question.call or question.type != StepType.TOOL or question.name in _VALUE_TOOLS:
        return None
    if ToolRules(ask=rerun.tools_to_ask).asks(question.name):
        return _AskingRules(is_consent=True)
    session = ReplaySession.objects.filter(rerun=rerun).first()
    if session is not None and ToolRules.model_validate(session.policy["tools"]).asks(question.name):
        return _AskingRules(is_consent=False)
    return None


def _agent_call(question: ToolQuestion, arguments: JSONValue) -> AgentCall:
    return AgentCall(id=question.call, name=question.name, arguments=arguments)


def _operator_answer(rerun: Rerun, question: RerunQuestion) -> ToolAnswer:
    """Return what the operator decided; `ask` until then. The call counts once."""
    if question.answer is None:
        return ToolAnswer(decision=RerunDecision.ASK, reason=question.text)
    reply = as_object(question.answer)
    if reply.get("action") == "run":
        answer = ToolAnswer(decision=RerunDecision.RUN)
    elif reply.get("action") == "fallback":
        answer = ToolAnswer(decision=RerunDecision.REFUSAL, reason=f"the operator refused this call of {question.name}")
    else:
        override = ToolOverride(output=reply.get("output"), status=StepStatus(as_text(reply.get("status"))))
        answer = _override_answer(override)
    if not question.is_counted:
        rerun.tool_calls.create(attempt=rerun.attempt, name=question.name, decision=answer.decision)
        RerunQuestion.objects.filter(id=question.id).update(is_counted=True)
    return answer


def _allowed_answer(rerun: Rerun, name: str) -> ToolAnswer:
    """Let a tool run that may have side effects, unless it ran before the agent was started again."""
    if not rerun.tool_calls.filter(name=name, decision=RerunDecision.RUN, attempt__lt=rerun.attempt).exists():
        return ToolAnswer(decision=RerunDecision.RUN)
    reason = (
        f"{name} ran before the agent was started again, and what it returned is not recorded. Running it again could "
        "repeat its side effects: review the tool as safe, or start a new rerun"
    )
    return ToolAnswer(decision=RerunDecision.REFUSAL, reason=reason)


def _difference(divergence: Divergence) -> str:
    if divergence.nearest is None or divergence.difference is None:
        return ""
    new, old = (text_or_json(value)[:_SHORT] for value in (divergence.difference.new, divergence.difference.old))
    return f": at {divergence.difference.path} it has {new}, and step {divergence.nearest.no} has {old}"
