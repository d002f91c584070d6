"""Paging of lists by query parameters."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeVar

from django.db.models import Model, QuerySet
from django.utils.dateparse import parse_datetime

from traces.errors import InvalidQuery

# The largest number of a step or a message.
LAST_NO: Final = 2**31 - 1
# The largest id of a row; `whole_number` reads so many digits.
LAST_ID: Final = 10**12 - 1
_Row = TypeVar("_Row", bound=Model)


class Page(NamedTuple):
    """At most `limit` items with a number above `after`."""

    after: int
    limit: int


def page_of(query: Mapping[str, str], *, maximum: int, default: int | None = None, last: int = LAST_NO) -> Page:
    """Read `after` and `limit`; the limit defaults to `default`, else to the `maximum` of one response."""
    return Page(
        after=whole_number(query, "after", default=0, maximum=last, minimum=0),
        limit=whole_number(query, "limit", default=default or maximum, maximum=maximum),
    )


def cut(rows: QuerySet[_Row], page: Page) -> tuple[list[_Row], int | None]:
    """Return a page of rows by id, and the `after` of the next page; None for the last page."""
    items: list[Any] = list(rows.filter(id__gt=page.after).order_by("id")[: page.limit + 1])
    return items[: page.limit], items[page.limit - 1].id if len(items) > page.limit else None


def whole_number(query: Mapping[str, str], name: str, *, default: int, maximum: int, minimum: int = 1) -> int:
    """Read a query parameter that is a whole number; larger values are capped at `maximum`."""
    text = query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or int(text[:12]) < minimum:
        raise InvalidQuery(f"{name} is “{text}”: it must be a whole number from {minimum}", where=f"/{name}")
    return min(int(text[:12]), maximum)


def yes_or_no(query: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Read a query parameter that is `true` or `false`."""
    text = query.get(name, "")
    if text not in {"", "true", "false"}:
        raise InvalidQuery(f"{name} is “{text}”: it must be true or false", where=f"/{name}")
    return text == "true" if text else default


def time_of(query: Mapping[str, str], name: str) -> datetime | None:
    """Read a query parameter that is a time with a zone; None if it is missing or empty."""
    text = query.get(name, "")
    if not text:
        return None
    try:
        time = parse_datetime(text)
        # In UTC, some times of other zones lie outside the years that a time can have.
        utc_time = time.astimezone(UTC) if time and time.tzinfo else None
    except (ValueError, OverflowError):
        utc_time = None
    if utc_time is None:
        raise InvalidQuery(
            f"{name} is “{text}”: it must be a time with a zone, such as 2026-11-21T10:00:00Z", where=f"/{name}"
        )
    return utc_time
