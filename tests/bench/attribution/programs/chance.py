"""Models that decide at random: at a rate, an answer contains the alternative of one of its phrases."""

import random
from dataclasses import dataclass

from tests.bench.attribution.mechanisms.dice import key_of
from tests.bench.attribution.mechanisms.running import Model
from traces.core.json_types import JSONObject


@dataclass(frozen=True, kw_only=True)
class Chance:
    """Phrases that an answer may contain, their alternatives, and the rate at which these replace them."""

    rate: float
    alternatives: tuple[tuple[str, str], ...]


def with_chance(model: Model, chance: Chance, sample_key: str) -> Model:
    """Return a model that decides at random. The same sample key and request give the same answer."""

    def answer(request: JSONObject, name: str) -> JSONObject:
        message = model(request, name)
        text = message.get("content")
        rng = random.Random(f"{sample_key} {key_of(request, name)}")
        if not isinstance(text, str) or rng.random() >= chance.rate:
            return message
        for phrase, alternative in chance.alternatives:
            if phrase in text:
                return {**message, "content": text.replace(phrase, alternative)}
        return message

    return answer
