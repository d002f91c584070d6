"""A model that slips now and then, always in the same way for the same request and the same throw."""

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
    """A new answer would have to be drawn, which is not allowed."""


@dataclass
class Drawn:
    """Answers by request; `count` says how many had to be drawn."""

    draw: Callable[[str, JSONObject, str], JSONObject]
    known: dict[str, JSONObject] = field(default_factory=dict)
    allowed: int | None = None
    count: int = 0

    def __call__(self, request: JSONObject, model: str) -> JSONObject:
        key = key_of(request, model)
        if key not in self.known:
            if self.allowed is not None and self.count >= self.allowed:
                raise NeedsLive
            self.count += 1
            self.known[key] = self.draw(key, request, model)
        return self.known[key]


@dataclass(frozen=True)
class Dice:
    """With the probability `eps` an answer breaks one rule of its role."""

    eps: float
    seed: int

    def model(self, throw: str) -> Model:
        """One sample of every answer: the same throw answers the same request alike."""
        return lambda request, model: self.draw(throw, key_of(request, model), request, model)

    def draw(self, throw: str, key: str, request: JSONObject, model: str) -> JSONObject:
        rng = random.Random(f"{self.seed} {throw} {key}")
        messages, parameters = request["messages"], request.get("parameters")
        assert isinstance(messages, list)
        slip = rng.choice(SLIPS[_role(messages)]) if rng.random() < self.eps else None
        given: Mapping[str, JSONValue] = parameters if isinstance(parameters, dict) else {}
        return respond(messages, model, given, slip)


def key_of(request: JSONObject, model: str) -> str:
    return digest([request, model])


def _role(messages: list[JSONValue]) -> str:
    system = messages[0]
    return rules(str(system["content"]) if isinstance(system, dict) else "").get("role", "")
