"""Kurral's determinism score and replay type: how alike two model configurations are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from replay.schemas import Determinism
from traces.canonical import digest
from traces.json_types import JSONObject, JSONValue

DEFAULT_THRESHOLD: Final = 0.8
_UNKNOWN: Final = 0.5  # missing is not agreement
# A change of one of these is a B replay whatever the score.
_CRITICAL: Final = ("model", "provider", "tools", "prompt")
_SCORED: Final = ("temperature", "seed")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """How a model was, or would be, called. Absent parameters stay absent: there is no default seed."""

    provider: str
    model: str
    parameters: JSONObject = field(default_factory=dict)


def factors(recorded: ModelConfig, current: ModelConfig) -> dict[str, float]:
    """The four factors, each from 0 to 1."""
    return {
        "temperature": _temperature(recorded.parameters.get("temperature"), current.parameters.get("temperature")),
        "seed": _seed(recorded.parameters.get("seed"), current.parameters.get("seed")),
        "model": float(recorded.model == current.model),
        "provider": float(recorded.provider == current.provider),
    }


def score(of: Mapping[str, float]) -> float:
    """The mean of the factors."""
    return sum(of.values()) / len(of)


def assess(
    pairs: Iterable[tuple[ModelConfig, ModelConfig]],
    *,
    changed: Iterable[str] = (),
    threshold: float = DEFAULT_THRESHOLD,
) -> Determinism:
    """The least alike pair decides; `changed` names what else differs (`tools` and `prompt` are critical).

    Without any pair there is nothing to compare, and the score is unknown rather than 1.
    """
    compared = [(factors(recorded, current), recorded, current) for recorded, current in pairs]
    differing = dict.fromkeys(changed)
    for _, recorded, current in compared:
        differing.update(dict.fromkeys(_differences(recorded, current)))
    least = min((found for found, _, _ in compared), key=score, default=None)
    return Determinism(
        score=None if least is None else round(score(least), 6),
        factors=least or {},
        threshold=threshold,
        critical_changes=[name for name in _CRITICAL if name in differing],
        other_changes=[name for name in differing if name not in _CRITICAL],
    )


def replay_type(determinism: Determinism) -> Literal["A", "B"]:
    """B on a critical change or a score under the threshold, else A."""
    under = determinism.score is not None and determinism.score < determinism.threshold
    return "B" if determinism.critical_changes or under else "A"


def _differences(recorded: ModelConfig, current: ModelConfig) -> list[str]:
    found = []
    if recorded.model != current.model:
        found.append("model")
    if recorded.provider != current.provider:
        found.append("provider")
    names = dict.fromkeys([*_SCORED, *recorded.parameters, *current.parameters])
    for name in names:
        if digest(recorded.parameters.get(name)) != digest(current.parameters.get(name)):
            found.append(name)
    return found


def _temperature(recorded: JSONValue, current: JSONValue) -> float:
    before, after = _number(recorded), _number(current)
    if before is None or after is None:
        return _UNKNOWN
    return min(1.0, max(0.0, 1.0 - abs(before - after)))


def _seed(recorded: JSONValue, current: JSONValue) -> float:
    if recorded is None or current is None:
        return _UNKNOWN
    return float(recorded == current)


def _number(value: JSONValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
