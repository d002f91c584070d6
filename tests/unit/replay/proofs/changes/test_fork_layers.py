"""Overrides of several fork generations as changes that can be applied and reverted independently."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.proofs.changes import fork_layers
from replay.proofs.changes.atoms import Changes
from tests.unit.replay.proofs.changes.test_roots import dump_profile, matching_steps
from traces.core.json_types import JSONObject

MODELS: JSONObject = {"type": "model"}


def temperature(value: float, **match: Any) -> JSONObject:
    return {"match": dict(match or MODELS), "model": {"temperature": value}}


def changes(base: list[list[JSONObject]], candidate: list[list[JSONObject]]) -> Changes:
    fork_changes, common = fork_layers.changes_between(
        fork_layers.settings(base), fork_layers.settings(candidate), matching_steps
    )
    return Changes(changes={change.atom.id: change for change in fork_changes}, common=tuple(common))


def at_steps(entries: list[dict[str, Any]]) -> dict[int, float]:
    """The temperature of every step; fails if a step is set twice."""
    temperatures: dict[int, float] = {}
    for entry in entries:
        for step in matching_steps(entry["match"]):
            assert step not in temperatures
            temperatures[step] = entry["model"]["temperature"]
    return temperatures


def test_later_generation_wins() -> None:
    fork_changes = changes([], [[temperature(0.5)], [temperature(0.9, type="model", since=6)]])
    assert len(fork_changes.changes) == 2
    assert at_steps(dump_profile(fork_changes, *fork_changes.changes)) == {3: 0.5, 6: 0.9, 9: 0.9, 12: 0.9}


def test_single_step_is_cut_out_of_its_type() -> None:
    fork_changes = changes([[temperature(0.5)]], [[temperature(0.5), temperature(0.9, step=6)]])
    [change] = fork_changes.changes.values()
    assert (change.base, change.candidate) == (0.5, 0.9)
    assert at_steps(dump_profile(fork_changes)) == dict.fromkeys((3, 6, 9, 12), 0.5)
    assert at_steps(dump_profile(fork_changes, change.atom.id)) == {3: 0.5, 6: 0.9, 9: 0.5, 12: 0.5}


def test_entry_cut_in_two_stays_one_change() -> None:
    fork_changes = changes([], [[temperature(0.5)], [temperature(0.9, step=6)]])
    steps = sorted(sorted(at_steps(dump_profile(fork_changes, name))) for name in fork_changes.changes)
    assert steps == [[3, 9, 12], [6]]


def test_overlapping_names_are_inseparable() -> None:
    with pytest.raises(fork_layers.InseparableSettings):
        changes([], [[temperature(0.5)], [temperature(0.9, type="model", model="gpt-*")]])


ranges = st.fixed_dictionaries(
    {"type": st.just("model")}, optional={"since": st.integers(1, 12), "before": st.integers(2, 13)}
)
matches = st.one_of(st.sampled_from([3, 6, 9, 12]).map(lambda step: {"step": step}), ranges)
entries = st.builds(lambda value, match: temperature(value, **match), st.sampled_from([0.1, 0.2, 0.3]), matches)
sides = st.lists(st.lists(entries, min_size=1, max_size=1), max_size=4)


def last_one_wins(side: list[list[JSONObject]]) -> dict[int, float]:
    temperatures: dict[int, float] = {}
    for layer in side:
        for entry in layer:
            match: Any = entry["match"]
            model: Any = entry["model"]
            temperatures |= dict.fromkeys(matching_steps(match), model["temperature"])
    return temperatures


@given(sides, sides, st.data())
def test_changes_of_generations_never_overlap(
    base: list[list[JSONObject]], candidate: list[list[JSONObject]], data: st.DataObject
) -> None:
    fork_changes = changes(base, candidate)
    assert at_steps(dump_profile(fork_changes)) == last_one_wins(base)
    assert at_steps(dump_profile(fork_changes, *fork_changes.changes)) == last_one_wins(candidate)
    subset = data.draw(st.sets(st.sampled_from(sorted(fork_changes.changes)))) if fork_changes.changes else set()
    temperatures = at_steps(dump_profile(fork_changes, *subset))
    assert all(
        value in (last_one_wins(base).get(step), last_one_wins(candidate).get(step))
        for step, value in temperatures.items()
    )
