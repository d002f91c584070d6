"""Inspect a run, and find the nearest passing runs."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from diffing.attribution.declared_config import TASK_FIELDS
from replay.inspection.core.inspect_run import in_order, inspect
from replay.inspection.core.place_accuracy import ACCURACIES, FREQUENCIES
from replay.inspection.core.places import CONTAINERS, Place, PlaceKind, quote
from replay.inspection.core.schemas import (
    AccuracyView,
    FrequencyView,
    Nearness,
    PassingRun,
    PlaceKindView,
    PlaceView,
    RunPlaces,
)
from replay.inspection.core.step_contents import closure, contents
from replay.resolution.side_effects import looks_like_write
from replay.tool_review import queries
from traces.core.gc_pause import without_pauses
from traces.core.vocabulary import JudgementKind, JudgementSource, Outcome, RunSource, StepStatus, StepType
from traces.ingest.outcome_rules import DEFAULT_CRITERIA, Verdict, adverse
from traces.judgements.queries import criteria_of
from traces.models import Edge, Judgement, Run, RunOutcome, Step
from traces.models.ordered_json import comparable
from traces.origins import stored_provenance
from traces.storage import artifacts

MAX_PLACES: Final = 200  # places in a response
_MAX_PER_KIND: Final = 40  # places of one kind
_MAX_PASSING: Final = 3
_CACHED_RUNS: Final = 32  # runs
_COLUMNS: Final = (
    "sequence_no",
    "type",
    "name",
    "tool_name",
    "status",
    "error",
    "signature",
    "input_ref",
    "output_ref",
)
_TITLES: Final[Mapping[PlaceKind, str]] = {
    PlaceKind.JUDGEMENT: "Failed checks and scores",
    PlaceKind.FAILED_STEP: "Failed steps",
    PlaceKind.HIDDEN_ERROR: "Errors reported inside results",
    PlaceKind.REPEATED_CALL: "Repeated calls",
    PlaceKind.LOOP: "Loops",
    PlaceKind.UNSUPPORTED_CLAIM: "Values that no input supports",
    PlaceKind.WRITE_FROM_CLAIM: "First write with such a value",
}


@dataclass(frozen=True, kw_only=True)
class _Inspection:
    """Places that the recording alone shows: the first of each kind, and the number of all."""

    places: tuple[Place, ...]
    counts: Counter[PlaceKind]
    unread: int


def places(run: Run) -> RunPlaces:
    """Places of a run that are worth a look, and the passing runs to compare it with."""
    safety_by_tool = frozenset(queries.safety_by_tool().items())
    inspection = (_inspect_once if run.sealed_at else _inspect)(run.id, safety_by_tool)
    judgement_places = tuple(_judgement_places(run))
    # A validator that failed is a judgement and a failed step.
    judged_texts = {(place.step, place.text) for place in judgement_places}
    repeats = [place for place in inspection.places if (place.step, place.text) in judged_texts]
    counts = inspection.counts + Counter(place.kind for place in judgement_places)
    counts -= Counter(place.kind for place in repeats)
    new_places = [place for place in inspection.places if place not in repeats]
    listed_places = in_order([*judgement_places, *new_places])[:MAX_PLACES]
    return RunPlaces(
        run=run.id,
        outcome=_outcome(run.id),
        places=[_view(place) for place in listed_places],
        left_out=counts.total() - len(listed_places),
        unread=inspection.unread,
        kinds=[_kind(kind, counts[kind]) for kind in PlaceKind if counts[kind]],
        passing=passing(run),
    )


def passing(run: Run) -> list[PassingRun]:
    """Nearest passing runs: of the same task, else with the same first input, else the newest of the app."""
    passing_runs = Run.objects.filter(app=run.app, verdict__outcome=Outcome.PASSED, sealed_at__isnull=False)
    candidates = passing_runs.exclude(source=RunSource.PROBE).exclude(id=run.id).order_by("-id")
    for nearness, nearest in _nearest(run, candidates):
        if runs := list(nearest[:_MAX_PASSING]):
            return [
                PassingRun(
                    id=passing_run.id, name=passing_run.name, nearness=nearness, created_at=passing_run.created_at
                )
                for passing_run in runs
            ]
    return []


@without_pauses()
def _inspect(run_id: UUID, safety_by_tool: frozenset[tuple[str, bool | None]]) -> _Inspection:
    rows = list(Step.objects.filter(run_id=run_id).order_by("sequence_no").values(*_COLUMNS))
    refs = [ref for row in rows if row["type"] not in CONTAINERS for ref in (row["input_ref"], row["output_ref"])]
    steps = contents(rows, closure(refs, artifacts.load), _producers(run_id, rows))
    found_places = inspect(steps, is_write=_is_write(dict(safety_by_tool)))
    return _Inspection(
        places=tuple(_first_of_each(found_places)),
        counts=Counter(place.kind for place in found_places),
        unread=sum(step.is_unread for step in steps),
    )


# A sealed run never changes; reading ten thousand steps takes seconds.
_inspect_once: Final = lru_cache(maxsize=_CACHED_RUNS)(_inspect)


def _nearest(run: Run, candidates: QuerySet[Run]) -> Iterator[tuple[Nearness, QuerySet[Run]]]:
    task = next((name for name in TASK_FIELDS if run.metadata.get(name) is not None), None)
    if task is not None:
        yield (
            "same_task",
            candidates.alias(facts=comparable("metadata")).filter(**{f"facts__{task}": run.metadata[task]}),
        )
    first = Step.objects.filter(run_id=run.id).exclude(input_ref="").order_by("sequence_no").first()
    if first is not None:
        alike = Step.objects.filter(sequence_no=first.sequence_no, input_ref=first.input_ref, run__app=run.app)
        yield "same_input", candidates.filter(id__in=alike.values("run_id"))
    yield "same_app", candidates


def _producers(run_id: UUID, rows: Sequence[Mapping[str, Any]]) -> dict[int, list[int]]:
    """Steps that the inputs of tool calls and failed steps came from."""
    stored_provenance.ensure(run_id)
    consumer_numbers = {
        row["sequence_no"] for row in rows if row["type"] == StepType.TOOL or row["status"] != StepStatus.OK
    }
    producers: dict[int, list[int]] = defaultdict(list)
    edges = Edge.objects.filter(run_id=run_id).order_by("consumer_no", "producer_no")
    for consumer, producer in edges.values_list("consumer_no", "producer_no").distinct():
        if consumer in consumer_numbers:
            producers[consumer].append(producer)
    return producers


def _is_write(safety_by_tool: Mapping[str, bool | None]) -> Callable[[str], bool]:
    """Decide whether a tool writes: by its review, else by its name."""

    def is_write(tool: str) -> bool:
        safe = safety_by_tool.get(tool)
        return looks_like_write(tool) if safe is None else not safe

    return is_write


def _judgement_places(run: Run) -> Iterator[Place]:
    """Adverse judgements of the run or its steps, by the outcome rule of its app."""
    rows = Judgement.objects.filter(run=run, withdrawn_at__isnull=True).order_by("step_no", "id")
    verdicts = [
        Verdict(
            name=row.name,
            kind=JudgementKind(row.kind),
            source=JudgementSource(row.source),
            value=row.value,
            text=row.text,
            by=row.by,
            at=row.at or row.created_at,
            step_no=row.step_no,
        )
        for row in rows
    ]
    for verdict in adverse(verdicts, criteria_of([run.app]).get(run.app, DEFAULT_CRITERIA)):
        yield Place(kind=PlaceKind.JUDGEMENT, step=verdict.step_no, title=_title(verdict), text=quote(verdict.text))


def _title(verdict: Verdict) -> str:
    label = f"{verdict.name} ({verdict.by or verdict.source})"
    if verdict.kind is JudgementKind.NOT_RUN:
        return f"{label}: did not run"
    return f"{label}: failed" if verdict.value is None else f"{label}: {verdict.value:g}"


def _outcome(run_id: UUID) -> Outcome:
    outcome = RunOutcome.objects.filter(run_id=run_id).values_list("outcome", flat=True).first()
    return Outcome(outcome) if outcome else Outcome.UNKNOWN


def _first_of_each(places: Sequence[Place]) -> Iterator[Place]:
    counts: Counter[PlaceKind] = Counter()
    for place in places:
        counts[place.kind] += 1
        if counts[place.kind] <= _MAX_PER_KIND:
            yield place


def _view(place: Place) -> PlaceView:
    return PlaceView(
        kind=place.kind,
        step=place.step,
        path=place.path,
        title=place.title,
        text=place.text,
        related=list(place.related),
    )


def _kind(kind: PlaceKind, count: int) -> PlaceKindView:
    accuracies = [
        AccuracyView(
            source=accuracy.source,
            places=accuracy.places,
            exact=accuracy.exact,
            near=accuracy.near,
            low=accuracy.interval[0],
            high=accuracy.interval[1],
        )
        for accuracy in ACCURACIES.get(kind, ())
    ]
    frequencies = [FrequencyView(**asdict(accuracy)) for accuracy in FREQUENCIES.get(kind, ())]
    return PlaceKindView(kind=kind, title=_TITLES[kind], places=count, measured=accuracies, seen=frequencies)
