"""The wording of model answers: words that vary between answers to the same request. Pure.

request 1   "Sure. Look at the shaft."      "Of course. Look at the shaft. I hope this helps."
request 2   "Of course. It is the pump."    "It is the pump. That is all."
wording     sure, of, course, i, hope, this, helps, that, all
content     "Sure. Look at the gearbox." and "Look at the gearbox, of course." both: look at the gearbox
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

# A word, and how many of its kind a text has up to it.
Word = tuple[str, int]
_WORD: Final = re.compile(r"\w+")
# In fewer answers, the words that vary are not known.
_MIN_ANSWERS: Final = 4
# A word in more of the answers is part of the decision: an answer without it decides differently.
_MAX_SHARE: Final = 0.6
# A word is part of the decision if its shares in the answers of both runs differ by more.
_MAX_CONTRAST: Final = 0.9


@dataclass
class AnswerWording:
    """The different answers of models so far, by the signature of the request.

    Equal answers count once: a probe gets the recorded answer to the same request again and again.
    """

    _answers: dict[str, set[frozenset[Word]]] = field(default_factory=dict)
    _words: frozenset[Word] | None = None

    def add(self, signature: str, text: str) -> None:
        answers = self._answers.setdefault(signature, set())
        answer = frozenset(_split(text))
        if answer not in answers:
            answers.add(answer)
            self._words = None

    def words(self, pairs: Iterable[tuple[str, str]]) -> frozenset[Word]:
        """The words that are only wording; `pairs` are requests at the same step of both runs."""
        if self._words is None:
            groups = {
                signature: answers for signature, answers in self._answers.items() if len(answers) >= _MIN_ANSWERS
            }
            shares = {signature: _shares(answers) for signature, answers in groups.items()}
            counterparts = [(shares[left], shares[right]) for left, right in pairs if {left, right} <= shares.keys()]
            contrasts = {
                word
                for base, candidate in counterparts
                for word in {*base, *candidate}
                if abs(base[word] - candidate[word]) > _MAX_CONTRAST
            }
            self._words = frozenset(word for word in _variable_words(groups.values()) if word not in contrasts)
        return self._words


def content(text: str, wording: frozenset[Word]) -> list[str]:
    """The words of an answer without its wording, in order."""
    return [word for word, nth in _split(text) if (word, nth) not in wording]


def _split(text: str) -> list[Word]:
    """The words of a text, repeated ones numbered: a word of the decision may occur in the wording as well."""
    counts = Counter[str]()
    words: list[Word] = []
    for word in _WORD.findall(text.casefold()):
        counts[word] += 1
        words.append((word, counts[word]))
    return words


def _variable_words(groups: Iterable[Collection[frozenset[Word]]]) -> Iterator[Word]:
    """The words that some answers to a request have and most others have not."""
    counts, totals = Counter[Word](), Counter[Word]()
    for answers in groups:
        count = Counter(word for answer in answers for word in answer)
        variants = {word for word in count if count[word] < len(answers) and word[0].isalpha()}
        counts.update({word: count[word] for word in variants})
        totals.update({word: len(answers) for word in variants})
    return (word for word, count in counts.items() if count <= _MAX_SHARE * totals[word])


def _shares(answers: Collection[frozenset[Word]]) -> defaultdict[Word, float]:
    """The share of the answers that contain each word."""
    counts = Counter(word for answer in answers for word in answer)
    return defaultdict(float, {word: count / len(answers) for word, count in counts.items()})
