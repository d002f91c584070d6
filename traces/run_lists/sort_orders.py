"""Sort orders of the runs list, and the cursors of their pages."""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

import orjson
from django.db.models import Func, Q, QuerySet, TextField
from django.db.models.functions import Cast

from traces.core.vocabulary import Outcome
from traces.errors import InvalidQuery
from traces.http.paging import LAST_ID
from traces.models import RunListing

N = TypeVar("N", int, float, Decimal)
_SEARCH_MARK: Final = "~"
_TOO_LARGE: Final = 2**63  # for a column


class Sort(StrEnum):
    """Order of the list. With a minus, descending. Runs without a value come last in both directions."""

    NEWEST = "newest"
    OUTCOME = "outcome"
    OUTCOME_LAST = "-outcome"
    START = "started"
    START_LAST = "-started"
    DURATION = "duration"
    DURATION_LAST = "-duration"
    TOKENS = "tokens"
    TOKENS_LAST = "-tokens"
    COST = "cost"
    COST_LAST = "-cost"
    STEPS = "steps"
    STEPS_LAST = "-steps"
    NAME = "name"
    NAME_LAST = "-name"

    @property
    def column(self) -> str:
        """The column of the listing; empty for the order of arrival."""
        return _COLUMNS.get(self.removeprefix("-"), "")

    @property
    def is_descending(self) -> bool:
        return self.startswith("-")


_COLUMNS: Final[Mapping[str, str]] = {
    "outcome": "outcome",
    "started": "started_at",
    "duration": "duration_ms",
    "tokens": "tokens",
    "cost": "cost_usd",
    "steps": "steps",
    "name": "sort_name",
}
_NULLABLE: Final = frozenset({"started_at", "duration_ms", "tokens", "cost_usd"})


class UnindexedColumn(Func):
    """A column for a condition that must not decide which index SQLite reads: without statistics, it guesses."""

    template = "%(expressions)s"

    def as_sqlite(self, compiler: Any, connection: Any, **_extra: Any) -> Any:
        return self.as_sql(compiler, connection, template="+%(expressions)s")


class Position(NamedTuple):
    """A run in a list, with its sort key.

    The id is text: to convert those that are only counted would take a third of the time of a page.
    """

    id: str
    key: Any = None

    @property
    def run_id(self) -> UUID:
        return UUID(self.id)


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchCursor:
    """The last document of the search index that a page looked at."""

    document: int


Cursor = Position | SearchCursor


def in_order(
    runs: QuerySet[RunListing], sort: Sort, outcomes: Sequence[str], after: Position | None, size: int
) -> list[Position]:
    """Return at most `size` runs of these outcomes in the order of the list.

    An index has the runs of each part of a list in order: the runs of an outcome, those with a value, those without.
    """
    positions: list[Position] = []
    for part in _parts(runs, sort, outcomes, after):
        columns = (sort.column,) if sort.column else ()
        rows = part.values_list(Cast("run", TextField()), *columns)
        positions += [Position(*row) for row in rows[: size - len(positions)]]
        if len(positions) == size:
            break
    return positions


def sort_positions(positions: Sequence[Position], sort: Sort) -> list[Position]:
    """Sort runs in memory, into the same order."""
    is_newest_first = sort.is_descending or sort.column in {"", "outcome"}
    by_id = sorted(positions, key=lambda position: position.id, reverse=is_newest_first)
    valued_runs = [position for position in by_id if position.key is not None]
    valued_runs.sort(key=lambda position: position.key, reverse=sort.is_descending)
    return [*valued_runs, *(position for position in by_id if position.key is None)]


def _parts(
    runs: QuerySet[RunListing], sort: Sort, outcomes: Sequence[str], after: Position | None
) -> Iterator[QuerySet[RunListing]]:
    if sort is Sort.NEWEST:
        yield _by_id(runs, after, is_descending=True)
    elif sort.column == "outcome":
        for outcome in sorted(set(outcomes), reverse=sort.is_descending):
            is_past = after is not None and (outcome > after.key if sort.is_descending else outcome < after.key)
            if not is_past:
                last = after if after is not None and outcome == after.key else None
                yield _by_id(runs.filter(outcome=outcome), last, is_descending=True)
    else:
        if after is None or after.key is not None:
            yield _by_key(runs, sort, after)
        if sort.column in _NULLABLE:
            last = after if after is not None and after.key is None else None
            yield _by_id(runs.filter(**{f"{sort.column}__isnull": True}), last, is_descending=sort.is_descending)


def _by_id(runs: QuerySet[RunListing], after: Position | None, *, is_descending: bool) -> QuerySet[RunListing]:
    if after is not None:
        runs = runs.filter(run__lt=after.id) if is_descending else runs.filter(run__gt=after.id)
    return runs.order_by("-run" if is_descending else "run")


def _by_key(runs: QuerySet[RunListing], sort: Sort, after: Position | None) -> QuerySet[RunListing]:
    column, sign, comparison = (sort.column, "-", "lt") if sort.is_descending else (sort.column, "", "gt")
    if column in _NULLABLE:
        runs = runs.filter(**{f"{column}__isnull": False})
    if after is not None:
        # The first condition alone finds the place in the index.
        equal_or_beyond = Q(**{f"{column}__{comparison}e": after.key})
        runs = runs.filter(
            equal_or_beyond, Q(**{f"{column}__{comparison}": after.key}) | Q(**{f"run__{comparison}": after.id})
        )
    return runs.order_by(f"{sign}{column}", f"{sign}run")


def cursor_text(last: Position, sort: Sort) -> str:
    """Return the cursor of the runs after this one."""
    key = _encode(last.run_id.bytes)
    return f"{key}.{_encode(orjson.dumps([sort, last.key], default=str))}" if sort.column else key


def search_cursor_text(document: int) -> str:
    """Return the cursor of the matches before this document."""
    return f"{_SEARCH_MARK}{document}"


def parse_cursor(text: str, sort: Sort, *, is_search: bool) -> Cursor | None:
    """Parse the cursor of a page; raise `InvalidQuery`."""
    if not text:
        return None
    if is_search and sort is Sort.NEWEST:
        return _search_cursor(text)
    run_id, _, rest = text.partition(".")
    try:
        position = Position(str(UUID(bytes=_decode(run_id))))
        stored_sort, key = orjson.loads(_decode(rest)) if rest else (Sort.NEWEST, None)
        if stored_sort != sort:
            raise InvalidQuery("the cursor belongs to a list in a different order", where="/cursor")
        return position._replace(key=_key(key, sort))
    except (ValueError, TypeError, OverflowError, binascii.Error, InvalidOperation) as error:
        raise InvalidQuery("the cursor is invalid: use `next` of the previous page", where="/cursor") from error


def _key(value: Any, sort: Sort) -> Any:
    """Convert the key of a cursor to the type of its column; raise `ValueError`."""
    if sort.column in _NULLABLE and value is None:
        return None
    match sort.column:
        case "":
            return None
        case "outcome":
            return Outcome(value)
        case "started_at":
            return datetime.fromisoformat(value).astimezone(UTC)
        case "cost_usd":
            return _comparable(Decimal(value))
        case "duration_ms":
            return _comparable(float(value))
        case "sort_name":
            return str(value)
        case _:
            return _comparable(int(value))


def _comparable(number: N) -> N:
    """Return a number that a column can be compared with; raise `ValueError` or `InvalidOperation` for others."""
    if not abs(number) < _TOO_LARGE:
        raise ValueError(number)
    return number


def _search_cursor(text: str) -> SearchCursor:
    digits = text.removeprefix(_SEARCH_MARK)
    if digits == text or not (digits.isascii() and digits.isdecimal()) or int(digits[:13]) > LAST_ID:
        raise InvalidQuery("the cursor is invalid: use `next` of the previous page", where="/cursor")
    return SearchCursor(document=int(digits))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
