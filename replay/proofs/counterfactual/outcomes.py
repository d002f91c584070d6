"""Which difference is asked about: what a run came to, and whether that is the base's or the candidate's. Pure."""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

import pydantic

from diffing.schemas.evidence import EvidenceQuestion, QuestionKind
from diffing.sequences.text_diff import normalise, shorten
from replay.checks import checks
from replay.checks.bounded_matching import Apart
from replay.checks.checks import Outcome, ToolUse
from replay.checks.schemas import Check, StatusCheck
from traces.core.canonical import digest
from traces.core.json_types import JSONValue
from traces.core.vocabulary import RunStatus
from traces.signatures.call_shapes import fixed_tokens

_SHOWN: Final = 160
_SCALE: Final[Sequence[QuestionKind]] = (
    "answer_exact",
    "answer",
    "answer_facts",
    "tool_calls",
    "status",
    "answer_alike",
)
_TELLING: Final = 0.5  # how much more often a word stands in the answers of one side
_STRONGEST: Final = 0.9  # of the words that tell most: many weak words would outvote the decision by chance
_CERTAIN: Final = 0.9
_SEVERAL: Final = 4  # answers of a side; in fewer any word may stand in all by chance
_WORD: Final = re.compile(r"\w+")
_CHECKS: Final[pydantic.TypeAdapter[list[Check]]] = pydantic.TypeAdapter(list[Check])
TEXTS: Final[Mapping[QuestionKind, str]] = {
    "answer": "what the final answer says, capitals and spaces aside",
    "answer_exact": "the final answer, character by character",
    "answer_facts": "the amounts, dates, ids and negations in the final answer",
    "answer_alike": "which recorded answer the final answer is more like, by the words that tell the two apart",
    "tool_calls": "which tools are called with which arguments, in any order",
    "status": "whether the run ends in failure",
    "check": "whether the checks pass",
    "score": "how many checks pass",
}


@dataclass(frozen=True, kw_only=True)
class Used:
    """One call of a tool; equal calls have equal signatures."""

    tool: str
    signature: str
    arguments: JSONValue = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a run came to; `failed` null where only code that a replay does not run could tell."""

    answer: str
    failed: bool | None = False
    tools: tuple[Used, ...] = ()


class Unknown(Exception):
    """The question is about something that the replay cannot compute."""


def question(kind: QuestionKind, given: Sequence[Check]) -> EvidenceQuestion:
    """The question in words."""
    named = f": {'; '.join(checks.title(check) for check in given)}" if given and kind in {"check", "score"} else ""
    return EvidenceQuestion(
        kind=kind, text=TEXTS[kind] + named, checks=[check.model_dump(mode="json") for check in given]
    )


def value(asked: EvidenceQuestion, result: Result, apart: Apart) -> str:
    """What is compared: two runs have the same outcome when this is the same; raises `Unknown`."""
    return _checked(asked, result, apart) if asked.kind in {"check", "score"} else _value(asked.kind, result)


def _value(kind: QuestionKind, result: Result) -> str:
    match kind:
        case "answer":
            return _normalised(result.answer)
        case "answer_exact":
            return result.answer
        case "answer_facts":
            return digest(list[JSONValue](sorted(fixed_tokens(_normalised(result.answer)))))
        case "answer_alike":
            return _normalised(result.answer)
        case "tool_calls":
            return digest(list[JSONValue](sorted(used.signature for used in result.tools)))
        case "status":
            return RunStatus.FAILED if _failed(result) else RunStatus.COMPLETED
        case "check" | "score":
            raise AssertionError("which checks is not known by the kind alone")


def said(asked: EvidenceQuestion, result: Result, apart: Apart) -> str:
    """The same for people."""
    match asked.kind:
        case "tool_calls":
            counts = Counter(used.tool for used in result.tools)
            calls = (f"{tool} {times} times" if times > 1 else tool for tool, times in counts.items())
            return shorten(", ".join(calls), _SHOWN) or "no tool is called"
        case "status":
            return "it fails" if _failed(result) else "it completes"
        case "check" | "score":
            return value(asked, result, apart)
        case _:
            return f"“{shorten(result.answer, _SHOWN)}”" if result.answer.strip() else "no answer"


def coarser(kind: QuestionKind) -> list[EvidenceQuestion]:
    """The questions that say less than one of this kind, the one that says most first."""
    if kind not in _SCALE:
        return []
    return [question(other, []) for other in _SCALE[_SCALE.index(kind) + 1 :]]


def values(kind: QuestionKind, result: Result) -> dict[str, str]:
    """What a run came to under a question without checks and all coarser ones, as far as that is known."""
    found: dict[str, str] = {}
    for other in _SCALE[_SCALE.index(kind) :] if kind in _SCALE else ():
        with suppress(Unknown):
            found[other] = _value(other, result)
    return found


def classify_as(kind: str, value: str, *, base: str, candidate: str) -> Literal["base", "candidate", "other"]:
    """Whose outcome a value is under a question of this kind, by the two recorded values alone."""
    if kind == "answer_alike":
        return alike(value, [base], [candidate])
    return classify(value, base=base, candidate=candidate)


def alike(text: str, base: Sequence[str], candidate: Sequence[str]) -> Literal["base", "candidate", "other"]:
    """The side whose answers a text is more like: by the words that tell the two apart best.

    Of several answers, words that stand in nearly all of one side and in none of the other tell by being missing as
    well, and have to agree.
    """
    weights = telling_words(base, candidate)
    words = {*_WORD.findall(text)}
    certain = _CERTAIN if min(len(base), len(candidate)) >= _SEVERAL else math.inf
    votes = [
        weight if word in words else -weight
        for word, weight in weights.items()
        if word in words or abs(weight) >= certain
    ]
    disagree = len({vote > 0 for vote in votes if abs(vote) >= certain}) > 1
    score = 0.0 if disagree else sum(votes)
    return "base" if score > 0 else "candidate" if score < 0 else "other"


def between(text: str, base: Sequence[str], candidate: Sequence[str]) -> float:
    """Where a text lies between the answers of both sides: from -1, the base's, to 1, the candidate's."""
    weights = telling_words(*([each.casefold() for each in side] for side in (base, candidate)))
    words = {*_WORD.findall(text.casefold())}
    total = sum(map(abs, weights.values()))
    return sum(-weight if word in words else weight for word, weight in weights.items()) / total if total else 0.0


def telling_words(base: Sequence[str], candidate: Sequence[str]) -> dict[str, float]:
    """The words that tell two sets of texts apart best: how much more often each stands in those of the base."""
    one, other = _shares(base), _shares(candidate)
    weights = {word: one[word] - other[word] for word in {*one, *other}}
    least = max(_TELLING, _STRONGEST * max(map(abs, weights.values()), default=0.0))
    return {word: weight for word, weight in weights.items() if abs(weight) >= least}


def _shares(texts: Sequence[str]) -> defaultdict[str, float]:
    """In what share of the texts each word stands."""
    counts = Counter(word for text in texts for word in {*_WORD.findall(text)})
    return defaultdict(float, {word: count / len(texts) for word, count in counts.items()})


def classify(value: str, *, base: str, candidate: str) -> Literal["base", "candidate", "other"]:
    if value == candidate:
        return "candidate"
    return "base" if value == base else "other"


def _checked(asked: EvidenceQuestion, result: Result, apart: Apart) -> str:
    given = _CHECKS.validate_python(asked.checks)
    failed = _failed(result) if any(isinstance(check, StatusCheck) for check in given) else False
    tools = [ToolUse(tool=used.tool, arguments=used.arguments) for used in result.tools]
    results = checks.apply(given, Outcome(answer=result.answer, failed=failed, tools=tools), apart)
    if asked.kind == "check":
        return "passes" if all(one.passed for one in results) else "fails"
    return f"{sum(one.passed for one in results)} of {len(results)} pass"


def wants_arguments(asked: EvidenceQuestion) -> bool:
    return bool(asked.checks) and checks.wants_arguments(_CHECKS.validate_python(asked.checks))


def _normalised(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", normalise(text)).casefold().split())


def _failed(result: Result) -> bool:
    if result.failed is None:
        raise Unknown("whether the run fails is decided by code of the agent, which a replay does not run")
    return result.failed
