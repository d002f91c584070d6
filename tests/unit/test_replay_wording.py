"""What a replay says about itself, in sentences."""

from replay import wording
from traces.json_types import JSONValue


def test_a_call_with_other_arguments_names_what_changed() -> None:
    before: JSONValue = {"order": "A-1", "amount": 4200}
    said = wording.asked_otherwise(8, "issue_refund", before, {"order": "A-1", "amount": 42})
    assert said == "Step 8: issue_refund was asked with amount 42 instead of 4200."


def test_arguments_that_come_and_go_are_named() -> None:
    said = wording.asked_otherwise(8, "find", {"limit": 5}, {"query": "boots"})
    assert said == 'Step 8: find was asked with query "boots", which it was not before; no limit, which was 5.'


def test_steps_are_counted_and_run_together() -> None:
    assert wording.numbered([10]) == "step 10"
    assert wording.numbered([3, 4]) == "steps 3, 4"
    assert wording.numbered([3, 5, 6, 7, 9]) == "steps 3, 5 to 7 and 9"
    assert wording.numbered(range(1, 20, 2)) == "steps 1, 3, 5, 7, 9 and 5 more"
    assert wording.unreached([8]) == ["Step 8 was not reached any more."]
    assert wording.unreached([8, 9, 10]) == ["Steps 8 to 10 were not reached any more."]


def test_a_step_that_left_the_plan_says_how() -> None:
    said = wording.otherwise(5, "exact", "live_model_call")
    assert said == "Step 5 was planned to keep its recorded answer, but was answered live."
