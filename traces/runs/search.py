"""Search as someone types."""

from collections.abc import Sequence
from typing import Final

from django.db.models import QuerySet

from traces.errors import InvalidQuery
from traces.models import Run

_WORDS: Final = 100  # the text by which runs are listed has 600 characters
_LONGEST: Final = 2_000  # characters


def words_of(text: str) -> tuple[str, ...]:
    """What is searched for, in lower case; raises `InvalidQuery` for too much of it."""
    if len(text) > _LONGEST:
        raise InvalidQuery(f"q has {len(text)} characters: {_LONGEST} are the most", where="/q")
    words = tuple(dict.fromkeys(text.replace("\x00", "\ufffd").lower().split()))
    if len(words) > _WORDS:
        raise InvalidQuery(f"q has {len(words)} words: {_WORDS} are the most", where="/q")
    return words


def matching(found: QuerySet[Run], words: Sequence[str]) -> QuerySet[Run]:
    """The runs among `found` whose search text contains every word."""
    for word in words:
        found = found.filter(search__contains=word)
    return found
