"""Kurral's determinism score and replay type."""

import pytest

from diffing.content.determinism import ModelConfig, factors, score
from replay.planning.determinism import assess, replay_type
from tests.support.memory_replays import replay
from tests.support.replay_runs import ORDERS, SYSTEM
from traces.core.json_types import JSONObject, JSONValue

BASE: JSONObject = {"temperature": 0.0, "seed": 42}


def config(model: str = "gpt-4", provider: str = "openai", **parameters: float | None) -> ModelConfig:
    settings: JSONObject = {**BASE, **parameters}
    return ModelConfig(
        provider=provider,
        model=model,
        parameters={name: value for name, value in settings.items() if value is not None},
    )


@pytest.mark.parametrize(
    ("base", "current", "expected", "kind"),
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
def test_score_is_mean_of_four_factors(base: ModelConfig, current: ModelConfig, expected: float, kind: str) -> None:
    determinism = assess([(base, current)])
    assert determinism.score == pytest.approx(expected)
    assert score(factors(base, current)) == pytest.approx(expected)
    assert replay_type(determinism) == kind


def test_score_at_threshold_is_type_a() -> None:
    pair = (config(), config(temperature=0.5))
    assert replay_type(assess([pair], threshold=0.875)) == "A"
    assert replay_type(assess([pair], threshold=0.9)) == "B"


@pytest.mark.parametrize("change", ["tools", "prompt"])
def test_critical_change_is_type_b(change: str) -> None:
    determinism = assess([(config(), config())], changed=[change, "messages"])
    assert (determinism.score, determinism.critical_changes, determinism.other_changes) == (1.0, [change], ["messages"])
    assert replay_type(determinism) == "B"


def test_other_changes_stay_type_a() -> None:
    determinism = assess([(config(), config(max_tokens=5))], changed=["variables"])
    assert determinism.other_changes == ["variables", "max_tokens"]
    assert replay_type(determinism) == "A"


def test_score_without_pairs_is_unknown() -> None:
    determinism = assess([])
    assert (determinism.score, determinism.factors) == (None, {})


def test_least_similar_pair_decides() -> None:
    assert assess([(config(), config()), (config(), config(seed=1))]).score == 0.75


def test_overrides_with_the_recorded_value_change_nothing() -> None:
    def changes(system: JSONValue, order: str) -> list[str]:
        fork = replay(
            {"match": {"type": "model"}, "prompt": {"system": system}},
            {"match": {"type": "tool", "name": "get_order"}, "tool": {"output": ORDERS[order]}},
        )
        determinism = fork.plan(live=True).determinism
        return [*determinism.critical_changes, *determinism.other_changes]

    assert changes(SYSTEM["content"], "A-1") == []
    assert changes("Be brief.", "A-1") == ["prompt"]
    assert changes(SYSTEM["content"], "A-2") == ["tool outputs"]
