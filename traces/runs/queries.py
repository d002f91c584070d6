"""Reading runs, steps and provenance."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from traces.core.json_types import JSONObject
from traces.core.vocabulary import EdgeKind, RunSource, StepType
from traces.errors import Ambiguous, NotFound
from traces.models import Edge, Run, Step
from traces.payloads.lost_payloads import LostPayloads
from traces.runs import originals, step_search
from traces.runs.presenters import STEP_COLUMNS, StepDict, listed_steps, run_summary, step_dicts
from traces.schemas import RunDetail
from traces.storage import artifacts, bulk, integrity

MAX_STEPS: Final = 20_000  # of one answer
MAX_EDGES_INTO: Final = 2_000  # steps of one answer; a step has some dozens of edges at most
_SHOWN: Final = 5
_DERIVED: Final = 200
_EXTERNAL: Final = 6  # characters of a source's id that are taken for its beginning
_LONGEST_NUMBER: Final = 10  # digits; ids of a recording may have more
_DETAIL_COLUMNS: Final = (
    "external_id",
    "started_at",
    "error",
    "signature",
    "call_id",
    "tokens_cached",
    "input_ref",
    "output_ref",
    "detail",
)
_CALLS: Final = (StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL)
_EDGE_COLUMNS: Final = ("kind", "evidence", "consumer_path", "producer_path")
_Row = TypeVar("_Row", bound=Model)


def by_id(rows: QuerySet[_Row], ref: str | UUID, what: str) -> _Row:
    """The one of these with the id; raises `NotFound`, where `what` says what was looked for."""
    key = ref if isinstance(ref, UUID) else as_uuid(ref)
    found = rows.filter(pk=key).first() if key is not None else None
    if found is None:
        raise NotFound(f"there is no {what} {str(ref)!r}")
    return found


def find_run(ref: str) -> Run:
    """The run of an id, of its own or of its source, of a unique beginning of one, or `last`.

    Raises `NotFound`, `Ambiguous`.
    """
    if ref == "last":
        run = Run.objects.exclude(source=RunSource.PROBE).order_by("-id").first()
        if run is None:
            raise NotFound("there is no run yet")
        return run
    if (key := as_uuid(ref)) is not None and (run := Run.objects.filter(id=key).first()):
        return run
    matches = list(Run.objects.filter(external_id=ref).order_by("-id")[:_SHOWN])
    matches = matches or _by_beginning(ref) or _by_external_beginning(ref)
    if not matches:
        raise NotFound(f"there is no run {ref!r}")
    if len(matches) > 1:
        raise Ambiguous(ref, [f"{run.id} ({run.app})" for run in matches])
    return matches[0]


def find_step(run: Run, ref: str | int) -> Step:
    """A step by sequence number, id, or the recording's own id; raises `NotFound`."""
    steps = Step.objects.filter(run=run)
    if isinstance(ref, int) or ref.isdecimal():
        found = steps.filter(sequence_no=int(ref)).first() if len(str(ref)) <= _LONGEST_NUMBER else None
    elif (key := as_uuid(ref)) is not None:
        found = steps.filter(id=key).first()
    else:
        found = None
    found = found or steps.filter(external_id=str(ref)).order_by("sequence_no").first()
    if found is None:
        raise NotFound(f"run {run.id} has no step {ref!r}")
    return found


def steps(run_id: UUID, after: int = 0, limit: int | None = None, words: Sequence[str] = ()) -> list[Step]:
    """The steps of a run in sequence order, after a sequence number; with `words`, those that hold all of them."""
    found = Step.objects.filter(run_id=run_id, sequence_no__gt=after).order_by("sequence_no")
    if words:
        matching = sorted(number for number in step_search.steps_with(run_id, words) if number > after)
        chunks = bulk.chunks(matching if limit is None else matching[:limit])
        return [step for chunk in chunks for step in found.filter(sequence_no__in=chunk)]
    return list(found if limit is None else found[:limit])


def holds_content(run_id: UUID) -> bool:
    """Whether any of a run's calls was recorded with what was asked or answered, or it made none."""
    calls = Step.objects.filter(run=run_id, type__in=_CALLS)
    return calls.exclude(input_ref="", output_ref="").exists() or not calls.exists()


def edges(run_id: UUID) -> list[Edge]:
    """The provenance of a run, by consumer."""
    return list(Edge.objects.filter(run_id=run_id).order_by("consumer_no", "producer_no", "kind", "consumer_path"))


def edge_list(run_id: UUID, *, after: int = 0, limit: int) -> tuple[list[StepDict], int | None]:
    """Which step fed which, in the shape of `RunEdge`, and what to pass as `after` for the rest.

    A page is about the consumers of a span of sequence numbers: all edges into one step come together.
    """
    last = after + limit
    found = Edge.objects.filter(run_id=run_id, consumer_no__gt=after).order_by("consumer_no", "producer_no", "kind")
    rows = found.filter(consumer_no__lte=last).values_list("producer_no", "consumer_no", "kind").distinct()
    listed = [{"producer": producer, "consumer": consumer, "kind": kind} for producer, consumer, kind in rows]
    return listed, last if found.filter(consumer_no__gt=last).exists() else None


def edges_at(run_id: UUID, sequence_no: int) -> Sequence[Edge]:
    """The edges into and out of one step."""
    ends = Q(consumer_no=sequence_no) | Q(producer_no=sequence_no)
    return list(Edge.objects.filter(ends, run_id=run_id).order_by("consumer_no", "producer_no"))


def run_detail(run: Run) -> RunDetail:
    """A run with its lineage."""
    forks = Run.objects.filter(source_run=run).exclude(source=RunSource.PROBE).select_related("verdict")
    derived = forks.order_by("-id")[:_DERIVED]
    source = Run.objects.only("name").get(id=run.source_run_id) if run.source_run_id else None
    original = originals.original_of(run)
    return RunDetail.model_construct(
        **dict(run_summary(run)),
        metadata=run.metadata,
        source_run_name=source.name if source else None,
        original=original.id if original else None,
        original_name=original.name if original else None,
        derived=[run_summary(one) for one in (*derived, *originals.replays_of(run)[:_DERIVED])],
    )


def step_summaries(
    run: Run, *, after: int = 0, limit: int = MAX_STEPS, words: Sequence[str] = ()
) -> tuple[list[StepDict], int | None]:
    """Compact steps in the shape of `StepSummary`, and what to pass as `after` for the rest.

    With `words`, those that hold all of them, as `step_search` finds them.
    """
    found = Step.objects.filter(run_id=run.id, sequence_no__gt=after).order_by("sequence_no")
    if words:
        matching = step_search.steps_with(run.id, words)
        listed = [step for step in listed_steps(found, run.started_at) if step["sequence_no"] in matching]
    else:
        listed = listed_steps(found[: limit + 1], run.started_at)
    shown = listed[:limit]
    return shown, shown[-1]["sequence_no"] if len(listed) > limit else None


def step_by_id(ref: str) -> Step:
    """A step with its run; raises `NotFound`."""
    return by_id(Step.objects.select_related("run"), ref, "step")


def step_by_span(span: str) -> Step:
    """The newest step with the recording's own id; raises `NotFound`."""
    step = Step.objects.select_related("run").filter(external_id=span).order_by("-run_id").first()
    if step is None:
        raise NotFound(f"no step was recorded under {span!r}")
    return step


def run_by_trace(trace: str) -> Run:
    """The newest run with the recording's own id; raises `NotFound`."""
    run = Run.objects.filter(external_id=trace).order_by("-id").first()
    if run is None:
        raise NotFound(f"no run was recorded under {trace!r}")
    return run


def step_detail(step: Step) -> StepDict:
    """A step with its payloads and its provenance, in the shape of `StepDetail`."""
    edges = edges_at(step.run_id, step.sequence_no)
    payloads, lost = _payloads(step)
    row = [getattr(step, name) for name in STEP_COLUMNS]
    return {
        **step_dicts([row], step.run.started_at)[0],
        "run": step.run_id,
        **{name: getattr(step, name) for name in _DETAIL_COLUMNS},
        **payloads,
        "attributes": payloads["attributes"] or {},
        "unavailable": [payload.field for payload in lost],
        "lost": [payload.document for payload in lost],
        "inherited_messages": _inherited_messages(step, edges),
        **_provenance(step, edges),
    }


def _payloads(step: Step) -> tuple[JSONObject, LostPayloads]:
    """The payloads by field, and those that cannot be read."""
    refs = {"input": step.input_ref, "output": step.output_ref, "attributes": step.attributes_ref}
    found = artifacts.readable(refs.values())
    lost = integrity.find_lost({field: ref for field, ref in refs.items() if found.lacks(ref)})
    return {field: found.values.get(ref) for field, ref in refs.items()}, lost


def _provenance(step: Step, edges: Sequence[Edge]) -> dict[str, list[StepDict]]:
    numbers = {edge.producer_no for edge in edges} | {edge.consumer_no for edge in edges}
    others = _named(step.run_id, numbers)
    into = ((edge.producer_no, edge) for edge in edges if edge.consumer_no == step.sequence_no)
    out_of = ((edge.consumer_no, edge) for edge in edges if edge.producer_no == step.sequence_no)
    return {"consumed": _edge_views(into, others), "produced_for": _edge_views(out_of, others)}


def _named(run_id: UUID, numbers: Iterable[int]) -> dict[int, StepDict]:
    found: dict[int, StepDict] = {}
    for chunk in bulk.chunks(numbers):
        steps = Step.objects.filter(run_id=run_id, sequence_no__in=chunk)
        for number, key, type, name in steps.values_list("sequence_no", "id", "type", "name"):
            found[number] = {"step": number, "step_id": key, "type": type, "name": name}
    return found


def _edge_views(ends: Iterable[tuple[int, Edge]], others: Mapping[int, StepDict]) -> list[StepDict]:
    """The edges in the shape of `EdgeView`, by the step at their other end."""
    return [{**others[number], **{name: getattr(edge, name) for name in _EDGE_COLUMNS}} for number, edge in ends]


def _inherited_messages(step: Step, edges: Sequence[Edge]) -> int:
    """How many messages of the input the call before it had: all up to the answer of that call."""
    for edge in edges:
        if edge.kind == EdgeKind.HISTORY and edge.consumer_no == step.sequence_no:
            last = int(edge.consumer_path.rpartition("/")[2])
            return last if edge.producer_path else last + 1
    return 0


def as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _by_external_beginning(ref: str) -> list[Run]:
    """Runs whose source knows them by an id that begins with `ref`."""
    if len(ref) < _EXTERNAL:
        return []
    return list(Run.objects.filter(external_id__startswith=ref).order_by("-id")[:_SHOWN])


def _by_beginning(ref: str) -> list[Run]:
    """Runs whose id begins with `ref`: a range of the primary key, on both databases."""
    digits = ref.replace("-", "").lower()
    if not 4 <= len(digits) < 32 or any(digit not in "0123456789abcdef" for digit in digits):
        return []
    low, high = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
    return list(Run.objects.filter(id__gte=low, id__lte=high).order_by("-id")[:_SHOWN])
