"""Very large profiles are checked quickly, with a limited number of refusals."""

from typing import Any
from uuid import uuid4

import pydantic
import pytest

from replay.core.applied_profile import AppliedProfile, apply_profile
from replay.core.graph import Graph, Node
from replay.overrides.profile import OverrideProfile
from traces.core.vocabulary import StepType


def apply_entries(entries: list[dict[str, Any]], steps: int, fork: int = 1) -> AppliedProfile:
    nodes = tuple(
        Node(id=uuid4(), no=number, type=StepType.MODEL, name=f"m{number % 7}", model="m1")
        for number in range(fork, fork + steps)
    )
    return apply_profile(OverrideProfile.model_validate({"overrides": entries}), Graph(fork=fork, nodes=nodes))


def test_entry_for_each_step_applies() -> None:
    entries = [{"match": {"step": number}, "output": number} for number in range(5, 10_005)]
    profile = apply_entries(entries, 10_000, fork=5)
    assert not profile.refusals
    assert [(edits.entries, edits.output) for edits in profile.by_step.values()][-1][0] == (9_999,)


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (lambda number: {"match": {"type": "model"}, "output": number}, "override_conflict"),
        (lambda number: {"match": {"type": "model", "name": f"*{number}*x"}, "output": 1}, "override_matches_nothing"),
        (lambda number: {"match": {"step": 1 + number % 4}, "output": 1}, "override_before_fork"),
    ],
)
def test_number_of_refusals_is_limited(entry: Any, code: str) -> None:
    profile = apply_entries([entry(number) for number in range(1_000)], 50, fork=5)
    assert {refusal.code for refusal in profile.refusals} == {code}
    assert len(profile.refusals) == 100


def test_refusal_quotes_the_match_as_json() -> None:
    [refusal] = apply_entries([{"match": {"type": "model", "name": "é*"}, "output": 1}], 5).refusals
    assert refusal.detail == "no step from the fork on matches: type model, name é*"


def test_too_many_changed_steps_are_refused() -> None:
    insert = {"match": {"type": "model"}, "messages": [{"op": "insert", "index": 0, "content": "x"}]}
    profile = apply_entries([insert] * 1_001, 100)
    [refusal] = profile.refusals
    assert (refusal.code, refusal.where) == ("validation_error", "/overrides/overrides/1000/match")


@pytest.mark.parametrize(
    "entry",
    [
        {"match": {"type": "model", "name": "?" * 301}, "output": 1},
        {"match": {"step": True}, "output": 1},
        {"match": {"step": "1" * 201}, "output": 1},
        {"match": {"type": "model"}, "model": {"model": "m" * 121}},
        {"match": {"type": "model"}, "model": {"seed": 2**63}},
        {"match": {"type": "model"}, "messages": [{"op": "delete", "index": 2**31}]},
    ],
)
def test_unstorable_values_are_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(pydantic.ValidationError):
        OverrideProfile.model_validate({"overrides": [entry]})


def test_number_of_entries_is_limited() -> None:
    with pytest.raises(pydantic.ValidationError):
        OverrideProfile.model_validate({"overrides": [{"match": {"step": 1}, "output": 1}] * 10_001})
