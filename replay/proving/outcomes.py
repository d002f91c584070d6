"""Which difference is asked about: what a run came to, and whether that is the base's or the candidate's. Pure."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import pydantic

from diffing.evidence_schemas import EvidenceQuestion, QuestionKind
from diffing.text import normalise, shortened
from replay.experiments import checks
from replay.experiments.checks import Outcome, ToolUse
from replay.experiments.schemas import Check, StatusCheck
from traces.call_shapes import fixed_tokens
from traces.canonical import digest
from traces.json_types import JSONValue

_SHOWN: Final = 160
_CHECKS: Final[pydantic.TypeAdapter[list[Check]]] = pydantic.TypeAdapter(list[Check])
TEXTS: Final[Mapping[QuestionKind, str]] = {
    "answer": "what the final answer says, capitals and spaces aside",
    "answer_exact": "the final answer, character by character",
    "answer_facts": "the amounts, dates, ids and negations in the final answer",
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


def value(asked: EvidenceQuestion, result: Result) -> str:
    """What is compared: two runs have the same outcome when this is the same; raises `Unknown`."""
    match asked.kind:
        case "answer":
            return _normalised(result.answer)
        case "answer_exact":
            return result.answer
        case "answer_facts":
            return digest(list[JSONValue](sorted(fixed_tokens(_normalised(result.answer)))))
        case "tool_calls":
            return digest(list[JSONValue](sorted(used.signature for used in result.tools)))
        case "status":
            return "failed" if _failed(result) else "completed"
        case "check" | "score":
            return _checked(asked, result)


def said(asked: EvidenceQuestion, result: Result) -> str:
    """The same for people."""
    match asked.kind:
        case "tool_calls":
            counts = Counter(used.tool for used in result.tools)
            calls = (f"{tool} {times} times" if times > 1 else tool for tool, times in counts.items())
            return shortened(", ".join(calls), _SHOWN) or "no tool is called"
        case "status":
            return "it fails" if _failed(result) else "it completes"
        case "check" | "score":
            return value(asked, result)
        case _:
            return f"“{shortened(result.answer, _SHOWN)}”" if result.answer.strip() else "no answer"


def classify(value: str, *, base: str, candidate: str) -> Literal["base", "candidate", "other"]:
    if value == candidate:
        return "candidate"
    return "base" if value == base else "other"


def _checked(asked: EvidenceQuestion, result: Result) -> str:
    given = _CHECKS.validate_python(asked.checks)
    failed = _failed(result) if any(isinstance(check, StatusCheck) for check in given) else False
    tools = [ToolUse(tool=used.tool, arguments=used.arguments) for used in result.tools]
    results = checks.apply(given, Outcome(answer=result.answer, failed=failed, tools=tools))
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
