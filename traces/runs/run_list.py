"""The list of runs: filters, search as you type, sort orders, pages and facets."""

import base64
import binascii
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from math import isfinite, nan
from typing import Final
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet
from django.utils.dateparse import parse_datetime

from traces.core.vocabulary import JudgementKind, JudgementSource, Label, Outcome, RunSource, RunStatus
from traces.errors import InvalidQuery
from traces.http.paging import whole_number
from traces.http.search_words import words_of
from traces.models import Judgement, Run, RunOutcome, RunTag
from traces.runs.presenters import run_summary
from traces.schemas import Facet, RunFacets, RunList

MAX_LIMIT: Final = 200
_LIMIT: Final = 50
_MAX_TAGS: Final = 100
_LABEL_CONDITIONS: Final = {
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
    """Order of the list. By outcome, failed runs come first; within an outcome, the newest."""

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
    """The sort keys of the last run of a page."""

    run_id: UUID
    outcome: str = ""

    def rest(self, sort: Sort) -> Q:
        """Return the condition for the runs after it."""
        if sort is Sort.NEWEST:
            return Q(id__lt=self.run_id)
        side = "gt" if sort is Sort.OUTCOME else "lt"
        same = Q(verdict__outcome=self.outcome, verdict__run_id__lt=self.run_id)
        return Q(**{f"verdict__outcome__{side}": self.outcome}) | same


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    """The runs to list. All conditions must match; of several values of one condition, any."""

    words: tuple[str, ...] = ()
    condition: Q = field(default_factory=Q)
    tags: tuple[str, ...] = ()
    judgement: Q = field(default_factory=Q)
    sort: Sort = Sort.NEWEST
    after: Cursor | None = None
    limit: int = _LIMIT


def parse_filter(query: Mapping[str, str]) -> RunFilter:
    """Parse the filter from query parameters; raise `InvalidQuery` with the invalid one."""
    condition = Q()
    if apps := _values(query, "app"):
        condition &= Q(app__in=apps)
    sort = _sort(query.get("sort", ""))
    if not _values(query, "source"):
        condition &= ~Q(source=RunSource.PROBE) if sort is Sort.NEWEST else Q(verdict__is_probe=False)
    # The list shows the newest revision of a run.
    condition &= Q(superseded_by__isnull=True, deletion__isnull=True)
    for name, choices in _CHOICES.items():
        if values := _values(query, name):
            condition &= Q(**{f"{name}__in": _check_choices(name, values, choices)})
    if outcomes := _values(query, "outcome"):
        condition &= Q(verdict__outcome__in=_check_choices("outcome", outcomes, frozenset(Outcome)))
    if labels := _values(query, "label"):
        condition &= _any_label(_check_choices("label", labels, frozenset(Label)))
    return RunFilter(
        words=words_of(query.get("q", "")),
        condition=condition & _ranges(query),
        tags=tuple(_values(query, "tag")),
        judgement=_judgement(query),
        sort=sort,
        after=_cursor(query.get("cursor", ""), sort),
        limit=whole_number(query, "limit", default=_LIMIT, maximum=MAX_LIMIT),
    )


def page(run_filter: RunFilter) -> RunList:
    """Return a page of runs. The total is counted only where that costs less than the search itself."""
    matches = _matches(run_filter)
    rest = matches if run_filter.after is None else matches.filter(run_filter.after.rest(run_filter.sort))
    rows = rest.order_by(*_ORDERS[run_filter.sort]).select_related("verdict", "mark")
    runs = list(rows[: run_filter.limit + 1])
    more = len(runs) > run_filter.limit
    return RunList(
        runs=[run_summary(run) for run in runs[: run_filter.limit]],
        next=_cursor_text(runs[run_filter.limit - 1], run_filter.sort) if more else None,
        total=_total(run_filter, matches, len(runs), more=more),
    )


def facets() -> RunFacets:
    """Count the runs of each filter value, in one pass over a covering index."""
    columns = ("app", "environment", "status", "source")
    counts: dict[str, Counter[str]] = {name: Counter() for name in columns}
    _count_facets(counts, Run.objects.all(), 1)
    _count_facets(counts, Run.objects.filter(superseded_by__isnull=False), -1)
    _count_facets(counts, Run.objects.filter(superseded_by__isnull=True, deletion__isnull=False), -1)
    tags = RunTag.objects.values_list("tag").annotate(count=Count("*")).order_by("-count", "tag")[:_MAX_TAGS]
    newest_outcomes = RunOutcome.objects.filter(
        is_probe=False, run__superseded_by__isnull=True, run__deletion__isnull=True
    )
    outcomes = newest_outcomes.values_list("outcome").annotate(count=Count("*"))
    return RunFacets(
        apps=_facet(counts["app"]),
        environments=_facet(counts["environment"]),
        statuses=_facet(counts["status"]),
        outcomes=_facet(Counter(dict(outcomes))),
        sources=_facet(counts["source"]),
        tags=[Facet(value=tag, count=count) for tag, count in tags],
    )


def _count_facets(counts: dict[str, Counter[str]], runs: QuerySet[Run], sign: int) -> None:
    """Add the values of runs to the counts, or subtract them."""
    for *values, count in runs.values_list(*counts).annotate(count=Count("*")):
        *_, source = values
        for name, value in zip(counts, values, strict=True):
            # The list excludes probes by default.
            if name == "source" or source != RunSource.PROBE:
                counts[name][value] += sign * count


def _matches(run_filter: RunFilter) -> QuerySet[Run]:
    runs = Run.objects.filter(run_filter.condition)
    if run_filter.tags:
        runs = runs.filter(id__in=RunTag.objects.filter(tag__in=run_filter.tags).values("run_id"))
    if run_filter.judgement:
        judgements = Judgement.objects.filter(run_filter.judgement, withdrawn_at__isnull=True)
        runs = runs.filter(id__in=judgements.values("run_id"))
    return _filter_by_words(runs, run_filter.words)


def _filter_by_words(runs: QuerySet[Run], words: Sequence[str]) -> QuerySet[Run]:
    """Filter for runs whose search text contains every word."""
    for word in words:
        runs = runs.filter(search__contains=word)
    return runs


def _total(run_filter: RunFilter, matches: QuerySet[Run], length: int, *, more: bool) -> int | None:
    if run_filter.after is None and not more:
        return length
    return None if run_filter.words else matches.count()


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
        condition |= _LABEL_CONDITIONS[Label(label)]
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


def _cursor(text: str, sort: Sort) -> Cursor | None:
    if not text:
        return None
    key, _, outcome = text.partition(".")
    try:
        cursor = Cursor(run_id=UUID(bytes=base64.urlsafe_b64decode(key + "==")), outcome=outcome)
    except (ValueError, binascii.Error) as error:
        raise InvalidQuery("the cursor is invalid: use `next` of the previous page", where="/cursor") from error
    if (outcome in frozenset(Outcome)) is (sort is Sort.NEWEST):
        raise InvalidQuery("the cursor belongs to a list in a different order", where="/cursor")
    return cursor


def _cursor_text(last: Run, sort: Sort) -> str:
    key = base64.urlsafe_b64encode(last.id.bytes).decode().rstrip("=")
    return key if sort is Sort.NEWEST else f"{key}.{last.verdict.outcome}"


def _facet(counts: Counter[str]) -> list[Facet]:
    return [Facet(value=value, count=count) for value, count in counts.most_common() if value and count]
