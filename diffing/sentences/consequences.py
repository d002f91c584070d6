"""The consequences of a cause, up to the final answer, as clauses. Pure."""

from collections.abc import Mapping
from typing import Final, assert_never

from diffing.sentences.text import capitalize, end_sentence
from diffing.sentences.verdicts import Answer, AnswerChange, Call, CallChange, Consequence, Result, ResultChange
from traces.core.vocabulary import Reason as StepReason

# Why a step did not run, by the recorded reason of its placeholder.
_PLACEHOLDER_REASONS: Final[Mapping[str, str]] = {
    StepReason.SIDE_EFFECT_BLOCKED: "it has a side effect",
    StepReason.POLICY_FALLBACK: "no recorded answer fits it",
}


def predicate(facts: Consequence) -> str:
    """The effect as a predicate: “changed the final answer”."""
    call = _call(facts.call) if facts.call else ""
    result = _result(facts.result) if facts.result else ""
    if call and result:
        return f"{call}, so {result}, and {clause(facts.answer)}"
    if call:
        return f"{call}, and {clause(facts.answer)}"
    return f"meant that {result}, and {clause(facts.answer)}" if result else _answer_predicate(facts.answer)


def statement(answer: Answer) -> str:
    """The change of the final answer as a sentence."""
    return end_sentence(capitalize(clause(answer)))


def clause(answer: Answer) -> str:
    """The change of the final answer as a clause: “the final answer changed”."""
    match answer.kind:
        case AnswerChange.DIFFERS:
            return "the final answer changed"
        case AnswerChange.ONE_SIDE:
            return f"only the {answer.side} has a final answer"
        case AnswerChange.NOT_RUN:
            return (
                f"the {answer.side} did not run {answer.tool} ({_PLACEHOLDER_REASONS[answer.reason]}), so its final "
                "answer is not what the agent would have answered"
            )
        case AnswerChange.REMOVAL:
            return f"the answer “{answer.base}” is gone"
        case AnswerChange.ADDITION:
            return f"there is now an answer: “{answer.candidate}”"
        case AnswerChange.CUT:
            return f"the answer no longer says “{answer.base}”"
        case AnswerChange.EDIT:
            instead = f" instead of “{answer.base}”" if answer.base else ""
            return f"the answer now says “{answer.candidate}”{instead}"
        case AnswerChange.REPLACEMENT:
            return f"the answer is now “{answer.candidate}” instead of “{answer.base}”"
        case _:
            assert_never(answer.kind)


def _answer_predicate(answer: Answer) -> str:
    match answer.kind:
        case AnswerChange.DIFFERS:
            return "changed the final answer"
        case AnswerChange.ONE_SIDE:
            return f"left only the {answer.side} with a final answer"
        case AnswerChange.NOT_RUN:
            return f"cannot be judged by the final answer: {clause(answer)}"
        case AnswerChange.REMOVAL:
            return f"removed the answer, which was “{answer.base}”"
        case AnswerChange.ADDITION:
            return f"produced an answer where there was none: “{answer.candidate}”"
        case AnswerChange.CUT:
            return f"removed “{answer.base}” from the answer"
        case AnswerChange.EDIT:
            instead = f" instead of “{answer.base}”" if answer.base else ""
            return f"made the answer say “{answer.candidate}”{instead}"
        case AnswerChange.REPLACEMENT:
            return f"changed the answer from “{answer.base}” to “{answer.candidate}”"
        case _:
            assert_never(answer.kind)


def _call(call: Call) -> str:
    match call.kind:
        case CallChange.EXTRA_CALL:
            return f"made the agent call {call.tool}"
        case CallChange.MISSING_CALL:
            return f"kept the agent from calling {call.tool}"
        case CallChange.ARGUMENT_CHANGED:
            argument = f"{call.tool}'s {call.argument}".removesuffix(" ")
            return f"changed {argument} from {call.base} to {call.candidate}"
        case CallChange.ARGUMENT_ADDED:
            return f"added {call.argument} ({call.candidate}) to the call of {call.tool}"
        case CallChange.ARGUMENT_REMOVED:
            return f"dropped {call.argument} from the call of {call.tool}"
        case _:
            assert_never(call.kind)


def _result(result: Result) -> str:
    match result.kind:
        case ResultChange.SUCCESS:
            return f"{result.tool} succeeded instead of failing"
        case ResultChange.FAILURE:
            return f"{result.tool} failed instead of succeeding"
        case ResultChange.TEXT:
            return f"{result.tool} answered “{result.candidate}” instead of “{result.base}”"
        case ResultChange.FIELD:
            return f"{result.tool}'s {result.field} was {result.candidate} instead of {result.base}"
        case _:
            assert_never(result.kind)
