"""Models that phrase the same answer differently at each call."""

import random
from typing import Final

from tests.bench.attribution.mechanisms.dice import key_of
from tests.bench.attribution.mechanisms.running import Model
from tests.bench.attribution.programs.shapes import text_of
from traces.core.json_types import JSONObject

_BEFORE: Final = ("", "Sure. ", "Of course. ", "Let me see. ", "Right, here you are. ", "Thanks for waiting. ")
_AFTER: Final = ("", " I hope this helps.", " Just ask if there is more.", " Have a nice day.", " That is all I know.")
_SYNONYMS: Final = (
    ("We look at", "We will check"),
    ("is moved to", "is now booked for"),
    ("and it costs", "at a cost of"),
    ("come back to you", "go back to your account"),
    ("leads with", "is first with"),
    ("I can", "If you like, I can"),
)


def with_rewording(model: Model, sample_key: str) -> Model:
    """Return a model whose wording depends on the sample key. The same key and request give the same answer."""

    def answer(request: JSONObject, name: str) -> JSONObject:
        message = model(request, name)
        if not (text := text_of(message)):
            return message
        rng = random.Random(f"{sample_key} {key_of(request, name)}")
        for plain, synonym in _SYNONYMS:
            text = text.replace(plain, rng.choice((plain, synonym)))
        return {**message, "content": f"{rng.choice(_BEFORE)}{text}{rng.choice(_AFTER)}"}

    return answer


def plain_wording(text: str) -> str:
    """Return a text as it was before its answers were reworded."""
    for plain, synonym in _SYNONYMS:
        text = text.replace(synonym, plain)
    for phrase in (*_BEFORE, *_AFTER):
        text = text.replace(phrase, "") if phrase else text
    return text.strip()
