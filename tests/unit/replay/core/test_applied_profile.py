"""Profiles larger than anybody writes by hand: what is wrong with them is said shortly, and soon."""

from typing import Any
from uuid import uuid4

import pydantic
import pytest

from replay.core.applied_profile import AppliedProfile, apply_profile
from replay.core.graph import Graph, Node
from replay.overrides.profile import OverrideProfile
from traces.core.vocabulary import StepType


def applied(entries: list[dict[str, Any]], steps: int, fork: int = 1) -> AppliedProfile:
    nodes = tuple(
        Node(id=uuid4(), no=number, type=StepType.MODEL, name=f"m{number % 7}", model="m1")
        for number in range(fork, fork + steps)
    )
    return apply_profile(OverrideProfile.model_validate({"overrides": entries}), Graph(fork=fork, nodes=nodes))


def test_a_profile_with_an_entry_for_each_step_of_a_long_run_applies() -> None:
    entries = [{"match": {"step": number}, "output": number} for number in range(5, 10_005)]
    found = applied(entries, 10_000, fork=5)
    assert not found.refusals
    assert [(edits.entries, edits.output) for edits in found.by_step.values()][-1][0] == (9_999,)


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (lambda number: {"match": {"type": "model"}, "output": number}, "override_conflict"),
        (lambda number: {"match": {"type": "model", "name": f"*{number}*x"}, "output": 1}, "override_matches_nothing"),
        (lambda number: {"match": {"step": 1 + number % 4}, "output": 1}, "override_before_fork"),
    ],
)
def test_no_more_is_refused_than_one_reads(entry: Any, code: str) -> None:
    found = applied([entry(number) for number in range(1_000)], 50, fork=5)
    assert {refusal.code for refusal in found.refusals} == {code}
    assert len(found.refusals) == 100


def test_entries_that_each_change_everything_are_too_many_together() -> None:
    insert = {"match": {"type": "model"}, "messages": [{"op": "insert", "index": 0, "content": "x"}]}
    found = applied([insert] * 1_001, 100)
    [refusal] = found.refusals
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
def test_what_no_store_holds_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(pydantic.ValidationError):
        OverrideProfile.model_validate({"overrides": [entry]})


def test_a_profile_has_so_many_entries_at_most() -> None:
    with pytest.raises(pydantic.ValidationError):
        OverrideProfile.model_validate({"overrides": [{"match": {"step": 1}, "output": 1}] * 10_001})
