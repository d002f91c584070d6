"""The words of a search, from the query parameter `q`."""

from typing import Final

from traces.errors import InvalidQuery

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
