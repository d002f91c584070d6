"""Checks on the outcome of a run: its final answer, its tool calls, its status. Pure.

Patterns and schemas cannot block a worker: see `bounded_matching`. No check runs code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

import orjson

from replay.checks import bounded_matching
from replay.checks.bounded_matching import IsolatedMatcher
from replay.checks.schemas import Check, CheckResult, ContainsCheck, JsonSchemaCheck, RegexCheck, StatusCheck, ToolCheck
from traces.core.canonical import digest
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import RunStatus

_FENCE: Final = "```"
# Characters of an answer that are checked.
_MAX_ANSWER: Final = 1_000_000
_MAX_DETAIL: Final = 300


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """One call of a tool; arguments only if a check needs them."""

    tool: str
    arguments: JSONValue = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a run, as far as checks examine it."""

    answer: str
    failed: bool = False
    tools: Sequence[ToolUse] = ()


def wants_arguments(checks: Sequence[Check]) -> bool:
    return any(isinstance(check, ToolCheck) and check.arguments for check in checks)


def problem(check: Check) -> str:
    """Why a check cannot be used; empty if it can."""
    if isinstance(check, RegexCheck):
        kind, reason = "pattern", bounded_matching.problem({"pattern": check.pattern})
    elif isinstance(check, JsonSchemaCheck):
        kind, reason = "schema", bounded_matching.problem(check.document)
    else:
        return ""
    return f"this {kind} cannot be used: {_clip(reason)}" if reason else ""


def apply(checks: Sequence[Check], outcome: Outcome, matcher: IsolatedMatcher) -> list[CheckResult]:
    """The result of every check, in order; `matcher` decides slow matches."""
    return [_result(check, outcome, matcher) for check in checks]


def title(check: Check) -> str:
    """The given name, or a description of the check."""
    if check.name:
        return check.name
    match check:
        case ContainsCheck():
            return f"{'contains' if check.kind == 'contains' else 'does not contain'} “{check.text[:40]}”"
        case RegexCheck():
            return f"matches {check.pattern[:40]}"
        case JsonSchemaCheck():
            return "matches the JSON schema"
        case ToolCheck():
            suffix = " with these arguments" if check.arguments else ""
            return f"{'calls' if check.kind == 'tool_called' else 'does not call'} {check.tool[:40]}{suffix}"
        case StatusCheck():
            return f"the run {check.status}"


def _result(check: Check, outcome: Outcome, matcher: IsolatedMatcher) -> CheckResult:
    failure = _failure(check, outcome, matcher)
    return CheckResult(name=title(check), passed=not failure, detail=failure)


def _failure(check: Check, outcome: Outcome, matcher: IsolatedMatcher) -> str:
    answer = outcome.answer[:_MAX_ANSWER]
    match check:
        case ContainsCheck():
            return _text_failure(check, answer)
        case RegexCheck():
            return _pattern_failure(check, answer, matcher)
        case JsonSchemaCheck():
            return _schema_failure(check, answer, matcher)
        case ToolCheck():
            return _tool_failure(check, outcome.tools)
        case StatusCheck():
            status = RunStatus.FAILED if outcome.failed else RunStatus.COMPLETED
            return "" if status == check.status else f"the run {status}"


def _tool_failure(check: ToolCheck, tools: Sequence[ToolUse]) -> str:
    count = sum(fnmatchcase(use.tool, check.tool) and _has(use.arguments, check.arguments) for use in tools)
    if bool(count) == (check.kind == "tool_called"):
        return ""
    return f"it was called {count} time{'' if count == 1 else 's'}" if count else "there was no such call"


def _has(arguments: JSONValue, expected: JSONObject) -> bool:
    actual = as_object(arguments)
    return all(name in actual and digest(actual[name]) == digest(value) for name, value in expected.items())


def _text_failure(check: ContainsCheck, answer: str) -> str:
    needle, haystack = (check.text.casefold(), answer.casefold()) if check.ignore_case else (check.text, answer)
    if (needle in haystack) == (check.kind == "contains"):
        return ""
    return "the answer does not contain the text" if check.kind == "contains" else "the answer contains the text"


def _pattern_failure(check: RegexCheck, answer: str, matcher: IsolatedMatcher) -> str:
    failure = bounded_matching.failure({"pattern": check.pattern}, answer, len(answer), matcher)
    return "the pattern does not match" if failure.startswith("/: ") else failure


def _schema_failure(check: JsonSchemaCheck, answer: str, matcher: IsolatedMatcher) -> str:
    text = _strip_fence(answer)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return f"the answer is not JSON: {error}"
    return _clip(bounded_matching.failure(check.document, value, len(text), matcher))


def _strip_fence(answer: str) -> str:
    """The content of an answer that is one fenced block; any other answer unchanged."""
    text = answer.strip()
    head, _, rest = text.removeprefix(_FENCE).partition("\n")
    content, _, end = rest.rpartition("\n")
    language = head.strip()
    is_fenced = text.startswith(_FENCE) and end.strip() == _FENCE and (not language or language.isalpha())
    return content if is_fenced else text


def _clip(text: str) -> str:
    return text if len(text) <= _MAX_DETAIL else text[: _MAX_DETAIL - 1] + "…"
