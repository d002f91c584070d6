"""Model with random errors, deterministic per request and sample key."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.bench.attribution.mechanisms.brain import SLIPS, respond
from tests.bench.attribution.mechanisms.rules import rules
from tests.bench.attribution.mechanisms.running import Model
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

RECORDING: Final = "recording"


class NeedsLive(Exception):
    """A new answer is needed, but no further samples are allowed."""


@dataclass
class SampledModel:
    """Model that answers from known answers and samples the rest. `count` is the number of samples."""

    draw: Callable[[str, JSONObject, str], JSONObject]
    answers: dict[str, JSONObject] = field(default_factory=dict)
    max_calls: int | None = None
    count: int = 0

    def __call__(self, request: JSONObject, model: str) -> JSONObject:
        key = key_of(request, model)
        if key not in self.answers:
            if self.max_calls is not None and self.count >= self.max_calls:
                raise NeedsLive
            self.count += 1
            self.answers[key] = self.draw(key, request, model)
        return self.answers[key]


@dataclass(frozen=True)
class Dice:
    """Source of random errors: with probability `eps`, an answer breaks one rule of its role."""

    eps: float
    seed: int

    def model(self, sample_key: str) -> Model:
        """Return a model with one fixed sample per request: the same key and request give the same answer."""
        return lambda request, model: self.draw(sample_key, key_of(request, model), request, model)

    def draw(self, sample_key: str, key: str, request: JSONObject, model: str) -> JSONObject:
        rng = random.Random(f"{self.seed} {sample_key} {key}")
        messages, parameters = request["messages"], request.get("parameters")
        assert isinstance(messages, list)
        slip = rng.choice(SLIPS[_role(messages)]) if rng.random() < self.eps else None
        settings: Mapping[str, JSONValue] = parameters if isinstance(parameters, dict) else {}
        return respond(messages, model, settings, slip)


def key_of(request: JSONObject, model: str) -> str:
    return digest([request, model])


def _role(messages: list[JSONValue]) -> str:
    system = messages[0]
    return rules(str(system["content"]) if isinstance(system, dict) else "").get("role", "")
