"""Which page of a list is asked for, by parameters of the address."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar

from django.db.models import Model, QuerySet

from traces.errors import InvalidQuery

LAST_NO: Final = 2**31 - 1  # of a step, or of a message
LAST_ID: Final = 10**12 - 1  # of a row; `whole_number` reads so many digits
_Row = TypeVar("_Row", bound=Model)


class Page(NamedTuple):
    """As many as `limit`, of those after a number."""

    after: int
    limit: int


def page_of(query: Mapping[str, str], *, most: int, usual: int | None = None, last: int = LAST_NO) -> Page:
    """The page by `after` and `limit`; without a limit `usual`, else the most that one answer holds."""
    return Page(
        after=whole_number(query, "after", default=0, most=last, least=0),
        limit=whole_number(query, "limit", default=usual or most, most=most),
    )


def cut(rows: QuerySet[_Row], page: Page) -> tuple[list[_Row], int | None]:
    """A page of rows in the order in which they were made, and after what the next begins; None: it is the last."""
    found: list[Any] = list(rows.filter(id__gt=page.after).order_by("id")[: page.limit + 1])
    return found[: page.limit], found[page.limit - 1].id if len(found) > page.limit else None


def whole_number(query: Mapping[str, str], name: str, *, default: int, most: int, least: int = 1) -> int:
    """A query parameter that is a number; more than `most` is `most`."""
    text = query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or int(text[:12]) < least:
        raise InvalidQuery(f"{name} is {text!r}: it must be a whole number from {least}", where=f"/{name}")
    return min(int(text[:12]), most)


def yes_or_no(query: Mapping[str, str], name: str, *, default: bool) -> bool:
    """A query parameter that is `true` or `false`."""
    text = query.get(name, "")
    if text not in {"", "true", "false"}:
        raise InvalidQuery(f"{name} is {text!r}: it must be true or false", where=f"/{name}")
    return text == "true" if text else default
