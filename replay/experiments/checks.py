"""Checks on a final answer. Pure.

Patterns, those inside JSON schemas too, run on an engine that takes linear time: no pattern can hold a worker up.
Schemas fetch nothing. There is no check that runs code.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import jsonschema_rs

from replay.experiments.schemas import Check, CheckResult, ContainsCheck, JsonSchemaCheck, RegexCheck
from traces.json_types import JSONObject

_FENCED: Final = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
_LONGEST: Final = 1_000_000  # characters of an answer that are looked at
_SHOWN: Final = 300
_LINEAR: Final = jsonschema_rs.RegexOptions(size_limit=10_000_000)


def problem(check: Check) -> str:
    """What is wrong with a check itself; empty when it can be applied."""
    try:
        if isinstance(check, RegexCheck):
            _validator({"pattern": check.pattern})
        elif isinstance(check, JsonSchemaCheck):
            _validator(check.document)
    except (ValueError, jsonschema_rs.ReferencingError) as error:  # its ValidationError is a ValueError
        kind = "pattern" if isinstance(check, RegexCheck) else "schema"
        return f"this {kind} cannot be used: {_clipped(getattr(error, 'message', str(error)))}"
    return ""


def apply(checks: Sequence[Check], answer: str) -> list[CheckResult]:
    """The result of every check on the answer, in order."""
    return [_result(check, answer[:_LONGEST]) for check in checks]


def title(check: Check) -> str:
    """The given name, or what is checked in words."""
    if check.name:
        return check.name
    if isinstance(check, ContainsCheck):
        return f"{'contains' if check.kind == 'contains' else 'does not contain'} “{check.text[:40]}”"
    return f"matches {check.pattern[:40]}" if isinstance(check, RegexCheck) else "fits the JSON schema"


def _result(check: Check, answer: str) -> CheckResult:
    if isinstance(check, ContainsCheck):
        failure = _contains(check, answer)
    elif isinstance(check, RegexCheck):
        failure = "" if _validator({"pattern": check.pattern}).is_valid(answer) else "the pattern is not found"
    else:
        failure = _fits(check, answer)
    return CheckResult(name=title(check), passed=not failure, detail=failure)


def _contains(check: ContainsCheck, answer: str) -> str:
    text, searched = (check.text.casefold(), answer.casefold()) if check.ignore_case else (check.text, answer)
    if (text in searched) == (check.kind == "contains"):
        return ""
    return "the text is not there" if check.kind == "contains" else "the text is there"


def _fits(check: JsonSchemaCheck, answer: str) -> str:
    fenced = _FENCED.match(answer)
    try:
        value = json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError) as error:
        return f"the answer is not JSON: {error}"
    first = next(_validator(check.document).iter_errors(value), None)
    if first is None:
        return ""
    where = "".join(f"/{part}" for part in first.instance_path)
    return _clipped(f"{where or '/'}: {first.message}")


def _validator(document: JSONObject) -> Any:
    return jsonschema_rs.validator_for(document, pattern_options=_LINEAR, retriever=_fetch_nothing)


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"it refers to {uri}, and nothing is fetched")


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
