"""Writing runs: whole recordings at once, and derived runs step by step. Everything else is read-only."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction

from traces import bulk, checking, lineage, live, rows, store, summaries
from traces.canonical import NotCanonical, digest
from traces.ids import new_id
from traces.json_types import JSONObject, JSONValue
from traces.models import Edge, RetentionPass, Run, RunTag, Step
from traces.parts import Splitter
from traces.problems import InvalidRecording, NotFound, RunConflict, RunSealed
from traces.provenance import EdgeFact, StepFacts, find_edges
from traces.recording import RecordedRun, RecordedStep
from traces.rows import StepRow
from traces.signatures import signature
from traces.vocabulary import Label, RunSource, RunStatus

_STEP_COLUMNS = ("run", *rows.COLUMNS)
_EDGE_COLUMNS = ("run", "producer_no", "consumer_no", "kind", "consumer_path", "producer_path", "evidence")
_COST = Decimal("0.00000001")


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """Where a recording is; `created` is false when it was there already."""

    run_id: UUID
    created: bool


def record(run: RecordedRun) -> Recorded:
    """Store a whole recording, sealed; all of it or nothing.

    The same recording again changes nothing. Raises `InvalidRecording`, and `RunConflict` for another
    recording under the same identity.
    """
    splitter = Splitter()
    steps = checking.in_order(run)
    step_rows = _rows(run, steps, splitter)
    run_values = _run_values(run, step_rows)
    if (stored := _known(run, run_values["content_digest"])) is not None:
        return Recorded(run_id=stored, created=False)
    numbers = {step.key: row.sequence_no for step, row in zip(steps, step_rows, strict=True)}
    facts = [_facts(step, row, numbers) for step, row in zip(steps, step_rows, strict=True)]
    edges = find_edges(facts, splitter)
    with transaction.atomic():
        if (stored := _claimed(run, run_values)) is not None:
            return Recorded(run_id=stored, created=False)
        run_id: UUID = run_values["id"]
        store.put_many(splitter.parts)
        insert_steps(run_id, step_rows)
        insert_edges(run_id, edges)
        insert_tags(run_id, run.tags)
        Run.objects.filter(id=run_id).update(sealed_at=datetime.now(UTC))
        live.touch("runs")
    return Recorded(run_id=run_id, created=True)


def open_run(
    *,
    name: str,
    app: str,
    source_run: Run | None = None,
    fork_sequence_no: int | None = None,
    session_id: UUID | None = None,
    external_id: str = "",
    environment: str = "",
    source: RunSource = RunSource.REPLAY,
    format: str = "forkpoint",
    tags: Sequence[str] = (),
    metadata: JSONObject | None = None,
    run_id: UUID | None = None,
) -> Run:
    """A run that is being written: unsealed, running, without steps."""
    key = run_id or new_id()
    run = Run.objects.create(
        id=key, external_id=external_id or str(key), content_digest="", name=name[:300], app=app,
        environment=environment, source=source, format=format, status=RunStatus.RUNNING,
        started_at=datetime.now(UTC), tags=list(tags), metadata=metadata or {}, source_run=source_run,
        fork_sequence_no=fork_sequence_no, session_id=session_id, search=_derived_search(name, app, key, source_run),
    )  # fmt: skip
    insert_tags(run.id, tags)
    live.touch("runs")
    return run


def append_steps(run_id: UUID, step_rows: Sequence[StepRow]) -> None:
    """Add steps to a run that is being written; raises `RunSealed`."""
    with transaction.atomic():
        _require_open(run_id)
        insert_steps(run_id, step_rows)
        live.touch(f"run.{run_id}")


def copy_steps(
    *, source_run_id: UUID, run_id: UUID, first: int, last: int, label: Label, reason: str,
    detail: JSONObject | None = None,
) -> int:  # fmt: skip
    """Copy the steps `first` to `last` of another run, as they are but for label and lineage; how many.

    `detail` says of every copy what its label rests on.
    """
    if last < first:
        return 0
    ids = [new_id().hex for _ in range(last - first + 1)]
    with transaction.atomic():
        _require_open(run_id)
        copied = lineage.copy(source_run_id, run_id, first, ids, label=label, reason=reason, detail=detail or {})
        live.touch(f"run.{run_id}")
    return copied


def truncate_steps(run_id: UUID, after: int) -> int:
    """Take back the steps after `after` of a run that is being written; how many."""
    with transaction.atomic():
        _require_open(run_id)
        taken, _ = Step.objects.filter(run_id=run_id, sequence_no__gt=after).delete()
        return taken


def seal_run(run_id: UUID, status: RunStatus, *, ended_at: datetime | None = None) -> None:
    """Finish a run: totals, provenance, and from now on it never changes. Sealing a sealed run does nothing."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(id=run_id)
        if run.sealed_at is not None:
            return
        steps = list(Step.objects.filter(run_id=run_id).order_by("sequence_no").values_list(*rows.COLUMNS, named=True))
        insert_edges(run_id, lineage.edges_of(run, steps))
        now = datetime.now(UTC)
        run.status, run.ended_at, run.sealed_at = status, ended_at or now, now
        _take_totals(run, steps)
        run.save()
        live.touch("runs")
        live.touch(f"run.{run_id}")


@contextmanager
def retention() -> Iterator[None]:
    """Inside, sealed runs and artifacts may be deleted, by this transaction alone."""
    with transaction.atomic():
        granted = RetentionPass.objects.create(run_id=new_id())
        yield
        granted.delete()


def insert_tags(run_id: UUID, tags: Iterable[str]) -> None:
    """Make a run found by its tags."""
    rows_of_tags = [(run_id, tag) for tag in dict.fromkeys(tag[:100] for tag in tags)]
    bulk.insert(RunTag, ("run", "tag"), rows_of_tags)


def insert_edges(run_id: UUID, edges: Iterable[EdgeFact]) -> None:
    bulk.insert(
        Edge,
        _EDGE_COLUMNS,
        [
            (run_id, edge.producer, edge.consumer, edge.kind, edge.consumer_path, edge.producer_path,
             edge.evidence.replace("\x00", "\ufffd"))
            for edge in edges
        ],
    )  # fmt: skip


def said_of_run(run: Any) -> JSONObject:
    """What a recording says of the run itself, for its content digest."""
    return {
        "external_id": run.external_id, "name": run.name, "app": run.app, "environment": run.environment,
        "format": run.format, "status": str(run.status), "tags": list(run.tags), "metadata": run.metadata,
        "started_at": rows.plain(run.started_at), "ended_at": rows.plain(run.ended_at),
    }  # fmt: skip


def insert_steps(run_id: UUID, step_rows: Sequence[StepRow]) -> None:
    """Insert rows; callers hold the run and wake who watches."""
    bulk.insert(Step, _STEP_COLUMNS, [(run_id, *rows.values_of(row)) for row in step_rows])


def _require_open(run_id: UUID) -> None:
    """Holds the run's row, so that nobody seals it meanwhile."""
    found = list(Run.objects.select_for_update().filter(id=run_id).values_list("sealed_at", flat=True))
    if not found:
        raise NotFound(f"there is no run {run_id}")
    if found[0] is not None:
        raise RunSealed(f"run {run_id} is sealed: no steps can be added to it")


def _known(run: RecordedRun, content_digest: str) -> UUID | None:
    """The stored run of this identity; raises `RunConflict` when it says something else."""
    stored = Run.objects.filter(app=run.app, external_id=run.external_id).first()
    if stored is None:
        return None
    if stored.content_digest != content_digest:
        raise RunConflict(
            app=run.app, external_id=run.external_id, run_id=stored.id, stored=stored.content_digest,
            given=content_digest,
        )  # fmt: skip
    return stored.id


def _claimed(run: RecordedRun, values: dict[str, Any]) -> UUID | None:
    """Insert the run's row, or the run that another writer stored under this identity a moment ago."""
    Run.objects.bulk_create([Run(**values)], ignore_conflicts=True)
    if Run.objects.filter(id=values["id"]).exists():
        return None
    return _known(run, values["content_digest"])


def _rows(run: RecordedRun, steps: Sequence[RecordedStep], splitter: Splitter) -> list[StepRow]:
    given = {step.key: index for index, step in enumerate(run.steps)}
    numbers = {step.key: number for number, step in enumerate(steps, 1)}
    return [_row(given[step.key], step, numbers, splitter) for step in steps]


def _row(index: int, step: RecordedStep, numbers: dict[str, int], splitter: Splitter) -> StepRow:
    """The row of a step; `index` is its place in the recording as it was given."""
    duration = (step.ended_at - step.started_at).total_seconds() * 1000 if step.ended_at and step.started_at else None
    documents = step.output.get("documents") if isinstance(step.output, dict) else None
    return StepRow(
        sequence_no=numbers[step.key],
        parent_no=None if step.parent is None else numbers[step.parent],
        external_id=step.key,
        type=step.type,
        name=summaries.one_line(step.name, 300),
        status=step.status,
        label=step.label,
        reason=step.reason or "",
        started_at=step.started_at,
        duration_ms=duration,
        input_ref=_ref(index, step, "input", step.input, splitter),
        output_ref=_ref(index, step, "output", step.output, splitter),
        attributes_ref=_ref(index, step, "attributes", step.attributes or None, splitter),
        signature=_signature(step, splitter),
        error=step.error.replace("\x00", "\ufffd"),
        summary=summaries.summarize(
            type=step.type, name=step.name, tool_name=step.tool_name, input=step.input, output=step.output
        ),
        provider=step.provider,
        model=step.model,
        tool_name=step.tool_name,
        call_id=step.call_id,
        tokens_in=step.tokens_in,
        tokens_out=step.tokens_out,
        tokens_cached=step.tokens_cached,
        cost_usd=None if step.cost_usd is None else step.cost_usd.quantize(_COST),
        retries=step.retries,
        document_count=len(documents) if isinstance(documents, list) else None,
    )


def _ref(index: int, step: RecordedStep, field: str, value: JSONValue, splitter: Splitter) -> str:
    if value is None:
        return ""
    try:
        return splitter.split(value)
    except NotCanonical as problem:
        raise checking.not_json(index, step, field, problem) from problem


def _signature(step: RecordedStep, splitter: Splitter) -> str:
    return signature(
        type=step.type, name=step.name, input=step.input, provider=step.provider, model=step.model,
        tool_name=step.tool_name, digest_of=splitter.digest,
    )  # fmt: skip


def _facts(step: RecordedStep, row: StepRow, numbers: dict[str, int]) -> StepFacts:
    return StepFacts(
        no=row.sequence_no, type=step.type, input=step.input, output=step.output, input_ref=row.input_ref,
        output_ref=row.output_ref, call_id=step.call_id,
        links=tuple(numbers[link] for link in step.links),
    )  # fmt: skip


def _run_values(run: RecordedRun, step_rows: Sequence[StepRow]) -> dict[str, Any]:
    """The columns of a recorded run."""
    run = replace(run, name=summaries.one_line(run.name, 300) or run.external_id, metadata=_metadata(run))
    sums = rows.totals(step_rows)
    started, ended = run.started_at or sums.first_start, run.ended_at or sums.last_end
    return {
        "id": new_id(), "external_id": run.external_id, "name": run.name, "app": run.app,
        "environment": run.environment, "source": run.source, "format": run.format, "status": run.status,
        "tags": list(run.tags), "metadata": run.metadata, "started_at": started, "ended_at": ended,
        "search": summaries.search_text(run),
        "content_digest": rows.content_digest(said_of_run(replace(run, started_at=started, ended_at=ended)), step_rows),
        **totals_columns(sums, started, ended),
    }  # fmt: skip


def _metadata(run: RecordedRun) -> JSONObject:
    try:
        digest(run.metadata)
    except NotCanonical as problem:
        raise InvalidRecording(f"the run's metadata: {problem}", where=f"/metadata{problem.where}") from problem
    kept = checking.storable(run.metadata)
    return kept if isinstance(kept, dict) else {}


def totals_columns(sums: rows.Totals, started: datetime | None, ended: datetime | None) -> dict[str, Any]:
    """The columns of a run that sum up its steps."""
    return {
        "step_count": sums.step_count, "error_count": sums.error_count, "tokens_in": sums.tokens_in,
        "tokens_out": sums.tokens_out, "cost_usd": sums.cost_usd, "exact_count": sums.exact_count,
        "cached_count": sums.cached_count, "simulated_count": sums.simulated_count,
        "duration_ms": (ended - started).total_seconds() * 1000 if started and ended and ended >= started else None,
    }  # fmt: skip


def _take_totals(run: Run, steps: Sequence[Step]) -> None:
    for column, value in totals_columns(rows.totals(steps), run.started_at, run.ended_at).items():
        setattr(run, column, value)
    run.content_digest = rows.content_digest(said_of_run(run), steps)


def _derived_search(name: str, app: str, key: UUID, source_run: Run | None) -> str:
    inherited = source_run.search if source_run is not None else ""
    return summaries.one_line(f"{name} {key} {app} {inherited}", summaries.MAX_SEARCH).lower()
