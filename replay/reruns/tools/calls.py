"""Answer the tool calls and searches that a running agent asks about before it makes them."""

from collections.abc import Callable
from typing import Final
from uuid import UUID

from django.db import transaction

from replay.core.errors import SessionConflict
from replay.core.vocabulary import RerunDecision
from replay.execution import observers
from replay.models import ReplaySession, Rerun
from replay.questions import services as questions
from replay.reruns import starts
from replay.reruns.core.matcher import Divergence, Match, Matcher
from replay.reruns.core.renaming import Renaming
from replay.reruns.requests.changed_contents import CHANGED_CONTENTS
from replay.reruns.schemas import ToolAnswer, ToolQuestion
from replay.reruns.shared_answers.recorded_steps import numbers_by_run, real_numbers
from replay.reruns.tools import client_answers, consents, operator, outcomes, overrides, permissions
from replay.reruns.tools.comparison import ComparableCall, make_matcher
from replay.reruns.tools.operator import Resolution
from replay.reruns.tools.overrides import CallOverride
from replay.store import call_cache
from traces.core.json_access import as_integer, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.signatures.call_signatures import signature

_STAND_IN: Final[JSONObject] = {"stand_in": True}


def answer(rerun: Rerun, question: ToolQuestion, *, attempt: int | None = None) -> ToolAnswer:
    """Decide about a call that the agent is about to make, in this start of it.

    Raise `SessionConflict` if the rerun has ended, or the agent was started again since.

    The recording contains what its app's policy allows, so the call is compared as it would be stored.
    """
    call = ComparableCall.from_question(rerun.source_run.app, question)
    calls = call.recorded_calls(rerun.source_run_id)
    with transaction.atomic():
        rerun = Rerun.objects.select_for_update().get(id=rerun.id)
        if rerun.ended_at is not None:
            raise SessionConflict(f"rerun {rerun.id} has ended")
        starts.require(rerun, attempt)
        if question.has_stand_in:
            return _note_stand_in(rerun, question)
        if question.client_answers:
            return client_answers.check(rerun, question)
        if question.call and (earlier_question := questions.find(rerun, question.call)):
            return operator.poll(rerun, question, earlier_question)
        numbers = rerun.tool_calls.filter(attempt=rerun.attempt).values_list("sequence_no", flat=True)
        matcher = make_matcher(rerun, question, calls, {no for no in numbers if no is not None})
        result = call.match(matcher)
        override = overrides.find(rerun, question, result)
        resolution = _resolve(rerun, question, call, result, matcher, override)
        rerun.tool_calls.create(
            attempt=rerun.attempt,
            name=question.name,
            call=question.call,
            sequence_no=override.no,
            decision=resolution.answer.decision,
            detail=resolution.detail_of(question),
        )
        if isinstance(result, Match) and result.renames:
            Rerun.objects.filter(id=rerun.id).update(names=matcher.renaming.pairs())
    return resolution.answer


def answer_read(rerun: Rerun, question: ToolQuestion, *, attempt: int | None = None) -> ToolAnswer:
    """Answer a call that changes nothing: as recorded, however often it is made, else let it run.

    Raise `SessionConflict` if the rerun has ended, or the agent was started again since.
    """
    if rerun.ended_at is not None:
        raise SessionConflict(f"rerun {rerun.id} has ended")
    starts.require(rerun, attempt)
    call = ComparableCall.from_question(rerun.source_run.app, question)
    matcher = make_matcher(rerun, question, call.recorded_calls(rerun.source_run_id))
    result = call.match(matcher)
    if isinstance(result, Match):
        return _recorded_answer(rerun.source_run_id, result, matcher.renaming)
    rerun.tool_calls.create(attempt=rerun.attempt, name=question.name, decision=RerunDecision.RUN)
    return ToolAnswer(decision=RerunDecision.RUN)


def _resolve(
    rerun: Rerun,
    question: ToolQuestion,
    call: ComparableCall,
    result: Match | Divergence,
    matcher: Matcher,
    override: CallOverride,
) -> Resolution:
    """Return the first answer of the chain: of an override, of the recording, of another one, or that it may run."""
    if (output := override.result(rerun, question)) is not None:
        return Resolution(answer=operator.override_answer(output))
    if (arguments := override.arguments(question)) is not None:
        return _with_arguments(rerun, question, arguments, override)
    if override.contents.first is not None:
        problem = f"contains step {override.contents.first}, which the fork changes"
        return _without_recording(rerun, question, call, problem, override)
    if isinstance(result, Match):
        return _assume(_recorded_answer(rerun.source_run_id, result, matcher.renaming), override)

    def match(matcher: Matcher) -> Match | None:
        other_result = call.match(matcher)
        return other_result if isinstance(other_result, Match) else None

    if (shared_answer := _shared_answer(rerun, question, call, match)) is not None:
        return shared_answer
    problem = f"is not in the recording{permissions.describe_difference(result)}"
    return _without_recording(rerun, question, call, problem, override)


def _without_recording(
    rerun: Rerun, question: ToolQuestion, call: ComparableCall, problem: str, override: CallOverride
) -> Resolution:
    """Ask the operator about a call that has no recorded outcome, or decide whether it may run."""
    may_run = permissions.answer_without_recording(rerun, question, problem)
    return operator.ask(
        rerun, question, call, f"which {problem}", may_run=may_run.decision is RerunDecision.RUN, override=override
    ) or Resolution(answer=may_run, detail=consents.missing_consent(rerun, question.name, may_run))


def _with_arguments(rerun: Rerun, question: ToolQuestion, arguments: JSONValue, override: CallOverride) -> Resolution:
    """Answer a call as that with the arguments of an override: as recorded anywhere, else it may run with them.

    These arguments are meant as they are: no value in them is volatile.
    """
    if question.is_shell:
        reason = f"the command of a call of {question.name} cannot be overridden: override its result"
        return Resolution(answer=ToolAnswer(decision=RerunDecision.REFUSAL, reason=reason))
    call = ComparableCall.from_question(rerun.source_run.app, question.model_copy(update={"arguments": arguments}))
    detail: JSONObject = {"arguments": call.step_input}

    def match(matcher: Matcher) -> Match | None:
        return matcher.match_equal({"arguments": call.arguments}, call.strict)

    own_matcher = make_matcher(rerun, question, call.recorded_calls(rerun.source_run_id))
    result = match(own_matcher)
    if result is not None:
        known_answer = _cached_answer(rerun.source_run_id, result.call.no, own_matcher.renaming)
    else:
        known_answer = _shared_answer(rerun, question, call, match) or _answer_of_app(rerun, question, call)
    if known_answer is not None:
        return Resolution(
            answer=known_answer.answer.model_copy(update={"step": override.no}),
            detail={**known_answer.detail, **detail},
        )
    answer = permissions.answer_without_recording(
        rerun, question, "gets its arguments from an override, and is in no recording"
    )
    may_run = answer.decision is RerunDecision.RUN
    reason = "whose arguments an override sets, and which is in no recording"
    if (waiting := operator.ask(rerun, question, call, reason, may_run=may_run, override=override)) is not None:
        return waiting
    if may_run:
        answer = answer.model_copy(update={"arguments": arguments})
    return Resolution(answer=answer, detail={**consents.missing_consent(rerun, question.name, answer), **detail})


def _recorded_answer(run_id: UUID, match: Match, renaming: Renaming) -> ToolAnswer:
    decision, no = RerunDecision.EXACT if match.is_exact else RerunDecision.CACHED, match.call.no
    answer = outcomes.load_answer(run_id, no, renaming, decision=decision, step=no)
    reason = f"the recorded output of step {no} is lost or redacted"
    return answer or ToolAnswer(decision=RerunDecision.REFUSAL, reason=reason)


def _assume(answer: ToolAnswer, override: CallOverride) -> Resolution:
    """Give a recorded answer, though the fork changes calls that may have been made inside: then it is not exact."""
    if not override.contents.possible or answer.decision is RerunDecision.REFUSAL:
        return Resolution(answer=answer)
    detail: JSONObject = {CHANGED_CONTENTS: [*override.contents.possible]}
    return Resolution(answer=answer.model_copy(update={"decision": RerunDecision.CACHED}), detail=detail)


def _note_stand_in(rerun: Rerun, question: ToolQuestion) -> ToolAnswer:
    """Take back that an answered call is exact: the agent got less than the call returned when recorded."""
    call = rerun.tool_calls.filter(attempt=rerun.attempt, call=question.call, decision=RerunDecision.EXACT)
    call.update(decision=RerunDecision.CACHED, detail=_STAND_IN)
    return ToolAnswer(decision=RerunDecision.CACHED)


def _cached_answer(run_id: UUID, no: int, renaming: Renaming) -> Resolution | None:
    """Return the recorded outcome of an equal call elsewhere; None if it is lost or redacted."""
    answer = outcomes.load_answer(run_id, no, renaming, decision=RerunDecision.CACHED, step=None)
    if answer is None:
        return None
    return Resolution(answer=answer, detail={"matched": {"run": str(run_id), "step": no}})


def _shared_answer(
    rerun: Rerun, question: ToolQuestion, call: ComparableCall, match: Callable[[Matcher], Match | None]
) -> Resolution | None:
    """Give the answer that another recording has for this call, if those that share their answers include one."""
    session_id = _session_id(rerun)
    sources = None if session_id is None else observers.shared_recordings(session_id)
    if sources is None:
        return None
    details = rerun.tool_calls.filter(attempt=rerun.attempt).values_list("detail", flat=True)
    used_numbers = numbers_by_run(details)
    for run_id in sources.load_runs():
        numbers = real_numbers(run_id, StepType(question.type))
        calls = [request for request in call.recorded_calls(run_id) if request.no in numbers]
        matcher = make_matcher(rerun, question, calls, used_numbers[str(run_id)])
        result = match(matcher)
        if result is not None and (answer := _cached_answer(run_id, result.call.no, matcher.renaming)):
            return answer
    return None


def _answer_of_app(rerun: Rerun, question: ToolQuestion, call: ComparableCall) -> Resolution | None:
    """Give the answer of the same call in another run of the app, unless the rerun has its own sources."""
    session_id = _session_id(rerun)
    if session_id is not None and observers.shared_recordings(session_id) is not None:
        return None
    type = StepType(question.type)
    key = signature(type=type, name=question.name, input=call.arguments, tool_name=question.name)
    if (hit := call_cache.lookup(rerun.source_run.app, key, server=call.server)) is None:
        return None
    return _cached_answer(UUID(as_text(hit.location["run"])), as_integer(hit.location["step"]) or 0, Renaming())


def _session_id(rerun: Rerun) -> UUID | None:
    return ReplaySession.objects.filter(rerun=rerun).values_list("id", flat=True).first()
