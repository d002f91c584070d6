"""The list of runs: newest or failed first, filtered, searched as someone types, and what its filters offer."""

import base64
import binascii
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet
from django.utils.dateparse import parse_datetime

from traces.core.vocabulary import Label, Outcome, RunSource, RunStatus
from traces.errors import InvalidQuery
from traces.http.paging import whole_number
from traces.models import Run, RunOutcome, RunTag
from traces.runs import search
from traces.runs.presenters import run_summary
from traces.schemas import Facet, RunFacets, RunList

MAX_LIMIT: Final = 200
_LIMIT: Final = 50
_TAGS: Final = 100
_WORDS: Final = 100
_LABELLED: Final = {
    Label.EXACT: Q(exact_count__gt=0),
    Label.CACHED: Q(cached_count__gt=0),
    Label.SIMULATED: Q(simulated_count__gt=0),
    Label.LIVE: Q(step_count__gt=F("exact_count") + F("cached_count") + F("simulated_count")),
}
_CHOICES: Final = {
    "environment": None,
    "status": frozenset(RunStatus),
    "source": frozenset(RunSource),
}


class Sort(StrEnum):
    """Order of the list. By outcome the failed come first, and of each outcome the newest."""

    NEWEST = "newest"
    OUTCOME = "outcome"
    OUTCOME_LAST = "-outcome"


_ORDERS: Final = {
    Sort.NEWEST: ("-id",),
    Sort.OUTCOME: ("verdict__outcome", "-verdict__run_id"),
    Sort.OUTCOME_LAST: ("-verdict__outcome", "-verdict__run_id"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cursor:
    """The last run of a page, by what lists are sorted by."""

    run_id: UUID
    outcome: str = ""

    def rest(self, sort: Sort) -> Q:
        """The runs that come after it."""
        if sort is Sort.NEWEST:
            return Q(id__lt=self.run_id)
        side = "gt" if sort is Sort.OUTCOME else "lt"
        same = Q(verdict__outcome=self.outcome, verdict__run_id__lt=self.run_id)
        return Q(**{f"verdict__outcome__{side}": self.outcome}) | same


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    """Which runs to list: all conditions hold, and of several values of one any."""

    words: tuple[str, ...] = ()
    where: Q = field(default_factory=Q)
    tags: tuple[str, ...] = ()
    sort: Sort = Sort.NEWEST
    after: Cursor | None = None
    limit: int = _LIMIT


def parse_filter(query: Mapping[str, str]) -> RunFilter:
    """The filter of query parameters; raises `InvalidQuery` naming the one that means nothing."""
    where = Q()
    if apps := _values(query, "app"):
        where &= Q(app__in=apps)
    sort = _sort(query.get("sort", ""))
    if not _values(query, "source"):
        where &= ~Q(source=RunSource.PROBE) if sort is Sort.NEWEST else Q(verdict__is_probe=False)
    for name, allowed in _CHOICES.items():
        if values := _values(query, name):
            where &= Q(**{f"{name}__in": _allowed(name, values, allowed)})
    if outcomes := _values(query, "outcome"):
        where &= Q(verdict__outcome__in=_allowed("outcome", outcomes, frozenset(Outcome)))
    if labels := _values(query, "label"):
        where &= _any_label(_allowed("label", labels, frozenset(Label)))
    return RunFilter(
        words=search.words_of(query.get("q", "")),
        where=where & _ranges(query),
        tags=tuple(_values(query, "tag")),
        sort=sort,
        after=_cursor(query.get("cursor", ""), sort),
        limit=whole_number(query, "limit", default=_LIMIT, maximum=MAX_LIMIT),
    )


def page(chosen: RunFilter) -> RunList:
    """One page of runs. The total is counted where that costs less than the search itself."""
    found = _matching(chosen)
    here = found if chosen.after is None else found.filter(chosen.after.rest(chosen.sort))
    ordered = here.order_by(*_ORDERS[chosen.sort]).select_related("verdict")
    runs = list(ordered[: chosen.limit + 1])
    more = len(runs) > chosen.limit
    return RunList(
        runs=[run_summary(run) for run in runs[: chosen.limit]],
        next=_cursor_text(runs[chosen.limit - 1], chosen.sort) if more else None,
        total=_total(chosen, found, len(runs), more=more),
    )


def facets() -> RunFacets:
    """The values that occur, with the number of runs: one pass over an index that holds them."""
    columns = ("app", "environment", "status", "source")
    counts: dict[str, Counter[str]] = {name: Counter() for name in columns}
    for *values, count in Run.objects.values_list(*columns).annotate(count=Count("*")):
        *_, source = values
        for name, value in zip(columns, values, strict=True):
            if name == "source" or source != RunSource.PROBE:  # the list leaves probes out unless asked for them
                counts[name][value] += count
    tags = RunTag.objects.values_list("tag").annotate(count=Count("*")).order_by("-count", "tag")[:_TAGS]
    listed = RunOutcome.objects.filter(is_probe=False).values_list("outcome").annotate(count=Count("*"))
    return RunFacets(
        apps=_facet(counts["app"]),
        environments=_facet(counts["environment"]),
        statuses=_facet(counts["status"]),
        outcomes=_facet(Counter(dict(listed))),
        sources=_facet(counts["source"]),
        tags=[Facet(value=tag, count=count) for tag, count in tags],
    )


def _matching(chosen: RunFilter) -> QuerySet[Run]:
    found = Run.objects.filter(chosen.where)
    if chosen.tags:
        found = found.filter(id__in=RunTag.objects.filter(tag__in=chosen.tags).values("run_id"))
    return search.matching(found, chosen.words)


def _total(chosen: RunFilter, found: QuerySet[Run], shown: int, *, more: bool) -> int | None:
    if chosen.after is None and not more:
        return shown
    return None if chosen.words else found.count()


def _values(query: Mapping[str, str], name: str) -> list[str]:
    """The values of a filter, joined by commas."""
    return [value for value in query.get(name, "").split(",") if value]


def _allowed(name: str, values: list[str], allowed: frozenset[str] | None) -> list[str]:
    for value in values:
        if allowed is not None and value not in allowed:
            raise InvalidQuery(f"{name} is {value!r}: it must be one of {', '.join(sorted(allowed))}", where=f"/{name}")
    return values


def _any_label(labels: list[str]) -> Q:
    where = Q()
    for label in labels:
        where |= _LABELLED[Label(label)]
    return where


def _ranges(query: Mapping[str, str]) -> Q:
    where = Q()
    if since := query.get("since"):
        where &= Q(started_at__gte=_time("since", since))
    if until := query.get("until"):
        where &= Q(started_at__lte=_time("until", until))
    if least := query.get("min_cost"):
        where &= Q(cost_usd__gte=_cost("min_cost", least))
    if most := query.get("max_cost"):
        where &= Q(cost_usd__lte=_cost("max_cost", most))
    return where


def _time(name: str, text: str) -> datetime:
    try:
        time = parse_datetime(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise InvalidQuery(
            f"{name} is {text!r}: it must be a time with a zone, as 2026-11-21T10:00:00Z", where=f"/{name}"
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


def _cursor(text: str, sort: Sort) -> Cursor | None:
    if not text:
        return None
    key, _, outcome = text.partition(".")
    try:
        cursor = Cursor(run_id=UUID(bytes=base64.urlsafe_b64decode(key + "==")), outcome=outcome)
    except (ValueError, binascii.Error) as error:
        raise InvalidQuery("the cursor is not one that this server gave", where="/cursor") from error
    if (outcome in frozenset(Outcome)) is (sort is Sort.NEWEST):
        raise InvalidQuery("the cursor is not one of a list in this order", where="/cursor")
    return cursor


def _cursor_text(last: Run, sort: Sort) -> str:
    key = base64.urlsafe_b64encode(last.id.bytes).decode().rstrip("=")
    return key if sort is Sort.NEWEST else f"{key}.{last.verdict.outcome}"


def _facet(counts: Counter[str]) -> list[Facet]:
    return [Facet(value=value, count=count) for value, count in counts.most_common() if value]
