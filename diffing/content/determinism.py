"""Kurral's determinism score: how alike two model configurations are. Mean of four factors from 0 to 1."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_types import JSONObject, JSONValue

_UNKNOWN: Final = 0.5  # missing is not agreement


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
