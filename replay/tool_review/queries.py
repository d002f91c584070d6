"""List tools that were called in a run, offered to a model, configured, or reviewed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Final
from uuid import UUID

from django.db.models import Max, Min, OuterRef, Q, QuerySet, Subquery

from replay.models import ToolDecision
from replay.resolution.side_effects import suggest
from replay.tool_review.schemas import ToolDecisionView, ToolList, ToolSuggestion, ToolView
from traces.core.json_access import as_list, as_object, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import TOOL_DESCRIPTION, StepType
from traces.models import Run, Step
from traces.payloads import parts
from traces.storage import artifacts
from traces.totals import queries as totals

_SHOWN_HISTORY: Final = 10
_NEWEST_RUNS: Final = 50  # searched for tools that were offered but never called
_CHUNK: Final = 100  # alternatives per query


@dataclass
class _ToolUsage:
    """Usage of one tool in runs."""

    apps: set[str] = field(default_factory=set)
    calls: int = 0
    at: datetime | None = None
    # The last run with a call.
    run: UUID | None = None


@dataclass(frozen=True, kw_only=True)
class _Offer:
    """A tool definition that a model step offered."""

    description: str
    parameters: JSONValue


def safety(tool: str) -> bool | None:
    """Return the current decision: True if safe, False for a side effect, None if not reviewed."""
    return ToolDecision.objects.filter(tool=tool).order_by("-id").values_list("safe", flat=True).first()


def safety_by_tool() -> dict[str, bool | None]:
    """Return the current decision of every tool that has ever been reviewed."""
    newest = ToolDecision.objects.values("tool").annotate(newest=Max("id")).values("newest")
    return dict(ToolDecision.objects.filter(id__in=newest).values_list("tool", "safe"))


def listing(executors: dict[str, str]) -> ToolList:
    """List every tool, unreviewed tools first; `executors` describes what runs the configured tools."""
    usage_by_tool = _usage_by_tool()
    offers = _offers(usage_by_tool)
    history = _history()
    names = usage_by_tool.keys() | offers.keys() | history.keys() | executors.keys()
    tools = [
        _view(
            name,
            usage_by_tool.get(name, _ToolUsage()),
            offers.get(name),
            history.get(name, []),
            executors.get(name, ""),
        )
        for name in names
    ]
    return ToolList(tools=sorted(tools, key=lambda tool: (tool.safe is not None, tool.name.lower(), tool.name)))


def _view(
    name: str, usage: _ToolUsage, offer: _Offer | None, history: list[ToolDecisionView], executor: str
) -> ToolView:
    description = offer.description if offer is not None else ""
    suggestion = suggest(name, description)
    return ToolView(
        name=name,
        apps=sorted(usage.apps),
        calls=usage.calls,
        last_seen=usage.at,
        description=description,
        parameters=offer.parameters if offer is not None else None,
        suggestion=ToolSuggestion(safe=suggestion.safe, reason=suggestion.reason),
        safe=history[0].safe if history else None,
        history=history[:_SHOWN_HISTORY],
        executor=executor,
    )


def _usage_by_tool() -> dict[str, _ToolUsage]:
    """Return the usage of every tool that a sealed run called."""
    rows = totals.tool_calls()
    times = totals.creation_times([row.newest_run for row in rows])
    usage_by_tool: dict[str, _ToolUsage] = {}
    for row in rows:
        tool = usage_by_tool.setdefault(row.tool, _ToolUsage())
        tool.apps.add(row.app)
        tool.calls += row.calls
        at = times.get(row.newest_run)
        if at is not None and (tool.at is None or at > tool.at):
            tool.at, tool.run = at, row.newest_run
    return usage_by_tool


def _offers(usage_by_tool: dict[str, _ToolUsage]) -> dict[str, _Offer]:
    """Return tool definitions from the newest runs, and from before the last calls of each used tool."""
    newest = _first_offers(Run.objects.order_by("-id").values_list("id", flat=True)[:_NEWEST_RUNS])
    first_calls = [*_first_calls(usage_by_tool)]
    refs = [*_offers_before_calls(first_calls), *newest]
    values = artifacts.load(dict.fromkeys(ref for ref in refs if ref))
    lists: list[JSONValue] = [tools for value in values.values() if (tools := member(value, "tools"))]
    offers: dict[str, _Offer] = {}
    for tool in _complete_entries(lists):
        name, offer = _offer(tool)
        if name and (name not in offers or not offers[name].description):
            offers[name] = offer
    for name, description in _recorded_descriptions(first_calls):
        offer = offers.get(name, _Offer(description="", parameters=None))
        offers[name] = offer if offer.description else replace(offer, description=description)
    return offers


def _first_offers(runs: Iterable[UUID]) -> Iterator[str]:
    """Yield the input of the first model step of each run."""
    models = Step.objects.filter(run=OuterRef("pk"), type=StepType.MODEL).exclude(input_ref="").order_by("sequence_no")
    first = Subquery(models.values("input_ref")[:1])
    yield from Run.objects.filter(id__in=list(runs)).annotate(ref=first).values_list("ref", flat=True)


def _offers_before_calls(first_calls: Iterable[QuerySet[Step]]) -> Iterator[str]:
    """Yield the inputs of the model steps before some calls."""
    models = Step.objects.filter(
        run=OuterRef("run_id"), type=StepType.MODEL, sequence_no__lt=OuterRef("sequence_no")
    ).order_by("-sequence_no")
    for calls in first_calls:
        yield from calls.annotate(ref=Subquery(models.values("input_ref")[:1])).values_list("ref", flat=True)


def _recorded_descriptions(first_calls: Iterable[QuerySet[Step]]) -> Iterator[tuple[str, str]]:
    """Yield the names of tools whose calls were recorded with a description, and that description."""
    for calls in first_calls:
        rows = calls.exclude(attributes_ref="").values_list("tool_name", "name", "attributes_ref")
        values = artifacts.load({ref for *_, ref in rows})
        for tool_name, name, ref in rows:
            if isinstance(description := member(values.get(ref), TOOL_DESCRIPTION), str):
                yield tool_name or name, description


def _first_calls(usage_by_tool: dict[str, _ToolUsage]) -> Iterator[QuerySet[Step]]:
    """Yield the first call of each tool, in its last run, in chunks."""
    last_runs = {tool.run for tool in usage_by_tool.values() if tool.run is not None}
    firsts = (
        Step.objects.filter(type=StepType.TOOL, run_id__in=last_runs)
        .values("tool_name", "name", "run_id")
        .annotate(no=Min("sequence_no"))
        .order_by()
    )
    calls = [
        (row["run_id"], row["no"])
        for row in firsts
        if usage_by_tool[row["tool_name"] or row["name"]].run == row["run_id"]
    ]
    for start in range(0, len(calls), _CHUNK):
        condition = Q()
        for run, no in calls[start : start + _CHUNK]:
            condition |= Q(run_id=run, sequence_no=no)
        yield Step.objects.filter(condition)


def _complete_entries(lists: list[JSONValue]) -> Iterator[JSONValue]:
    """Yield the entries of stored tool lists with all parts; lists with a missing part are skipped."""
    try:
        values = parts.fetch_closure(parts.references(lists), artifacts.load)
    except parts.MissingPart:
        if len(lists) > 1:
            yield from chain.from_iterable(_complete_entries([tool_list]) for tool_list in lists)
        return
    for value in lists:
        whole = parts.assemble(value, values)
        yield from as_list(whole)


def _offer(tool: JSONValue) -> tuple[str, _Offer]:
    """Return name and definition of a tool, from either of the two formats."""
    outer: JSONObject = as_object(tool)
    inner = as_object(outer.get("function")) or outer
    parameters = inner.get("parameters", inner.get("input_schema"))
    return str(inner.get("name") or ""), _Offer(description=str(inner.get("description") or ""), parameters=parameters)


def _history() -> dict[str, list[ToolDecisionView]]:
    history: dict[str, list[ToolDecisionView]] = {}
    for row in ToolDecision.objects.order_by("-id"):
        view = ToolDecisionView.model_validate({"safe": row.safe, "by": row.by, "via": row.via, "at": row.at})
        history.setdefault(row.tool, []).append(view)
    return history
