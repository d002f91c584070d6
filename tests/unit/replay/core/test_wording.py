"""Sentences about a replay."""

from replay.core import wording
from traces.core.json_types import JSONValue


def test_changed_arguments_are_named() -> None:
    before: JSONValue = {"order": "A-1", "amount": 4200}
    text = wording.changed_arguments(8, "issue_refund", before, {"order": "A-1", "amount": 42})
    assert text == "Step 8: issue_refund was called with amount 42 instead of 4200."


def test_new_and_missing_arguments_are_named() -> None:
    text = wording.changed_arguments(8, "find", {"limit": 5}, {"query": "boots"})
    assert text == 'Step 8: find was called with new query "boots"; no limit instead of 5.'


def test_step_list_joins_ranges() -> None:
    assert wording.step_list([10]) == "step 10"
    assert wording.step_list([3, 4]) == "steps 3 and 4"
    assert wording.step_list([3, 5, 6, 7, 9]) == "steps 3, 5 to 7 and 9"
    assert wording.step_list([5, 7, 9, 10]) == "steps 5, 7, 9 and 10"
    assert wording.step_list(range(1, 20, 2)) == "steps 1, 3, 5, 7, 9 and 5 more"
    assert wording.unreached_steps([8]) == ["Step 8 was no longer reached."]
    assert wording.unreached_steps([8, 9, 10]) == ["Steps 8 to 10 were no longer reached."]


def test_deviation_from_plan() -> None:
    text = wording.deviation(5, "exact", "live_model_call")
    assert text == "Step 5 was planned to keep its recorded answer, but was answered live."


def test_new_calls_name_their_outcome() -> None:
    assert wording.new_calls([("get_order", "live_tool_call")]) == ("1 new call is made: get_order goes live.")
    many = [("send_email", "side_effect_blocked"), ("get_order", "duplicate_suppressed"), *[("look", "")] * 5]
    assert wording.new_calls(many) == (
        "7 new calls are made: send_email is blocked, get_order is not made again, "
        "look gets no answer, look gets no answer, look gets no answer, and 2 more."
    )
