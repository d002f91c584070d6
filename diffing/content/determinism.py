"""Kurral's determinism score: the similarity of two model configurations. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import is_number
from traces.core.json_types import JSONObject, JSONValue

# A missing parameter is not an equal one.
_UNKNOWN: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The configuration of a model call. Absent parameters stay absent: there is no default seed."""

    provider: str
    model: str
    parameters: JSONObject = field(default_factory=dict)


def factors(recording: ModelConfig, replay: ModelConfig) -> dict[str, float]:
    """The four factors, each from 0 to 1."""
    return {
        "temperature": _temperature(recording.parameters.get("temperature"), replay.parameters.get("temperature")),
        "seed": _seed(recording.parameters.get("seed"), replay.parameters.get("seed")),
        "model": float(recording.model == replay.model),
        "provider": float(recording.provider == replay.provider),
    }


def score(values: Mapping[str, float]) -> float:
    """The mean of the factors."""
    return sum(values.values()) / len(values)


def _temperature(recording: JSONValue, replay: JSONValue) -> float:
    before, after = _number(recording), _number(replay)
    if before is None or after is None:
        return _UNKNOWN
    return min(1.0, max(0.0, 1.0 - abs(before - after)))


def _seed(recording: JSONValue, replay: JSONValue) -> float:
    if recording is None or replay is None:
        return _UNKNOWN
    return float(recording == replay)


def _number(value: JSONValue) -> float | None:
    return float(value) if is_number(value) else None
