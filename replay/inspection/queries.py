"""Reading a run for its inspection, and the passing runs that are nearest to it."""

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
from traces.ingest.outcome_rules import Verdict, adverse
from traces.judgements import services
from traces.models import Edge, Judgement, Run, RunOutcome, Step
from traces.storage import artifacts

MOST: Final = 200  # places of one answer
_EACH: Final = 40  # places of one kind
_NEAREST: Final = 3
_REMEMBERED: Final = 32  # runs
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
class _Found:
    """What the recording alone shows: the first places of each kind, and how many there are."""

    places: tuple[Place, ...]
    counts: Counter[PlaceKind]
    unread: int


def places(run: Run) -> RunPlaces:
    """Everything that is worth a look in a run, and what to compare it with."""
    reviewed = frozenset(queries.safety_by_tool().items())
    found = (_found_once if run.sealed_at else _found)(run.id, reviewed)
    judged = tuple(_judged(run))
    counts = found.counts + Counter(place.kind for place in judged)
    shown = in_order([*judged, *found.places])[:MOST]
    return RunPlaces(
        run=run.id,
        outcome=_outcome(run.id),
        places=[_view(place) for place in shown],
        left_out=counts.total() - len(shown),
        unread=found.unread,
        kinds=[_kind(kind, counts[kind]) for kind in PlaceKind if counts[kind]],
        passing=passing(run),
    )


def passing(run: Run) -> list[PassingRun]:
    """The nearest runs that passed: of the same task, else with the same first input, else the newest of the app."""
    passed = Run.objects.filter(app=run.app, verdict__outcome=Outcome.PASSED, sealed_at__isnull=False)
    candidates = passed.exclude(source=RunSource.PROBE).exclude(id=run.id).order_by("-id")
    for nearness, nearest in _nearest(run, candidates):
        if runs := list(nearest[:_NEAREST]):
            return [
                PassingRun(id=each.id, name=each.name, nearness=nearness, created_at=each.created_at) for each in runs
            ]
    return []


@without_pauses()
def _found(run_id: UUID, reviewed: frozenset[tuple[str, bool | None]]) -> _Found:
    rows = list(Step.objects.filter(run_id=run_id).order_by("sequence_no").values(*_COLUMNS))
    refs = [ref for row in rows if row["type"] not in CONTAINERS for ref in (row["input_ref"], row["output_ref"])]
    steps = contents(rows, closure(refs, artifacts.load), _producers(run_id, rows))
    found = inspect(steps, is_write=_is_write(dict(reviewed)))
    return _Found(
        places=tuple(_first_of_each(found)),
        counts=Counter(place.kind for place in found),
        unread=sum(step.is_unread for step in steps),
    )


# A sealed run never changes; reading ten thousand steps takes seconds.
_found_once: Final = lru_cache(maxsize=_REMEMBERED)(_found)


def _nearest(run: Run, candidates: QuerySet[Run]) -> Iterator[tuple[Nearness, QuerySet[Run]]]:
    task = next((name for name in TASK_FIELDS if run.metadata.get(name) is not None), None)
    if task is not None:
        yield "same_task", candidates.filter(**{f"metadata__{task}": run.metadata[task]})
    first = Step.objects.filter(run_id=run.id).exclude(input_ref="").order_by("sequence_no").first()
    if first is not None:
        alike = Step.objects.filter(sequence_no=first.sequence_no, input_ref=first.input_ref, run__app=run.app)
        yield "same_input", candidates.filter(id__in=alike.values("run_id"))
    yield "same_app", candidates


def _producers(run_id: UUID, rows: Sequence[Mapping[str, Any]]) -> dict[int, list[int]]:
    """The steps that calls and failed steps took their input from."""
    wanted = {row["sequence_no"] for row in rows if row["type"] == StepType.TOOL or row["status"] != StepStatus.OK}
    found: dict[int, list[int]] = defaultdict(list)
    edges = Edge.objects.filter(run_id=run_id).order_by("consumer_no", "producer_no")
    for consumer, producer in edges.values_list("consumer_no", "producer_no").distinct():
        if consumer in wanted:
            found[consumer].append(producer)
    return found


def _is_write(reviewed: Mapping[str, bool | None]) -> Callable[[str], bool]:
    """Whether a tool changes something: by its review, else by its name."""

    def is_write(tool: str) -> bool:
        safe = reviewed.get(tool)
        return looks_like_write(tool) if safe is None else not safe

    return is_write


def _judged(run: Run) -> Iterator[Place]:
    """Judgements against the run or a step of it, by the outcome rule of its app."""
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
    for each in adverse(verdicts, services.thresholds_of([run.app]).get(run.app, {})):
        yield Place(kind=PlaceKind.JUDGEMENT, step=each.step_no, title=_title(each), text=quote(each.text))


def _title(verdict: Verdict) -> str:
    who = f"{verdict.name} ({verdict.by or verdict.source})"
    if verdict.kind is JudgementKind.NOT_RUN:
        return f"{who}: did not run"
    return f"{who}: failed" if verdict.value is None else f"{who}: {verdict.value:g}"


def _outcome(run_id: UUID) -> Outcome:
    found = RunOutcome.objects.filter(run_id=run_id).values_list("outcome", flat=True).first()
    return Outcome(found) if found else Outcome.UNKNOWN


def _first_of_each(found: Sequence[Place]) -> Iterator[Place]:
    counts: Counter[PlaceKind] = Counter()
    for place in found:
        counts[place.kind] += 1
        if counts[place.kind] <= _EACH:
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
    measured = [
        AccuracyView(
            source=each.source,
            places=each.places,
            exact=each.exact,
            near=each.near,
            low=each.interval[0],
            high=each.interval[1],
        )
        for each in ACCURACIES.get(kind, ())
    ]
    seen = [FrequencyView(**asdict(each)) for each in FREQUENCIES.get(kind, ())]
    return PlaceKindView(kind=kind, title=_TITLES[kind], places=count, measured=measured, seen=seen)
