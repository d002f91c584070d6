"""Checks on the outcome of a run: its final answer, the tools it called, how it ended. Pure.

Patterns and schemas cannot hold a worker up: see `bounded_matching`. There is no check that runs code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

import orjson

from replay.checks import bounded_matching
from replay.checks.bounded_matching import Apart
from replay.checks.schemas import Check, CheckResult, ContainsCheck, JsonSchemaCheck, RegexCheck, StatusCheck, ToolCheck
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import RunStatus

_FENCE: Final = "```"
_LONGEST: Final = 1_000_000  # characters of an answer that are looked at
_SHOWN: Final = 300


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """One call of a tool; its arguments only where a check wants them."""

    tool: str
    arguments: JSONValue = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What checks look at."""

    answer: str
    failed: bool = False
    tools: Sequence[ToolUse] = ()


def wants_arguments(checks: Sequence[Check]) -> bool:
    return any(isinstance(check, ToolCheck) and check.arguments for check in checks)


def problem(check: Check) -> str:
    """What is wrong with a check itself; empty when it can be applied."""
    if isinstance(check, RegexCheck):
        kind, found = "pattern", bounded_matching.problem({"pattern": check.pattern})
    elif isinstance(check, JsonSchemaCheck):
        kind, found = "schema", bounded_matching.problem(check.document)
    else:
        return ""
    return f"this {kind} cannot be used: {_clipped(found)}" if found else ""


def apply(checks: Sequence[Check], outcome: Outcome, apart: Apart) -> list[CheckResult]:
    """The result of every check, in order; `apart` decides what can take long."""
    return [_result(check, outcome, apart) for check in checks]


def title(check: Check) -> str:
    """The given name, or what is checked in words."""
    if check.name:
        return check.name
    match check:
        case ContainsCheck():
            return f"{'contains' if check.kind == 'contains' else 'does not contain'} “{check.text[:40]}”"
        case RegexCheck():
            return f"matches {check.pattern[:40]}"
        case JsonSchemaCheck():
            return "fits the JSON schema"
        case ToolCheck():
            with_these = " with these arguments" if check.arguments else ""
            return f"{'calls' if check.kind == 'tool_called' else 'does not call'} {check.tool[:40]}{with_these}"
        case StatusCheck():
            return f"the run {check.status}"


def _result(check: Check, outcome: Outcome, apart: Apart) -> CheckResult:
    failure = _failure(check, outcome, apart)
    return CheckResult(name=title(check), passed=not failure, detail=failure)


def _failure(check: Check, outcome: Outcome, apart: Apart) -> str:
    answer = outcome.answer[:_LONGEST]
    match check:
        case ContainsCheck():
            return _contains(check, answer)
        case RegexCheck():
            return _found(check, answer, apart)
        case JsonSchemaCheck():
            return _fits(check, answer, apart)
        case ToolCheck():
            return _called(check, outcome.tools)
        case StatusCheck():
            ended = RunStatus.FAILED if outcome.failed else RunStatus.COMPLETED
            return "" if ended == check.status else f"the run {ended}"


def _called(check: ToolCheck, tools: Sequence[ToolUse]) -> str:
    count = sum(fnmatchcase(use.tool, check.tool) and _has(use.arguments, check.arguments) for use in tools)
    if bool(count) == (check.kind == "tool_called"):
        return ""
    return f"it was called {count} time{'' if count == 1 else 's'}" if count else "it was not called so"


def _has(arguments: JSONValue, wanted: JSONObject) -> bool:
    given = arguments if isinstance(arguments, dict) else {}
    return all(name in given and digest(given[name]) == digest(value) for name, value in wanted.items())


def _contains(check: ContainsCheck, answer: str) -> str:
    text, searched = (check.text.casefold(), answer.casefold()) if check.ignore_case else (check.text, answer)
    if (text in searched) == (check.kind == "contains"):
        return ""
    return "the text is not there" if check.kind == "contains" else "the text is there"


def _found(check: RegexCheck, answer: str, apart: Apart) -> str:
    failure = bounded_matching.failure({"pattern": check.pattern}, answer, len(answer), apart)
    return "the pattern is not found" if failure.startswith("/: ") else failure


def _fits(check: JsonSchemaCheck, answer: str, apart: Apart) -> str:
    text = _unfenced(answer)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return f"the answer is not JSON: {error}"
    return _clipped(bounded_matching.failure(check.document, value, len(text), apart))


def _unfenced(answer: str) -> str:
    """The content of an answer that is one fenced block; any other answer as it is."""
    text = answer.strip()
    head, _, rest = text.removeprefix(_FENCE).partition("\n")
    content, _, end = rest.rpartition("\n")
    language = head.strip()
    fenced = text.startswith(_FENCE) and end.strip() == _FENCE and (not language or language.isalpha())
    return content if fenced else text


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
