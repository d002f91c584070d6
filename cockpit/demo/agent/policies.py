"""A small search over the shop's policies."""

import math
from collections import Counter
from typing import Any, Final

from cockpit.demo.local_model.text_reader import words
from cockpit.demo.policy_texts import POLICIES

_LENGTHS: Final = {name: len(words(text)) for name, text in POLICIES.items()}
_AVERAGE: Final = sum(_LENGTHS.values()) / len(_LENGTHS)
_DOCUMENTS_WITH: Final = Counter(word for text in POLICIES.values() for word in words(text))
_K: Final = 1.2  # BM25's usual constants
_B: Final = 0.75


def search(query: str, top_k: int) -> list[dict[str, Any]]:
    """The policies that fit a question best, by BM25 over words that occur once or not at all."""
    asked = words(query)
    scored = [(_score(asked, name), name) for name in POLICIES]
    ranked = sorted((entry for entry in scored if entry[0] > 0), key=lambda entry: (-entry[0], entry[1]))
    return [{"id": name, "content": POLICIES[name], "score": round(score, 4)} for score, name in ranked[:top_k]]


def _score(asked: set[str], name: str) -> float:
    length = _LENGTHS[name] / _AVERAGE
    weight = (_K + 1) / (1 + _K * (1 - _B + _B * length))
    return sum(weight * _rarity(word) for word in sorted(asked & words(POLICIES[name])))


def _rarity(word: str) -> float:
    found = _DOCUMENTS_WITH[word]
    return math.log(1 + (len(POLICIES) - found + 0.5) / (found + 0.5))
