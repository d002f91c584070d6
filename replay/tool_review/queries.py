"""The tools there are: called in a run, offered to a model, configured, or decided about."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Final
from uuid import UUID

from django.db.models import CharField, Count, Max, Min, OuterRef, Q, Subquery
from django.db.models.functions import Cast

from replay.models import ToolDecision
from replay.resolution.side_effects import suggest
from replay.tool_review.schemas import ToolDecisionView, ToolList, ToolSuggestion, ToolView
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.models import Run, Step
from traces.payloads import parts
from traces.storage import artifacts

_SHOWN_HISTORY: Final = 10
_NEWEST_RUNS: Final = 50  # looked through for tools that were offered and never called
_CHUNK: Final = 100  # alternatives of one query


@dataclass
class _Seen:
    """What the runs say about one tool."""

    apps: set[str] = field(default_factory=set)
    calls: int = 0
    at: datetime | None = None
    run: UUID | None = None  # the last in which it was called


@dataclass(frozen=True, kw_only=True)
class _Offer:
    """A tool as a model step offered it."""

    description: str
    parameters: JSONValue


def safety(tool: str) -> bool | None:
    """The decision that holds: safe, side effect, or None where nobody reviewed the tool."""
    return ToolDecision.objects.filter(tool=tool).order_by("-id").values_list("safe", flat=True).first()


def safety_by_tool() -> dict[str, bool | None]:
    """The decision that holds, of every tool that ever had one."""
    newest = ToolDecision.objects.values("tool").annotate(newest=Max("id")).values("newest")
    return dict(ToolDecision.objects.filter(id__in=newest).values_list("tool", "safe"))


def listing(executors: dict[str, str]) -> ToolList:
    """Every tool; those that wait for a review come first. `executors` are the configured ones."""
    seen = _called()
    offers = _offers(seen)
    history = _history()
    names = seen.keys() | offers.keys() | history.keys() | executors.keys()
    tools = [
        _view(name, seen.get(name, _Seen()), offers.get(name), history.get(name, []), executors.get(name, ""))
        for name in names
    ]
    return ToolList(tools=sorted(tools, key=lambda tool: (tool.safe is not None, tool.name.lower(), tool.name)))


def _view(name: str, seen: _Seen, offer: _Offer | None, history: list[ToolDecisionView], executor: str) -> ToolView:
    description = offer.description if offer is not None else ""
    suggestion = suggest(name, description)
    return ToolView(
        name=name,
        apps=sorted(seen.apps),
        calls=seen.calls,
        last_seen=seen.at,
        description=description,
        parameters=offer.parameters if offer is not None else None,
        suggestion=ToolSuggestion(safe=suggestion.safe, reason=suggestion.reason),
        safe=history[0].safe if history else None,
        history=history[:_SHOWN_HISTORY],
        executor=executor,
    )


def _called() -> dict[str, _Seen]:
    """Every tool that a run called, from the index over tool steps."""
    rows = (
        Step.objects.filter(type=StepType.TOOL)
        .values("tool_name", "name", "run__app")
        .annotate(
            calls=Count("run_id", filter=Q(run__source_run=None)),
            at=Max("run__created_at"),
            last=Max(Cast("run_id", CharField())),
        )
        .order_by()
    )
    found: dict[str, _Seen] = {}
    for row in rows:
        tool = found.setdefault(row["tool_name"] or row["name"], _Seen())
        tool.apps.add(row["run__app"])
        tool.calls += row["calls"]
        if tool.at is None or row["at"] > tool.at:
            tool.at, tool.run = row["at"], UUID(row["last"])
    return found


def _offers(seen: dict[str, _Seen]) -> dict[str, _Offer]:
    """Tools as models were offered them: in the newest runs, and before the last calls of each tool seen."""
    newest = _first_offers(Run.objects.order_by("-id").values_list("id", flat=True)[:_NEWEST_RUNS])
    refs = [*_offers_before_calls(seen), *newest]
    stored = artifacts.load(dict.fromkeys(ref for ref in refs if ref))
    lists = [value["tools"] for value in stored.values() if isinstance(value, dict) and value.get("tools")]
    found: dict[str, _Offer] = {}
    for tool in _whole(lists):
        name, offer = _offer(tool)
        if name and (name not in found or not found[name].description):
            found[name] = offer
    return found


def _first_offers(runs: Iterable[UUID]) -> Iterator[str]:
    """The inputs of the first model step of each run."""
    models = Step.objects.filter(run=OuterRef("pk"), type=StepType.MODEL).exclude(input_ref="").order_by("sequence_no")
    first = Subquery(models.values("input_ref")[:1])
    yield from Run.objects.filter(id__in=list(runs)).annotate(ref=first).values_list("ref", flat=True)


def _offers_before_calls(seen: dict[str, _Seen]) -> Iterator[str]:
    """The input of the model step that stands before the first call of each tool, in its last run."""
    last = {tool.run for tool in seen.values() if tool.run is not None}
    firsts = (
        Step.objects.filter(type=StepType.TOOL, run_id__in=last)
        .values("tool_name", "name", "run_id")
        .annotate(no=Min("sequence_no"))
        .order_by()
    )
    calls = [(row["run_id"], row["no"]) for row in firsts if seen[row["tool_name"] or row["name"]].run == row["run_id"]]
    models = Step.objects.filter(
        run=OuterRef("run_id"), type=StepType.MODEL, sequence_no__lt=OuterRef("sequence_no")
    ).order_by("-sequence_no")
    for start in range(0, len(calls), _CHUNK):
        wanted = Q()
        for run, no in calls[start : start + _CHUNK]:
            wanted |= Q(run_id=run, sequence_no=no)
        rows = Step.objects.filter(wanted).annotate(ref=Subquery(models.values("input_ref")[:1]))
        yield from rows.values_list("ref", flat=True)


def _whole(lists: list[JSONValue]) -> Iterator[JSONValue]:
    """The entries of stored lists of tools, whole; a list of which a part is missing is left out."""
    try:
        stored = parts.fetch_closure(parts.references(lists), artifacts.load)
    except parts.MissingPart:
        if len(lists) > 1:
            yield from chain.from_iterable(_whole([one]) for one in lists)
        return
    for value in lists:
        whole = parts.assemble(value, stored)
        yield from whole if isinstance(whole, list) else ()


def _offer(tool: JSONValue) -> tuple[str, _Offer]:
    """Name and offer, of both shapes in which tools are offered."""
    given: JSONObject = tool if isinstance(tool, dict) else {}
    function = given.get("function")
    inner: JSONObject = function if isinstance(function, dict) else given
    parameters = inner.get("parameters", inner.get("input_schema"))
    return str(inner.get("name") or ""), _Offer(description=str(inner.get("description") or ""), parameters=parameters)


def _history() -> dict[str, list[ToolDecisionView]]:
    found: dict[str, list[ToolDecisionView]] = {}
    for row in ToolDecision.objects.order_by("-id"):
        view = ToolDecisionView.model_validate({"safe": row.safe, "by": row.by, "via": row.via, "at": row.at})
        found.setdefault(row.tool, []).append(view)
    return found
