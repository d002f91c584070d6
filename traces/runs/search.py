"""Search for runs as you type."""

from collections.abc import Sequence
from typing import Final

from django.db.models import QuerySet

from traces.errors import InvalidQuery
from traces.models import Run

# A run's search text has 600 characters.
_MAX_WORDS: Final = 100
_MAX_LENGTH: Final = 2_000  # characters


def words_of(text: str) -> tuple[str, ...]:
    """Split a query into lower-case words; raise `InvalidQuery` if it is too long."""
    if len(text) > _MAX_LENGTH:
        raise InvalidQuery(f"q has {len(text)} characters, more than {_MAX_LENGTH}", where="/q")
    words = tuple(dict.fromkeys(text.replace("\x00", "\ufffd").lower().split()))
    if len(words) > _MAX_WORDS:
        raise InvalidQuery(f"q has {len(words)} words, more than {_MAX_WORDS}", where="/q")
    return words


def filter_runs(runs: QuerySet[Run], words: Sequence[str]) -> QuerySet[Run]:
    """Filter for runs whose search text contains every word."""
    for word in words:
        runs = runs.filter(search__contains=word)
    return runs
