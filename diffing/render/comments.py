"""The comments on a report as threads under what they are about."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from traces.comments.schemas import CommentView, DiffPlace

_DELETION_NOTE = "This comment was deleted."


class CommentEntry(NamedTuple):
    """A comment in a thread, with its author and its date."""

    author: str
    date: str
    text: str


class CommentThread(NamedTuple):
    """A thread, with what it is about, such as `tool: arguments, step 5`, and what the report shows there."""

    title: str
    quote: str
    entries: Sequence[CommentEntry]


def comment_threads(comments: Sequence[CommentView]) -> Iterator[CommentThread]:
    """Return the threads in the order in which they began."""
    for first in comments:
        if first.place is not None:
            replies = [comment for comment in comments if comment.thread == first.id]
            state = " (resolved)" if first.resolved_at else ""
            entries = [_entry(comment) for comment in (first, *replies)]
            yield CommentThread(f"{_place_title(first.place)}{state}", first.quote, entries)


def _place_title(place: DiffPlace) -> str:
    numbers = dict.fromkeys(str(number) for number in (place.base, place.candidate) if number is not None)
    steps = f", step {' → '.join(numbers)}" if numbers else ""
    return f"{place.section}: {place.kind}{steps}"


def _entry(comment: CommentView) -> CommentEntry:
    author = f"{comment.by} (visitor)" if comment.is_visitor else comment.by
    return CommentEntry(author, f"{comment.at:%Y-%m-%d}", _DELETION_NOTE if comment.deleted_at else comment.text)
