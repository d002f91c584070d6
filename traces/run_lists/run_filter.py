"""The filter of the runs list: conditions, words, sort order and page, from query parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from math import isfinite, nan
from typing import Final
from uuid import UUID

from django.db.models import DateTimeField, F, FloatField, Q
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual

from traces.core.vocabulary import JudgementKind, JudgementSource, Label, Outcome, RunSource, RunStatus
from traces.errors import InvalidQuery
from traces.http.paging import time_of, whole_number
from traces.http.search_words import words_of
from traces.run_lists.sort_orders import Cursor, Sort, UnindexedColumn, parse_cursor

MAX_LIMIT: Final = 200
_LIMIT: Final = 50
# The list shows the newest revision of a run.
VISIBLE: Final = Q(is_deleted=False, is_superseded=False)
_CHOICES: Final = {
    "environment": None,
    "status": frozenset(RunStatus),
    "source": frozenset(RunSource),
}


# Parameters that do not leave out any run.
_PAGE_NAMES: Final = frozenset({"forks", "sort", "cursor", "limit"})


class ForkPlace(StrEnum):
    """Where a list shows forks: each in its own place, or below the first run of their line."""

    OWN_ROW = "listed"
    BELOW_SOURCE = "nested"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    """The runs to list. All conditions must match; of several values of one condition, any.

    They do not contain `VISIBLE`, which the indexes imply where it is a condition of its own.
    """

    words: tuple[str, ...] = ()
    condition: Q = field(default_factory=Q)
    outcomes: tuple[str, ...] = tuple(Outcome)
    tags: tuple[str, ...] = ()
    judgement: Q = field(default_factory=Q)
    judgement_names: tuple[str, ...] = ()
    forks: ForkPlace = ForkPlace.OWN_ROW
    is_narrow: bool = False
    sort: Sort = Sort.NEWEST
    after: Cursor | None = None
    limit: int = _LIMIT


def parse_filter(query: Mapping[str, str]) -> RunFilter:
    """Parse the filter from query parameters; raise `InvalidQuery` with the invalid one."""
    condition = Q()
    if apps := _values(query, "app"):
        condition &= Q(app__in=apps)
    if not _values(query, "source"):
        condition &= ~Q(source=RunSource.PROBE)
    for name, choices in _CHOICES.items():
        if values := _values(query, name):
            condition &= Q(**{f"{name}__in": _check_choices(name, values, choices)})
    if labels := _values(query, "label"):
        condition &= _any_label(_check_choices("label", labels, frozenset(Label)))
    if family := query.get("family"):
        condition &= Q(root=_run_id("family", family))
    outcomes = _check_choices("outcome", _values(query, "outcome"), frozenset(Outcome))
    words, sort = words_of(query.get("q", "")), Sort(_one_of("sort", query.get("sort", ""), Sort) or Sort.NEWEST)
    forks = ForkPlace(_one_of("forks", query.get("forks", ""), ForkPlace) or ForkPlace.OWN_ROW)
    return RunFilter(
        words=words,
        condition=condition & _ranges(query, sort.column if forks is ForkPlace.OWN_ROW else ""),
        outcomes=tuple(dict.fromkeys(outcomes)) or tuple(Outcome),
        tags=tuple(_values(query, "tag")),
        judgement=_judgement(query),
        judgement_names=tuple(_values(query, "judgement")),
        forks=forks,
        is_narrow=any(value for name, value in query.items() if name not in _PAGE_NAMES),
        sort=sort,
        after=parse_cursor(query.get("cursor", ""), sort, is_search=bool(words)),
        limit=whole_number(query, "limit", default=_LIMIT, maximum=MAX_LIMIT),
    )


def _values(query: Mapping[str, str], name: str) -> list[str]:
    """Split the comma-separated values of a filter."""
    return [value for value in query.get(name, "").split(",") if value]


def _check_choices(name: str, values: list[str], choices: frozenset[str] | None) -> list[str]:
    for value in values:
        if choices is not None and value not in choices:
            raise InvalidQuery(f"{name} is “{value}”: it must be one of {', '.join(sorted(choices))}", where=f"/{name}")
    return values


def _any_label(labels: list[str]) -> Q:
    condition = Q()
    for label in labels:
        condition |= Q(**{f"has_{label}": True})
    return condition


def _ranges(query: Mapping[str, str], sort_column: str) -> Q:
    """Return the conditions on start and cost; in a list in another order, SQLite must not use their indexes."""
    start = (
        F("started_at") if sort_column == "started_at" else UnindexedColumn("started_at", output_field=DateTimeField())
    )
    cost = F("cost_usd") if sort_column == "cost_usd" else UnindexedColumn("cost_usd", output_field=FloatField())
    condition = Q()
    if earliest := time_of(query, "since"):
        condition &= Q(GreaterThanOrEqual(start, earliest))
    if latest := time_of(query, "until"):
        condition &= Q(LessThanOrEqual(start, latest))
    if min_cost := query.get("min_cost"):
        condition &= Q(GreaterThanOrEqual(cost, _cost("min_cost", min_cost)))
    if max_cost := query.get("max_cost"):
        condition &= Q(LessThanOrEqual(cost, _cost("max_cost", max_cost)))
    return condition


def _judgement(query: Mapping[str, str]) -> Q:
    """Return the condition for the one judgement that a run needs, except its name."""
    condition = Q()
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
        raise InvalidQuery(f"{name} is “{text}”: it must be a number", where=f"/{name}")
    return score


def _cost(name: str, text: str) -> Decimal:
    try:
        cost = Decimal(text)
    except InvalidOperation:
        cost = Decimal("NaN")
    if not cost.is_finite() or not 0 <= cost < 1_000_000:
        raise InvalidQuery(f"{name} is “{text}”: it must be an amount in US dollars", where=f"/{name}")
    return cost


def _one_of(name: str, text: str, choices: type[StrEnum]) -> str:
    if text and text not in frozenset(choices):
        raise InvalidQuery(f"{name} is “{text}”: it must be one of {', '.join(choices)}", where=f"/{name}")
    return text


def _run_id(name: str, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidQuery(f"{name} is “{text}”: it must be the id of a run", where=f"/{name}") from error
