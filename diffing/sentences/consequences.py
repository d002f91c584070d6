"""The consequences of a cause, up to the final answer, as clauses. Pure."""

from collections.abc import Mapping
from typing import Final

from diffing.sentences.text import capitalize, end_sentence
from diffing.sentences.verdicts import Answer, AnswerChange, Call, CallChange, Consequence, Result, ResultChange
from traces.core.vocabulary import Reason as StepReason

# Why a step did not run, by the recorded reason of its placeholder.
_PLACEHOLDER_REASONS: Final[Mapping[str, str]] = {
    StepReason.SIDE_EFFECT_BLOCKED: "it has a side effect",
    StepReason.POLICY_FALLBACK: "no recorded answer fits it",
}
# “the final answer changed”
_ANSWER_CLAUSES: Final[Mapping[AnswerChange, str]] = {
    AnswerChange.DIFFERS: "the final answer changed",
    AnswerChange.ONE_SIDE: "only the {answer.side} has a final answer",
    AnswerChange.NOT_RUN: "the {answer.side} did not run {answer.tool} ({reason}), so its final answer is not what the "
    "agent would have answered",
    AnswerChange.REMOVAL: "the answer “{answer.base}” is gone",
    AnswerChange.ADDITION: "there is now an answer: “{answer.candidate}”",
    AnswerChange.CUT: "the answer no longer says “{answer.base}”",
    AnswerChange.EDIT: "the answer now says “{answer.candidate}”{instead}",
    AnswerChange.REPLACEMENT: "the answer is now “{answer.candidate}” instead of “{answer.base}”",
}
# “changed the final answer”
_ANSWER_PREDICATES: Final[Mapping[AnswerChange, str]] = {
    AnswerChange.DIFFERS: "changed the final answer",
    AnswerChange.ONE_SIDE: "left only the {answer.side} with a final answer",
    AnswerChange.NOT_RUN: f"cannot be judged by the final answer: {_ANSWER_CLAUSES[AnswerChange.NOT_RUN]}",
    AnswerChange.REMOVAL: "removed the answer, which was “{answer.base}”",
    AnswerChange.ADDITION: "produced an answer where there was none: “{answer.candidate}”",
    AnswerChange.CUT: "removed “{answer.base}” from the answer",
    AnswerChange.EDIT: "made the answer say “{answer.candidate}”{instead}",
    AnswerChange.REPLACEMENT: "changed the answer from “{answer.base}” to “{answer.candidate}”",
}
_CALLS: Final[Mapping[CallChange, str]] = {
    CallChange.EXTRA_CALL: "made the agent call {call.tool}",
    CallChange.MISSING_CALL: "kept the agent from calling {call.tool}",
    CallChange.ARGUMENT_CHANGED: "changed {argument} from {call.base} to {call.candidate}",
    CallChange.ARGUMENT_ADDED: "added {call.argument} ({call.candidate}) to the call of {call.tool}",
    CallChange.ARGUMENT_REMOVED: "dropped {call.argument} from the call of {call.tool}",
}
_RESULTS: Final[Mapping[ResultChange, str]] = {
    ResultChange.SUCCESS: "{result.tool} succeeded instead of failing",
    ResultChange.FAILURE: "{result.tool} failed instead of succeeding",
    ResultChange.TEXT: "{result.tool} answered “{result.candidate}” instead of “{result.base}”",
    ResultChange.FIELD: "{result.tool}'s {result.field} was {result.candidate} instead of {result.base}",
}


def predicate(facts: Consequence) -> str:
    """The effect as a predicate: “changed the final answer”."""
    call = call_predicate(facts.call) if facts.call else ""
    result = _result(facts.result) if facts.result else ""
    if call and result:
        return f"{call}, so {result}, and {clause(facts.answer)}"
    if call:
        return f"{call}, and {clause(facts.answer)}"
    return f"meant that {result}, and {clause(facts.answer)}" if result else _answer(_ANSWER_PREDICATES, facts.answer)


def statement(answer: Answer) -> str:
    """The change of the final answer as a sentence."""
    return end_sentence(capitalize(clause(answer)))


def clause(answer: Answer) -> str:
    """The change of the final answer as a clause: “the final answer changed”."""
    return _answer(_ANSWER_CLAUSES, answer)


def _answer(texts: Mapping[AnswerChange, str], answer: Answer) -> str:
    instead = f" instead of “{answer.base}”" if answer.base else ""
    reason = _PLACEHOLDER_REASONS.get(answer.reason, "")
    return texts[answer.kind].format(answer=answer, instead=instead, reason=reason)


def call_predicate(call: Call) -> str:
    """The first different call as a predicate: “changed issue_refund's amount from 4200 to 42”."""
    return _CALLS[call.kind].format(call=call, argument=argument_name(call))


def argument_name(call: Call) -> str:
    """The argument that differs, with its tool."""
    return f"{call.tool}'s {call.argument}".removesuffix(" ")


def _result(result: Result) -> str:
    return _RESULTS[result.kind].format(result=result)
