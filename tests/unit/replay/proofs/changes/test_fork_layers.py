"""What several generations of forks set, as changes that can be made and taken back each on its own."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.proofs.changes import fork_layers
from replay.proofs.changes.atoms import Changes
from tests.unit.replay.proofs.changes.test_roots import dumped, taken_in
from traces.core.json_types import JSONObject

MODELS: JSONObject = {"type": "model"}


def temperature(value: float, **match: Any) -> JSONObject:
    return {"match": dict(match or MODELS), "model": {"temperature": value}}


def changes(base: list[list[JSONObject]], candidate: list[list[JSONObject]]) -> Changes:
    found, common = fork_layers.changes_between(fork_layers.settings(base), fork_layers.settings(candidate), taken_in)
    return Changes(changes={change.atom.id: change for change in found}, common=tuple(common))


def at_steps(entries: list[dict[str, Any]]) -> dict[int, float]:
    """The temperature of every step; no step is set twice."""
    found: dict[int, float] = {}
    for entry in entries:
        for step in taken_in(entry["match"]):
            assert step not in found
            found[step] = entry["model"]["temperature"]
    return found


def test_a_later_generation_wins_over_an_earlier_one() -> None:
    found = changes([], [[temperature(0.5)], [temperature(0.9, type="model", since=6)]])
    assert len(found.changes) == 2
    assert at_steps(dumped(found, *found.changes)) == {3: 0.5, 6: 0.9, 9: 0.9, 12: 0.9}


def test_a_step_that_is_set_on_its_own_is_cut_out_of_its_type_on_both_sides() -> None:
    found = changes([[temperature(0.5)]], [[temperature(0.5), temperature(0.9, step=6)]])
    [change] = found.changes.values()
    assert (change.base, change.candidate) == (0.5, 0.9)
    assert at_steps(dumped(found)) == dict.fromkeys((3, 6, 9, 12), 0.5)
    assert at_steps(dumped(found, change.atom.id)) == {3: 0.5, 6: 0.9, 9: 0.5, 12: 0.5}


def test_one_entry_that_is_cut_in_two_stays_one_change() -> None:
    found = changes([], [[temperature(0.5)], [temperature(0.9, step=6)]])
    steps = sorted(sorted(at_steps(dumped(found, name))) for name in found.changes)
    assert steps == [[3, 9, 12], [6]]


def test_names_that_overlap_cannot_be_told_apart() -> None:
    with pytest.raises(fork_layers.InseparableSettings):
        changes([], [[temperature(0.5)], [temperature(0.9, type="model", model="gpt-*")]])


ranges = st.fixed_dictionaries(
    {"type": st.just("model")}, optional={"since": st.integers(1, 12), "before": st.integers(2, 13)}
)
matches = st.one_of(st.sampled_from([3, 6, 9, 12]).map(lambda step: {"step": step}), ranges)
entries = st.builds(lambda value, match: temperature(value, **match), st.sampled_from([0.1, 0.2, 0.3]), matches)
sides = st.lists(st.lists(entries, min_size=1, max_size=1), max_size=4)


def last_one_wins(side: list[list[JSONObject]]) -> dict[int, float]:
    found: dict[int, float] = {}
    for layer in side:
        for entry in layer:
            match: Any = entry["match"]
            model: Any = entry["model"]
            found |= dict.fromkeys(taken_in(match), model["temperature"])
    return found


@given(sides, sides, st.data())
def test_any_generations_come_apart_into_changes_that_never_meet(
    base: list[list[JSONObject]], candidate: list[list[JSONObject]], data: st.DataObject
) -> None:
    found = changes(base, candidate)
    assert at_steps(dumped(found)) == last_one_wins(base)
    assert at_steps(dumped(found, *found.changes)) == last_one_wins(candidate)
    some = data.draw(st.sets(st.sampled_from(sorted(found.changes)))) if found.changes else set()
    mixed = at_steps(dumped(found, *some))
    assert all(
        value in (last_one_wins(base).get(step), last_one_wins(candidate).get(step)) for step, value in mixed.items()
    )
