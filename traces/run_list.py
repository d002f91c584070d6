"""The list of runs: newest first, filtered, searched as someone types, and what its filters offer."""

import base64
import binascii
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Final
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet
from django.utils.dateparse import parse_datetime

from traces import run_search
from traces.models import Run, RunTag
from traces.paging import whole_number
from traces.presenting import run_summary
from traces.problems import InvalidQuery
from traces.schemas import Facet, RunFacets, RunList
from traces.vocabulary import Label, RunSource, RunStatus

MAX_LIMIT: Final = 200
_LIMIT: Final = 50
_TAGS: Final = 100
_WORDS: Final = 100  # the text that is searched has 600 characters
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


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFilter:
    """Which runs to list: all conditions hold, and of several values of one any."""

    words: tuple[str, ...] = ()
    where: Q = field(default_factory=Q)
    tags: tuple[str, ...] = ()
    before: UUID | None = None
    limit: int = _LIMIT


def parse_filter(query: Mapping[str, str]) -> RunFilter:
    """The filter of query parameters; raises `InvalidQuery` naming the one that means nothing."""
    where = Q()
    if apps := _values(query, "app"):
        where &= Q(app__in=apps)
    if not _values(query, "source"):
        where &= ~Q(source=RunSource.PROBE)
    for name, allowed in _CHOICES.items():
        if values := _values(query, name):
            where &= Q(**{f"{name}__in": _allowed(name, values, allowed)})
    if labels := _values(query, "label"):
        where &= _any_label(_allowed("label", labels, frozenset(Label)))
    return RunFilter(
        words=_words(query.get("q", "")),
        where=where & _ranges(query),
        tags=tuple(_values(query, "tag")),
        before=_cursor(query.get("cursor", "")),
        limit=whole_number(query, "limit", default=_LIMIT, most=MAX_LIMIT),
    )


def page(chosen: RunFilter) -> RunList:
    """One page of runs. The total is counted where that costs less than the search itself."""
    found = _matching(chosen)
    here = found if chosen.before is None else found.filter(id__lt=chosen.before)
    runs = list(here.order_by("-id")[: chosen.limit + 1])
    more = len(runs) > chosen.limit
    return RunList(
        runs=[run_summary(run) for run in runs[: chosen.limit]],
        next=_cursor_text(runs[chosen.limit - 1].id) if more else None,
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
    return RunFacets(
        apps=_facet(counts["app"]), environments=_facet(counts["environment"]), statuses=_facet(counts["status"]),
        sources=_facet(counts["source"]), tags=[Facet(value=tag, count=count) for tag, count in tags],
    )  # fmt: skip


def _matching(chosen: RunFilter) -> QuerySet[Run]:
    found = Run.objects.filter(chosen.where)
    if chosen.tags:
        found = found.filter(id__in=RunTag.objects.filter(tag__in=chosen.tags).values("run_id"))
    return run_search.matching(found, chosen.words)


def _total(chosen: RunFilter, found: QuerySet[Run], shown: int, *, more: bool) -> int | None:
    if chosen.before is None and not more:
        return shown
    return None if chosen.words else found.count()


def _words(text: str) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(text.replace("\x00", "\ufffd").lower().split()))
    if len(words) > _WORDS:
        raise InvalidQuery(f"q has {len(words)} words: {_WORDS} are the most", where="/q")
    return words


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


def _cursor(text: str) -> UUID | None:
    if not text:
        return None
    try:
        return UUID(bytes=base64.urlsafe_b64decode(text + "=="))
    except (ValueError, binascii.Error) as error:
        raise InvalidQuery("the cursor is not one that this server gave", where="/cursor") from error


def _cursor_text(last: UUID) -> str:
    return base64.urlsafe_b64encode(last.bytes).decode().rstrip("=")


def _facet(counts: Counter[str]) -> list[Facet]:
    return [Facet(value=value, count=count) for value, count in counts.most_common() if value]
