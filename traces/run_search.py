"""Search as someone types."""

from collections.abc import Sequence

from django.db.models import QuerySet

from traces.models import Run


def matching(found: QuerySet[Run], words: Sequence[str]) -> QuerySet[Run]:
    """The runs among `found` whose search text contains every word."""
    for word in words:
        found = found.filter(search__contains=word)
    return found
