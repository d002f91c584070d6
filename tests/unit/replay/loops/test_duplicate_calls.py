"""ReplayControl follows its specification exactly."""

import hashlib

import pytest

from replay.loops.duplicate_calls import ReplayControl, ToolSpec, call_key
from traces.core.json_types import JSONValue

ARGUMENTS: JSONValue = {"q": "capital of France"}


def history(outcomes: list[str], spec: ToolSpec | None) -> ReplayControl:
    control = ReplayControl()
    for step, outcome in enumerate(outcomes, 1):
        if outcome == "success":
            control.record_success("web_search", ARGUMENTS, spec, step=step)
        else:
            getattr(control, f"record_{outcome}")("web_search", ARGUMENTS, spec)
    return control


@pytest.mark.parametrize(
    ("idempotent", "outcomes", "skip"),
    [
        (False, [], False),
        (False, ["success"], False),
        (True, [], False),
        (True, ["success"], True),
        (True, ["failure"], False),
        (True, ["timeout"], False),
        (True, ["denied"], False),
        (True, ["failure", "success"], True),
        (True, ["success", "failure"], True),
        (True, ["denied", "success"], True),
        (True, ["timeout", "failure", "denied"], False),
        (None, [], False),
        (None, ["success"], True),
        (None, ["failure"], False),
    ],
)
def test_decision_rules(idempotent: bool | None, outcomes: list[str], skip: bool) -> None:
    spec = None if idempotent is None else ToolSpec(name="web_search", idempotent=idempotent)
    decision = history(outcomes, spec).should_skip("web_search", ARGUMENTS, spec)
    assert decision.skip is skip
    assert decision.reason == ("duplicate" if skip else "")


def test_denial_names_successful_step() -> None:
    assert history(["failure", "success", "success"], None).should_skip("web_search", ARGUMENTS).step == 2


def test_key_is_md5_of_call() -> None:
    expected = hashlib.md5(b'send:{"a": 1, "b": "\\u00e9"}', usedforsecurity=False).hexdigest()
    assert call_key("send", {"b": "é", "a": 1}) == expected


def test_number_types_distinguish_calls() -> None:
    equal_values: list[JSONValue] = [1, 1.0, "1", True]
    assert len({call_key("t", {"n": value}) for value in equal_values}) == 4


def test_history_counts_distinct_calls() -> None:
    control = history(["failure", "success"], None)
    control.record_denied("web_search", {"q": "population of France"})
    assert control.history_size() == 2
