"""Redaction policies: paths, validation, and the policy of all apps together with an app's own."""

from typing import Any

import pytest
from pydantic import ValidationError

from traces.core.vocabulary import StepType
from traces.redaction.policy import Action, FieldPaths, FieldRule, PolicyContent, combine


def rule(path: str, action: str = "drop", name: str = "a-rule") -> FieldRule:
    return FieldRule.model_validate({"name": name, "action": action, "path": path})


@pytest.mark.parametrize(
    ("pattern", "path", "is_match"),
    [
        ("/input/a", "input a", True),
        ("/input/a", "input b", False),
        ("/input/*/b", "input 0 b", True),
        ("/input/*/b", "input b", False),
        ("/**/b", "output x y b", True),
        ("/**/b", "output", False),
        ("/input/**", "input", True),
        ("/input/**/a/**/b", "input a x b", True),
        ("/input/a~1b", "input a/b", True),
    ],
)
def test_path_matches(pattern: str, path: str, is_match: bool) -> None:
    paths = FieldPaths([rule(pattern)])
    field, *keys = path.split(" ")
    states = paths.start(StepType.TOOL, field)
    for key in keys:
        states = paths.enter(states, key)
    assert (paths.rule_at(states) is not None) is is_match


def test_strongest_action_wins() -> None:
    paths = FieldPaths([rule("/input", action, action) for action in ("hash", "raw", "redact")])
    match = paths.rule_at(paths.start(StepType.TOOL, "input"))
    assert match is not None
    assert match.action is Action.HASH


@pytest.mark.parametrize(
    ("document", "location", "message"),
    [
        ({"rules": [{"name": "a", "action": "drop", "path": "input/x"}]}, ("rules", 0, "path"), "JSON pointer"),
        ({"rules": [{"name": "a", "action": "drop", "path": "/inputs/x"}]}, ("rules", 0, "path"), "begins with"),
        ({"rules": [{"name": "a", "action": "keep", "path": "/input"}]}, ("rules", 0, "action"), "raw"),
        ({"rules": [{"name": "Not a slug", "action": "raw", "path": "/input"}]}, ("rules", 0, "name"), "pattern"),
        (
            {"rules": [{"name": "a", "action": "raw", "path": "/metadata/x", "step_types": ["tool"]}]},
            ("rules", 0),
            "field of runs",
        ),
        ({"rules": [{"name": "a", "action": "raw", "path": "/input"}] * 2}, (), "same name"),
    ],
)
def test_invalid_policy_names_what_and_where(document: Any, location: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        PolicyContent.model_validate(document)
    (problem,) = caught.value.errors()
    assert problem["loc"] == location
    assert message in problem["msg"]


def test_own_policy_adds_rules_and_decides_detectors() -> None:
    general = PolicyContent(secrets=False, rules=[rule("/input/a")])
    own = PolicyContent(rules=[rule("/input/b")])
    policy = combine([general, own])
    assert policy.secrets is False
    assert len(policy.rules) == 2
    assert combine([general, PolicyContent(secrets=True)]).secrets is True
    assert combine([]).secrets is True
