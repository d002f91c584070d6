"""Read runs, steps and provenance."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Substr

from traces.captions.queries import captions_of
from traces.core.json_types import JSONObject
from traces.core.vocabulary import EdgeKind, RunSource, StepType
from traces.errors import Ambiguous, NotFound
from traces.importers.formats.frameworks import krabs
from traces.models import Deletion, Edge, Run, Step
from traces.origins import stored_provenance
from traces.payloads.lost_payloads import LostPayloads
from traces.redaction_policies.reasons import reasons
from traces.runs import originals, revisions
from traces.runs.deleted_runs import check_visible, missing, visible_runs
from traces.runs.presenters import StepDict, run_summary, step_summary, with_summary_columns
from traces.schemas import RunDetail, RunRevision
from traces.search import step_search
from traces.storage import artifacts, bulk, integrity

# Consumers per response; a step has a few dozen edges at most.
MAX_EDGES_INTO: Final = 2_000
_MAX_MATCHES: Final = 5
_MAX_DERIVED: Final = 200
_MAX_REVISIONS: Final = 200
# A prefix of an external id needs so many characters.
_MIN_EXTERNAL_PREFIX: Final = 6
_LONGEST_EXTERNAL_ID: Final = 200
# Digits of a sequence number; ids of a recording may have more.
_MAX_DIGITS: Final = 10
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


def by_id(rows: QuerySet[_Row], ref: str | UUID, kind: str) -> _Row:
    """Return the row with the id; raise `NotFound`, which names the `kind` of the row."""
    key = ref if isinstance(ref, UUID) else as_uuid(ref)
    row = rows.filter(pk=key).first() if key is not None else None
    if row is None:
        raise NotFound(f"there is no {kind} “{ref}”")
    return row


def find_run(ref: str) -> Run:
    """Find a run by its id, its external id, a unique prefix of either, or `last`.

    Raise `NotFound` or `Ambiguous`.
    """
    if ref == "last":
        run = visible_runs().exclude(source=RunSource.PROBE).order_by("-id").first()
        if run is None:
            raise NotFound("there are no runs yet")
        return run
    if (key := as_uuid(ref)) is not None and (run := Run.objects.select_related("deletion").filter(id=key).first()):
        return check_visible(run)
    matches = _by_external_id(ref) or _by_external_id(krabs.run_id_of(ref))
    matches = matches or _by_prefix(ref) or _by_external_prefix(ref)
    if not matches:
        raise NotFound(f"there is no run “{ref}”") if key is None else missing(key)
    if len(matches) > 1:
        raise Ambiguous(ref, [f"{run.id} ({run.app})" for run in matches])
    return matches[0]


def newest_revision(run: Run) -> Run:
    """Return the newest complete revision that continues a run: what was late is in it. The run itself if none does."""
    successor = visible_runs().filter(supersedes=run, sealed_at__isnull=False).first()
    return run if successor is None else newest_revision(successor)


def newest_revision_with_steps(run: Run) -> Run:
    """Return the newest revision of a run, or the run itself if its steps have other numbers in that one."""
    newest = newest_revision(run)
    return (
        newest if newest.id == run.id or _step_keys(newest, run.step_count) == _step_keys(run, run.step_count) else run
    )


def _step_keys(run: Run, count: int) -> list[tuple[str, str]]:
    steps = Step.objects.filter(run=run, sequence_no__lte=count).order_by("sequence_no")
    return [*steps.values_list("type", "external_id")]


def _by_external_id(external_id: str) -> list[Run]:
    """Return the newest revisions with an external id."""
    runs = visible_runs().filter(external_id=external_id, superseded_by__isnull=True)
    return list(runs.order_by("-id")[:_MAX_MATCHES])


def find_step(run: Run, ref: str | int) -> Step:
    """Find a step by its sequence number, id or external id; raise `NotFound`."""
    steps = Step.objects.filter(run=run)
    if isinstance(ref, int) or ref.isdecimal():
        step = steps.filter(sequence_no=int(ref)).first() if len(str(ref)) <= _MAX_DIGITS else None
    elif (key := as_uuid(ref)) is not None:
        step = steps.filter(id=key).first()
    else:
        step = None
    step = step or steps.filter(external_id=str(ref)).order_by("sequence_no").first()
    if step is None:
        raise NotFound(f"run {run.id} has no step “{ref}”")
    return step


def steps(run_id: UUID, after: int = 0, limit: int | None = None, words: Sequence[str] = ()) -> list[Step]:
    """Return the steps of a run after a sequence number, in order; with `words`, only those that contain all."""
    rows = Step.objects.filter(run_id=run_id, sequence_no__gt=after).order_by("sequence_no")
    if words:
        matches = sorted(number for number in step_search.find_steps(run_id, words) if number > after)
        chunks = bulk.chunks(matches if limit is None else matches[:limit])
        return [step for chunk in chunks for step in rows.filter(sequence_no__in=chunk)]
    return list(rows if limit is None else rows[:limit])


def has_content(run_id: UUID) -> bool:
    """True if any of a run's calls was recorded with its input or output, or if it made no calls."""
    calls = Step.objects.filter(run=run_id, type__in=_CALLS)
    return calls.exclude(input_ref="", output_ref="").exists() or not calls.exists()


def edges(run_id: UUID) -> list[Edge]:
    """Return the provenance of a run, ordered by consumer."""
    stored_provenance.ensure(run_id)
    return _in_order(Edge.objects.filter(run_id=run_id))


def edge_list(run_id: UUID, *, after: int = 0, limit: int) -> tuple[list[StepDict], int | None]:
    """Return a page of edges in the shape of `RunEdge`, and the `after` of the next page.

    A page covers a range of consumers, so that all edges into a step are on the same page.
    """
    stored_provenance.ensure(run_id)
    last = after + limit
    query = Edge.objects.filter(run_id=run_id, consumer_no__gt=after).order_by("consumer_no", "producer_no", "kind")
    rows = query.filter(consumer_no__lte=last).values_list("producer_no", "consumer_no", "kind").distinct()
    page = [{"producer": producer, "consumer": consumer, "kind": kind} for producer, consumer, kind in rows]
    return page, last if query.filter(consumer_no__gt=last).exists() else None


def edges_at(run_id: UUID, sequence_no: int) -> Sequence[Edge]:
    """Return the edges into and out of a step."""
    stored_provenance.ensure(run_id)
    ends = Q(consumer_no=sequence_no) | Q(producer_no=sequence_no)
    return _in_order(Edge.objects.filter(ends, run_id=run_id))


def _in_order(edges: QuerySet[Edge]) -> list[Edge]:
    """Sort edges by their content. The order of paths in a database depends on its collation."""
    return sorted(edges, key=attrgetter("consumer_no", "producer_no", "kind", "consumer_path", "producer_path"))


def run_detail(run: Run) -> RunDetail:
    """Return a run with its lineage."""
    forks = visible_runs().filter(source_run=run).exclude(source=RunSource.PROBE)
    newest_forks = with_summary_columns(forks).order_by("-id")[:_MAX_DERIVED]
    source = Run.objects.only("name").get(id=run.source_run_id) if run.source_run_id else None
    source_deletion = Deletion.objects.filter(run=run.source_run_id).first() if run.source_run_id else None
    original = originals.original_of(run)
    derived = [*newest_forks, *originals.replays_of(run)[:_MAX_DERIVED]]
    captions = captions_of([run, *derived])
    own_revisions = _revisions(run)
    newest = revisions.newest_continuation(run) if own_revisions else None
    return RunDetail.model_construct(
        **dict(run_summary(run, captions)),
        metadata=run.metadata,
        revisions=own_revisions,
        latest=newest.id if newest else None,
        source_run_name=source.name if source else None,
        source_deleted_at=source_deletion.at if source_deletion else None,
        source_removed_at=source_deletion.removed_at if source_deletion else None,
        original=original.id if original else None,
        original_name=original.name if original else None,
        derived=[run_summary(item, captions) for item in derived],
    )


def _revisions(run: Run) -> list[RunRevision]:
    """Return the runs of the same identity, newest first; nothing if there are no others."""
    rows = visible_runs().filter(app=run.app, external_id=run.external_id).order_by("-revision")[:_MAX_REVISIONS]
    columns = ("id", "revision", "supersedes", "step_count", "created_at")
    runs = [
        RunRevision(id=id, revision=number, supersedes=supersedes, steps=steps, created_at=created_at)
        for id, number, supersedes, steps, created_at in rows.values_list(*columns)
    ]
    return runs if len(runs) > 1 else []


def step_by_id(ref: str) -> Step:
    """Return a step with its run; raise `NotFound`."""
    step = by_id(Step.objects.select_related("run__deletion"), ref, "step")
    check_visible(step.run)
    return step


def step_by_span(span: str) -> Step:
    """Return the newest recorded step with an external id; raise `NotFound`."""
    recorded_steps = Step.objects.filter(source_step__isnull=True, run__deletion__isnull=True)
    steps_of_span = recorded_steps.select_related("run").filter(external_id=span)
    step = steps_of_span.order_by("-run_id").first()
    if step is None:
        raise NotFound(f"no step was recorded under “{span}”")
    return step


def run_by_trace(trace: str) -> Run:
    """Return the newest run with an external id; raise `NotFound`."""
    ids = (trace, krabs.run_id_of(trace))
    runs = (visible_runs().filter(external_id=id).order_by("-id").first() for id in ids)
    run = next(filter(None, runs), None)
    if run is None:
        raise NotFound(f"no run was recorded under “{trace}”")
    return run


def step_detail(step: Step) -> StepDict:
    """Return a step with its payloads and provenance, in the shape of `StepDetail`."""
    edges = edges_at(step.run_id, step.sequence_no)
    payloads, losses = _payloads(step)
    return {
        **step_summary(step, step.run.started_at),
        "run": step.run_id,
        **{name: getattr(step, name) for name in _DETAIL_COLUMNS},
        **payloads,
        "attributes": payloads["attributes"] or {},
        "unavailable": [payload.field for payload in losses],
        "lost": [payload.document for payload in losses],
        "inherited_messages": _inherited_messages(step, edges),
        "redactions": reasons(step.run.app, [*payloads.values(), step.error, step.name]),
        **_provenance(step, edges),
    }


def _payloads(step: Step) -> tuple[JSONObject, LostPayloads]:
    """Return the payloads by field, and the unreadable ones."""
    refs = {"input": step.input_ref, "output": step.output_ref, "attributes": step.attributes_ref}
    values = artifacts.readable(refs.values())
    losses = integrity.find_lost({field: ref for field, ref in refs.items() if values.lacks(ref)})
    return {field: values.values.get(ref) for field, ref in refs.items()}, losses


def _provenance(step: Step, edges: Sequence[Edge]) -> dict[str, list[StepDict]]:
    numbers = {edge.producer_no for edge in edges} | {edge.consumer_no for edge in edges}
    headers = _step_headers(step.run_id, numbers)
    incoming = ((edge.producer_no, edge) for edge in edges if edge.consumer_no == step.sequence_no)
    outgoing = ((edge.consumer_no, edge) for edge in edges if edge.producer_no == step.sequence_no)
    return {"consumed": _edge_views(incoming, headers), "produced_for": _edge_views(outgoing, headers)}


def _step_headers(run_id: UUID, numbers: Iterable[int]) -> dict[int, StepDict]:
    headers: dict[int, StepDict] = {}
    for chunk in bulk.chunks(numbers):
        steps = Step.objects.filter(run_id=run_id, sequence_no__in=chunk)
        for number, key, type, name in steps.values_list("sequence_no", "id", "type", "name"):
            headers[number] = {"step": number, "step_id": key, "type": type, "name": name}
    return headers


def _edge_views(ends: Iterable[tuple[int, Edge]], headers: Mapping[int, StepDict]) -> list[StepDict]:
    """Build edges in the shape of `EdgeView`; `ends` pairs each with the step at its other end."""
    return [{**headers[number], **{name: getattr(edge, name) for name in _EDGE_COLUMNS}} for number, edge in ends]


def _inherited_messages(step: Step, edges: Sequence[Edge]) -> int:
    """Return how many messages of the input the previous call already had: all up to that call's answer."""
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


def _by_external_prefix(ref: str) -> list[Run]:
    """Find runs whose external id starts with `ref`, by case: SQLite's LIKE ignores it, and rejects long patterns."""
    if not _MIN_EXTERNAL_PREFIX <= len(ref) <= _LONGEST_EXTERNAL_ID:
        return []
    runs = visible_runs().alias(start=Substr("external_id", 1, len(ref)))
    runs = runs.filter(external_id__startswith=ref, start=ref, superseded_by__isnull=True)
    return list(runs.order_by("-id")[:_MAX_MATCHES])


def _by_prefix(ref: str) -> list[Run]:
    """Find runs whose id starts with `ref`: a range of the primary key, on both databases."""
    digits = ref.replace("-", "").lower()
    if not 4 <= len(digits) < 32 or any(digit not in "0123456789abcdef" for digit in digits):
        return []
    low, high = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
    return list(visible_runs().filter(id__gte=low, id__lte=high).order_by("-id")[:_MAX_MATCHES])
