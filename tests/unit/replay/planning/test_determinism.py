"""Kurral's determinism score and replay type."""

import pytest

from diffing.content.determinism import ModelConfig, factors, score
from replay.planning.determinism import assess, replay_type
from traces.core.json_types import JSONObject

BASE: JSONObject = {"temperature": 0.0, "seed": 42}


def config(model: str = "gpt-4", provider: str = "openai", **parameters: float | None) -> ModelConfig:
    given: JSONObject = {**BASE, **parameters}
    return ModelConfig(
        provider=provider, model=model, parameters={name: value for name, value in given.items() if value is not None}
    )


@pytest.mark.parametrize(
    ("recorded", "current", "expected", "kind"),
    [
        (config(), config(), 1.0, "A"),
        (config(), config(temperature=0.5), 0.875, "A"),
        (config(), config(temperature=0.7), 0.825, "A"),
        (config(), config(temperature=2.0), 0.75, "B"),
        (config(), config(model="gpt-4o"), 0.75, "B"),
        (config(), config(provider="azure"), 0.75, "B"),
        (config(), config(seed=7), 0.75, "B"),
        (config(seed=None), config(seed=None), 0.875, "A"),
        (config(seed=None), config(seed=7), 0.875, "A"),
        (config(seed=None), config(seed=42), 0.875, "A"),
        (config(temperature=None), config(), 0.875, "A"),
        (config(temperature=None, seed=None), config(temperature=None, seed=None), 0.75, "B"),
        (config(temperature=0.0, seed=0), config(temperature=0.0, seed=0), 1.0, "A"),
    ],
)
def test_the_score_is_the_mean_of_four_factors(
    recorded: ModelConfig, current: ModelConfig, expected: float, kind: str
) -> None:
    found = assess([(recorded, current)])
    assert found.score == pytest.approx(expected)
    assert score(factors(recorded, current)) == pytest.approx(expected)
    assert replay_type(found) == kind


def test_at_the_threshold_it_is_still_an_a_replay() -> None:
    pair = (config(), config(temperature=0.5))
    assert replay_type(assess([pair], threshold=0.875)) == "A"
    assert replay_type(assess([pair], threshold=0.9)) == "B"


@pytest.mark.parametrize("change", ["tools", "prompt"])
def test_a_critical_change_makes_a_b_replay_whatever_the_score(change: str) -> None:
    found = assess([(config(), config())], changed=[change, "messages"])
    assert (found.score, found.critical_changes, found.other_changes) == (1.0, [change], ["messages"])
    assert replay_type(found) == "B"


def test_other_changes_are_listed_and_stay_a() -> None:
    found = assess([(config(), config(max_tokens=5))], changed=["variables"])
    assert found.other_changes == ["variables", "max_tokens"]
    assert replay_type(found) == "A"


def test_nothing_to_compare_with_is_unknown_and_not_one() -> None:
    found = assess([])
    assert (found.score, found.factors) == (None, {})


def test_the_least_alike_pair_decides() -> None:
    assert assess([(config(), config()), (config(), config(seed=1))]).score == 0.75
