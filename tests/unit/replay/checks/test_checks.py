"""Checks on an answer: results with reasons, unusable checks, and bounded matching."""

import json
import time

import pytest

from replay.checks import checks
from replay.checks.schemas import Check, ContainsCheck, JsonSchemaCheck, RegexCheck
from replay.live import matching_process
from replay.live.matching_process import first_error_isolated
from traces.core.json_types import JSONObject


@pytest.mark.parametrize(
    ("check", "answer", "good"),
    [
        (ContainsCheck(kind="contains", text="42.00"), "I refunded 42.00 EUR", True),
        (ContainsCheck(kind="contains", text="eur"), "42 EUR", False),
        (ContainsCheck(kind="contains", text="eur", ignore_case=True), "42 EUR", True),
        (ContainsCheck(kind="not_contains", text="sorry"), "Done.", True),
        (ContainsCheck(kind="not_contains", text="sorry"), "I am sorry.", False),
        (RegexCheck(kind="regex", pattern=r"\d+\.\d{2} EUR"), "It is 42.00 EUR now", True),
        (RegexCheck(kind="regex", pattern=r"^\d+$"), "42 EUR", False),
        (RegexCheck(kind="regex", pattern=r"(?i)eur"), "EUR", True),
        (JsonSchemaCheck(kind="json_schema", document={"required": ["a"]}), '{"a": 1}', True),
        (JsonSchemaCheck(kind="json_schema", document={"required": ["a"]}), '```json\n{"a": 1}\n```', True),
        (JsonSchemaCheck(kind="json_schema", document={"required": ["a"]}), '{"b": 1}', False),
        (JsonSchemaCheck(kind="json_schema", document={"type": "object"}), "a is 1", False),
    ],
)
def test_check_passes_or_states_a_reason(check: Check, answer: str, good: bool) -> None:
    [result] = checks.apply([check], checks.Outcome(answer=answer), first_error_isolated)
    assert (result.passed, bool(result.detail)) == (good, not good)


@pytest.mark.parametrize(
    "check",
    [
        RegexCheck(kind="regex", pattern="("),
        RegexCheck(kind="regex", pattern=r"(a)\1"),
        JsonSchemaCheck(kind="json_schema", document={"type": "nonsense"}),
        JsonSchemaCheck(kind="json_schema", document={"pattern": "("}),
        JsonSchemaCheck(kind="json_schema", document={"$ref": "http://127.0.0.1:9/schema.json"}),
        JsonSchemaCheck(kind="json_schema", document={"$ref": "file:///etc/hostname"}),
    ],
)
def test_unusable_check_is_detected_early(check: Check) -> None:
    assert "cannot be used" in checks.problem(check)


def _exponential_schema(times: int) -> JSONObject:
    """A small schema whose references expand exponentially."""
    twice: JSONObject = {f"a{at}": {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(times)}
    return {"$defs": {**twice, f"a{times}": {}}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (_exponential_schema(60), "unfold to more than"),
        ({"enum": ["x" * 500_000]}, "larger than"),
        ({"$ref": "#/$defs/a"}, "/a"),
    ],
)
def test_oversized_schema_is_refused(document: JSONObject, reason: str) -> None:
    assert reason in checks.problem(JsonSchemaCheck(kind="json_schema", document=document))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("```\n" + "\n" * 300_000 + "x", "not JSON"),
        ('"\\ud800"', "not JSON"),
        ("NaN", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[" * 1_000 + "]" * 1_000, "cannot be decided"),
    ],
)
def test_malformed_answers_fail_schema_checks(answer: str, reason: str) -> None:
    check = JsonSchemaCheck(kind="json_schema", document={"type": "object"})
    [result] = checks.apply([check], checks.Outcome(answer=answer), first_error_isolated)
    assert reason in result.detail


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (
            JsonSchemaCheck(
                kind="json_schema", document={"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
            ),
            "[" * 60 + "]" * 60,
        ),
        (RegexCheck(kind="regex", pattern="([ab]{0,99}){0,30}[cd][^a-z]"), "ab" * 500_000),
    ],
)
def test_slow_match_is_stopped(check: Check, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching_process, "LIMIT_S", 0.5)
    [result] = checks.apply([check], checks.Outcome(answer=answer), first_error_isolated)
    assert "took longer" in result.detail


def test_recursive_schema_applies_to_nested_values() -> None:
    check = JsonSchemaCheck(kind="json_schema", document={"type": "object", "additionalProperties": {"$ref": "#"}})
    fits, does_not = (
        checks.apply([check], checks.Outcome(answer=text), first_error_isolated)[0]
        for text in ('{"a": {}}', '{"a": {"b": 1}}')
    )
    assert fits.passed
    assert does_not.detail.startswith("/a/b: ")


@pytest.mark.parametrize("schema", [False, True])
def test_pathological_pattern_takes_linear_time(schema: bool) -> None:
    pattern = r"^(a+)+$"
    check: Check = RegexCheck(kind="regex", pattern=pattern)
    if schema:
        check = JsonSchemaCheck(kind="json_schema", document={"pattern": pattern})
    answer = "a" * 50_000 + "!"
    start = time.process_time()
    [result] = checks.apply(
        [check], checks.Outcome(answer=json.dumps(answer) if schema else answer), first_error_isolated
    )
    assert not result.passed
    assert time.process_time() - start < 30  # backtracking would take longer than the universe has
