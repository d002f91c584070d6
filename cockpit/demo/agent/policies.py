"""Search in the shop's policies."""

import math
from collections import Counter
from typing import Any, Final

from cockpit.demo.local_model.text_reader import words
from cockpit.demo.policy_texts import POLICIES

_LENGTHS: Final = {name: len(words(text)) for name, text in POLICIES.items()}
_AVERAGE: Final = sum(_LENGTHS.values()) / len(_LENGTHS)
_DOCUMENTS_WITH: Final = Counter(word for text in POLICIES.values() for word in words(text))
# The usual constants of BM25.
_K: Final = 1.2
_B: Final = 0.75


def search(query: str, top_k: int) -> list[dict[str, Any]]:
    """Return the best matching policies by BM25 with binary term frequencies."""
    query_words = words(query)
    scores = [(_score(query_words, name), name) for name in POLICIES]
    ranking = sorted((entry for entry in scores if entry[0] > 0), key=lambda entry: (-entry[0], entry[1]))
    return [{"id": name, "content": POLICIES[name], "score": round(score, 4)} for score, name in ranking[:top_k]]


def _score(query_words: set[str], name: str) -> float:
    length = _LENGTHS[name] / _AVERAGE
    weight = (_K + 1) / (1 + _K * (1 - _B + _B * length))
    return sum(weight * _rarity(word) for word in sorted(query_words & words(POLICIES[name])))


def _rarity(word: str) -> float:
    document_count = _DOCUMENTS_WITH[word]
    return math.log(1 + (len(POLICIES) - document_count + 0.5) / (document_count + 0.5))
