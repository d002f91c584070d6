"""The filter of the runs list: conditions, words, sort order and page, from query parameters."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from math import isfinite, nan
from typing import Final
from uuid import UUID

from django.db.models import Q
from django.utils.dateparse import parse_datetime

from traces.core.vocabulary import JudgementKind, JudgementSource, Label, Outcome, RunSource, RunStatus
from traces.errors import InvalidQuery
from traces.http.paging import LAST_ID, whole_number
from traces.http.search_words import words_of
from traces.models import Run

MAX_LIMIT: Final = 200
_LIMIT: Final = 50
_SEARCH_MARK: Final = "~"
# The list shows the newest revision of a run.
VISIBLE: Final = Q(is_deleted=False, is_superseded=False)
_CHOICES: Final = {
    "environment": None,
    "status": frozenset(RunStatus),
    "source": frozenset(RunSource),
}


class Sort(StrEnum):
    """Order of the list. By outcome, failed runs come first; within an outcome, the newest."""

    NEWEST = "newest"
    OUTCOME = "outcome"
    OUTCOME_LAST = "-outcome"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cursor:
    """The sort keys of the last run of a page."""

    run_id: UUID
    outcome: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchCursor:
    """The last document of the search index that a page looked at."""

    document: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    """The runs to list. All conditions must match; of several values of one condition, any."""

    words: tuple[str, ...] = ()
    condition: Q = VISIBLE
    outcomes: tuple[str, ...] = tuple(Outcome)
    tags: tuple[str, ...] = ()
    judgement: Q = field(default_factory=Q)
    sort: Sort = Sort.NEWEST
    after: Cursor | SearchCursor | None = None
    limit: int = _LIMIT


def parse_filter(query: Mapping[str, str]) -> RunFilter:
    """Parse the filter from query parameters; raise `InvalidQuery` with the invalid one."""
    condition = VISIBLE
    if apps := _values(query, "app"):
        condition &= Q(app__in=apps)
    if not _values(query, "source"):
        condition &= ~Q(source=RunSource.PROBE)
    for name, choices in _CHOICES.items():
        if values := _values(query, name):
            condition &= Q(**{f"{name}__in": _check_choices(name, values, choices)})
    if labels := _values(query, "label"):
        condition &= _any_label(_check_choices("label", labels, frozenset(Label)))
    outcomes = _check_choices("outcome", _values(query, "outcome"), frozenset(Outcome))
    words, sort = words_of(query.get("q", "")), _sort(query.get("sort", ""))
    return RunFilter(
        words=words,
        condition=condition & _ranges(query),
        outcomes=tuple(dict.fromkeys(outcomes)) or tuple(Outcome),
        tags=tuple(_values(query, "tag")),
        judgement=_judgement(query),
        sort=sort,
        after=_cursor(query.get("cursor", ""), sort, is_search=bool(words)),
        limit=whole_number(query, "limit", default=_LIMIT, maximum=MAX_LIMIT),
    )


def _values(query: Mapping[str, str], name: str) -> list[str]:
    """Split the comma-separated values of a filter."""
    return [value for value in query.get(name, "").split(",") if value]


def _check_choices(name: str, values: list[str], choices: frozenset[str] | None) -> list[str]:
    for value in values:
        if choices is not None and value not in choices:
            raise InvalidQuery(f"{name} is {value!r}: it must be one of {', '.join(sorted(choices))}", where=f"/{name}")
    return values


def _any_label(labels: list[str]) -> Q:
    condition = Q()
    for label in labels:
        condition |= Q(**{f"has_{label}": True})
    return condition


def _ranges(query: Mapping[str, str]) -> Q:
    condition = Q()
    if start := query.get("since"):
        condition &= Q(started_at__gte=_time("since", start))
    if end := query.get("until"):
        condition &= Q(started_at__lte=_time("until", end))
    if min_cost := query.get("min_cost"):
        condition &= Q(cost_usd__gte=_cost("min_cost", min_cost))
    if max_cost := query.get("max_cost"):
        condition &= Q(cost_usd__lte=_cost("max_cost", max_cost))
    return condition


def _judgement(query: Mapping[str, str]) -> Q:
    """Return the condition for the one judgement that a run needs."""
    condition = Q()
    if names := _values(query, "judgement"):
        condition &= Q(name__in=names)
    if kinds := _values(query, "judgement_kind"):
        condition &= Q(kind__in=_check_choices("judgement_kind", kinds, frozenset(JudgementKind)))
    if sources := _values(query, "judgement_source"):
        condition &= Q(source__in=_check_choices("judgement_source", sources, frozenset(JudgementSource)))
    if least := query.get("min_score"):
        condition &= Q(value__gte=_score("min_score", least))
    if greatest := query.get("max_score"):
        condition &= Q(value__lte=_score("max_score", greatest))
    return condition


def _score(name: str, text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = nan
    if not isfinite(score):
        raise InvalidQuery(f"{name} is {text!r}: it must be a number", where=f"/{name}")
    return score


def _time(name: str, text: str) -> datetime:
    try:
        time = parse_datetime(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise InvalidQuery(
            f"{name} is {text!r}: it must be a time with a zone, such as 2026-11-21T10:00:00Z", where=f"/{name}"
        )
    return time


def _cost(name: str, text: str) -> Decimal:
    try:
        cost = Decimal(text)
    except InvalidOperation:
        cost = Decimal("NaN")
    if not cost.is_finite() or not 0 <= cost < 1_000_000:
        raise InvalidQuery(f"{name} is {text!r}: it must be an amount in US dollars", where=f"/{name}")
    return cost


def _sort(text: str) -> Sort:
    if text and text not in frozenset(Sort):
        raise InvalidQuery(f"sort is {text!r}: it must be one of {', '.join(Sort)}", where="/sort")
    return Sort(text or Sort.NEWEST)


def _cursor(text: str, sort: Sort, *, is_search: bool) -> Cursor | SearchCursor | None:
    if not text:
        return None
    if is_search and sort is Sort.NEWEST:
        return _search_cursor(text)
    key, _, outcome = text.partition(".")
    try:
        cursor = Cursor(run_id=UUID(bytes=base64.urlsafe_b64decode(key + "==")), outcome=outcome)
    except (ValueError, binascii.Error) as error:
        raise InvalidQuery("the cursor is invalid: use `next` of the previous page", where="/cursor") from error
    if (outcome in frozenset(Outcome)) is (sort is Sort.NEWEST):
        raise InvalidQuery("the cursor belongs to a list in a different order", where="/cursor")
    return cursor


def _search_cursor(text: str) -> SearchCursor:
    digits = text.removeprefix(_SEARCH_MARK)
    if digits == text or not (digits.isascii() and digits.isdecimal()) or int(digits[:13]) > LAST_ID:
        raise InvalidQuery("the cursor is invalid: use `next` of the previous page", where="/cursor")
    return SearchCursor(document=int(digits))


def cursor_text(last: Run, sort: Sort) -> str:
    """Return the cursor of the runs after this one."""
    key = base64.urlsafe_b64encode(last.id.bytes).decode().rstrip("=")
    return key if sort is Sort.NEWEST else f"{key}.{last.verdict.outcome}"


def search_cursor_text(document: int) -> str:
    """Return the cursor of the matches before this document."""
    return f"{_SEARCH_MARK}{document}"
