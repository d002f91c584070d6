"""Outcomes: what a run's result is under a question, and whether it is the base's or the candidate's. Pure."""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import pydantic

from diffing.schemas.evidence import EvidenceQuestion, ProbeOutcome, QuestionKind
from diffing.sentences.atoms.obstacles import Gap, gap
from diffing.sequences.text_diff import normalise, shorten
from replay.checks import checks
from replay.checks.bounded_matching import IsolatedMatcher
from replay.checks.checks import Outcome, ToolUse
from replay.checks.pass_rules import PassRule, is_decided
from replay.checks.schemas import Check, CheckResult, JudgementChoice, StatusCheck
from traces.core.canonical import digest
from traces.core.json_types import JSONValue
from traces.core.vocabulary import RunStatus
from traces.ingest.outcome_rules import Conclusion, Verdict
from traces.signatures.call_shapes import stated_facts

_MAX_CHARACTERS: Final = 160
_SCALE: Final[Sequence[QuestionKind]] = (
    "answer_exact",
    "answer",
    "answer_facts",
    "tool_calls",
    "status",
    "answer_alike",
)
# The minimum difference between the shares of both sides' answers that contain a word.
_MIN_WEIGHT: Final = 0.5
# Only words with this share of the largest weight count: many weak words would outvote the decisive ones by chance.
_RELATIVE_WEIGHT: Final = 0.9
_CERTAIN: Final = 0.9
# In fewer answers of a side, a word may be in all of them by chance.
_MIN_ANSWERS: Final = 4
_WORD: Final = re.compile(r"\w+")
_MARKED_WORD: Final = re.compile(r"\w+[^\w\s]+")
_CHECKS: Final[pydantic.TypeAdapter[list[Check]]] = pydantic.TypeAdapter(list[Check])
TEXTS: Final[Mapping[QuestionKind, str]] = {
    "answer": "the final answer, ignoring case and spacing",
    "answer_exact": "the final answer, character by character",
    "answer_facts": "the amounts, dates, ids and negations in the final answer",
    "answer_alike": "which recorded answer the final answer resembles more, by the words that distinguish the two",
    "tool_calls": "which tools are called with which arguments, in any order",
    "status": "whether the run ends in failure",
    "check": "whether the checks pass",
    "score": "how many checks pass",
    "outcome": "whether the run passes by its app's outcome rule",
    "judgement": "whether the run passes by one judgement",
}
_OUTCOME_QUESTIONS: Final = frozenset({"outcome", "judgement"})


@dataclass(frozen=True, kw_only=True)
class SignedCall:
    """One call of a tool; equal calls have equal signatures."""

    tool: str
    signature: str
    arguments: JSONValue = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a run; `failed` is None if only code that a replay does not run decides it.

    `conclusion`: whether it passes, for the kinds `outcome` and `judgement`.
    """

    answer: str
    failed: bool | None = False
    tools: tuple[SignedCall, ...] = ()
    validators: tuple[Verdict, ...] = ()
    conclusion: Conclusion | None = None


class UnknownOutcome(Exception):
    """The question is about something that a replay cannot compute."""


def question(
    kind: QuestionKind, conditions: Sequence[Check], choice: JudgementChoice | None = None
) -> EvidenceQuestion:
    """A question with its text; `conditions` are its checks, `choice` is the judgement of its kind."""
    has_checks = kind in {"check", "score"} or kind in _OUTCOME_QUESTIONS
    titles = [checks.title(condition) for condition in conditions] if has_checks else []
    text = f"{TEXTS[kind]}, “{choice.judgement}”" if kind == "judgement" and choice is not None else TEXTS[kind]
    link = "; replays are judged by " if kind in _OUTCOME_QUESTIONS else ": "
    return EvidenceQuestion(
        kind=kind,
        text=text + (f"{link}{'; '.join(titles)}" if titles else ""),
        checks=[condition.model_dump(mode="json") for condition in conditions],
        **(choice.model_dump(include={"judgement", "at_least", "at_most"}) if choice and kind == "judgement" else {}),
    )


def separating(evidence_question: EvidenceQuestion, base: Result, candidate: Result) -> EvidenceQuestion:
    """The question, or the finer one where two answers differ in nothing but their case: then it is about that."""
    same = evidence_question.kind == "answer" and _normalise(base.answer) == _normalise(candidate.answer)
    if not same or _one_form(base.answer) == _one_form(candidate.answer):
        return evidence_question
    return question("answer_exact", [])


def judge(
    evidence_question: EvidenceQuestion, result: Result, rule: PassRule | None, matcher: IsolatedMatcher
) -> Result:
    """The result with its conclusion, for the kinds that need one; raises `UnknownOutcome`."""
    if rule is None:
        return result
    check_results = _check_results(evidence_question, result, matcher)
    return replace(result, conclusion=rule.conclude_replay(result.failed, check_results, result.validators))


def value(evidence_question: EvidenceQuestion, result: Result, matcher: IsolatedMatcher) -> str:
    """The value to compare: runs with equal values have the same outcome; raises `UnknownOutcome`."""
    return (
        _check_value(evidence_question, result, matcher)
        if evidence_question.kind in {"check", "score"}
        else _value(evidence_question.kind, result)
    )


def _value(kind: QuestionKind, result: Result) -> str:
    match kind:
        case "answer":
            return _normalise(result.answer)
        case "answer_exact":
            return result.answer
        case "answer_facts":
            return digest(list[JSONValue](stated_facts(_normalise(result.answer))))
        case "answer_alike":
            return _normalise(result.answer)
        case "tool_calls":
            return digest(list[JSONValue](sorted(call.signature for call in result.tools)))
        case "status":
            return RunStatus.FAILED if _failed(result) else RunStatus.COMPLETED
        case "outcome" | "judgement":
            return _concluded_outcome(result)
        case "check" | "score":
            raise AssertionError("the kind alone does not contain the checks")


def describe(evidence_question: EvidenceQuestion, result: Result, matcher: IsolatedMatcher) -> str:
    """The outcome in words."""
    match evidence_question.kind:
        case "tool_calls":
            counts = Counter(call.tool for call in result.tools)
            calls = (f"{tool} {times} times" if times > 1 else tool for tool, times in counts.items())
            return shorten(", ".join(calls), _MAX_CHARACTERS) or "no tool is called"
        case "status":
            return "it fails" if _failed(result) else "it completes"
        case "check" | "score":
            return value(evidence_question, result, matcher)
        case "outcome" | "judgement":
            reason = result.conclusion.reason if result.conclusion is not None else ""
            return f"{_concluded_outcome(result)} ({reason})" if reason else _concluded_outcome(result)
        case _:
            return f"“{shorten(result.answer, _MAX_CHARACTERS)}”" if result.answer.strip() else "no answer"


def coarser(kind: QuestionKind) -> list[EvidenceQuestion]:
    """The questions coarser than this kind, the finest first."""
    if kind not in _SCALE:
        return []
    return [question(coarser_kind, []) for coarser_kind in _SCALE[_SCALE.index(kind) + 1 :]]


def values(kind: QuestionKind, result: Result) -> dict[str, str]:
    """The known outcomes of a run under this question and coarser ones, by kind; of an answer, its exact form too."""
    by_kind: dict[str, str] = {}
    start: QuestionKind = "answer_exact" if kind == "answer" else kind
    for scale_kind in _SCALE[_SCALE.index(start) :] if kind in _SCALE else ():
        with suppress(UnknownOutcome):
            by_kind[scale_kind] = _value(scale_kind, result)
    return by_kind


def classify_as(kind: str, value: str, *, base: str, candidate: str) -> ProbeOutcome:
    """The side with this outcome under a question of this kind, by the two recorded values alone."""
    if kind == "answer_alike":
        return alike(value, [base], [candidate])
    return classify(value, base=base, candidate=candidate)


def alike(text: str, base: Sequence[str], candidate: Sequence[str]) -> ProbeOutcome:
    """The side whose answers a text resembles more, by the words that distinguish the two best.

    With enough answers, a word in nearly all of one side and in none of the other also counts if it is missing, and
    such words have to agree. If there is none, but there are such pairs of neighbours, the order of the words counts;
    else such words with the marks that follow them.
    """
    certain = _CERTAIN if min(len(base), len(candidate)) >= _MIN_ANSWERS else math.inf
    words = _words(text)
    weights = distinguishing_words(base, candidate)
    if certain < math.inf and not _has_any(weights, certain):
        for features in (_neighbours, _marked_words):
            finer_weights = _weights(base, candidate, features)
            if _has_any(finer_weights, certain):
                words, weights = features(text), finer_weights
                break
    votes = [
        weight if word in words else -weight
        for word, weight in weights.items()
        if word in words or abs(weight) >= certain
    ]
    disagree = len({vote > 0 for vote in votes if abs(vote) >= certain}) > 1
    score = 0.0 if disagree else sum(votes)
    if score == 0:
        return ProbeOutcome.OTHER
    return ProbeOutcome.BASE if score > 0 else ProbeOutcome.CANDIDATE


def position_between(text: str, base: Sequence[str], candidate: Sequence[str]) -> float:
    """The position of a text between the answers of both sides: from -1 (the base's) to 1 (the candidate's)."""
    weights = distinguishing_words(*([answer.casefold() for answer in side] for side in (base, candidate)))
    words = _words(text.casefold())
    total = sum(map(abs, weights.values()))
    return sum(-weight if word in words else weight for word, weight in weights.items()) / total if total else 0.0


def distinguishing_words(base: Sequence[str], candidate: Sequence[str]) -> dict[str, float]:
    """The words that distinguish two sets of texts best, by how much more texts of the base contain them."""
    return _weights(base, candidate, _words)


def _weights(base: Sequence[str], candidate: Sequence[str], features: Callable[[str], set[str]]) -> dict[str, float]:
    left, right = _shares(base, features), _shares(candidate, features)
    weights = {word: left[word] - right[word] for word in {*left, *right}}
    least = max(_MIN_WEIGHT, _RELATIVE_WEIGHT * max(map(abs, weights.values()), default=0.0))
    return {word: weight for word, weight in weights.items() if abs(weight) >= least}


def _has_any(weights: Mapping[str, float], certain: float) -> bool:
    return any(abs(weight) >= certain for weight in weights.values())


def _words(text: str) -> set[str]:
    return {*_WORD.findall(text)}


def _neighbours(text: str) -> set[str]:
    """The pairs of words that follow each other in a text."""
    return {" ".join(pair) for pair in pairwise(_WORD.findall(text))}


def _marked_words(text: str) -> set[str]:
    """The words of a text that marks follow, with these marks."""
    return {*_MARKED_WORD.findall(text)}


def _shares(texts: Sequence[str], features: Callable[[str], set[str]]) -> defaultdict[str, float]:
    """The share of the texts that have each feature."""
    counts = Counter(feature for text in texts for feature in features(text))
    return defaultdict(float, {feature: count / len(texts) for feature, count in counts.items()})


def classify(value: str, *, base: str, candidate: str) -> ProbeOutcome:
    if value == candidate:
        return ProbeOutcome.CANDIDATE
    return ProbeOutcome.BASE if value == base else ProbeOutcome.OTHER


def _concluded_outcome(result: Result) -> str:
    conclusion = result.conclusion
    if conclusion is None or not is_decided(conclusion):
        reason = "no check or rule decides it" if conclusion is None or not conclusion.reason else conclusion.reason
        raise UnknownOutcome(gap(Gap.OUTCOME_UNDECIDED, detail=reason))
    return conclusion.outcome


def _check_value(evidence_question: EvidenceQuestion, result: Result, matcher: IsolatedMatcher) -> str:
    results = _check_results(evidence_question, result, matcher)
    if evidence_question.kind == "check":
        return "passes" if all(check_result.passed for check_result in results) else "fails"
    return f"{sum(check_result.passed for check_result in results)} of {len(results)} pass"


def _check_results(evidence_question: EvidenceQuestion, result: Result, matcher: IsolatedMatcher) -> list[CheckResult]:
    conditions = _CHECKS.validate_python(evidence_question.checks)
    failed = _failed(result) if any(isinstance(condition, StatusCheck) for condition in conditions) else False
    tools = [ToolUse(tool=call.tool, arguments=call.arguments) for call in result.tools]
    return checks.apply(conditions, Outcome(answer=result.answer, failed=failed, tools=tools), matcher)


def wants_arguments(evidence_question: EvidenceQuestion) -> bool:
    return bool(evidence_question.checks) and checks.wants_arguments(_CHECKS.validate_python(evidence_question.checks))


def _normalise(text: str) -> str:
    return _one_form(text).casefold()


def _one_form(text: str) -> str:
    """A text in one form of characters and spacing."""
    return " ".join(unicodedata.normalize("NFKC", normalise(text)).split())


def _failed(result: Result) -> bool:
    if result.failed is None:
        raise UnknownOutcome(gap(Gap.FAILURE_BY_CODE))
    return result.failed
