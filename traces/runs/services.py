"""Write runs: whole recordings at once, derived runs step by step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import ProtectedError

from traces import notify
from traces.call_index import tool_calls
from traces.core.gc_pause import without_pauses
from traces.core.ids import new_id
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, RunSource, RunStatus
from traces.errors import NotFound, ProblemError, RunInUse, RunSealed
from traces.ingest import step_rows as ingest_rows
from traces.ingest.judgement_rows import JudgementRow
from traces.ingest.prepare import Identity, PreparedProvenance, PreparedRun, prepare
from traces.ingest.step_rows import StepRow
from traces.judgements import services
from traces.models import PendingProvenance, Run, RunTag, Step
from traces.origins import stored_provenance
from traces.payloads import step_summaries
from traces.redaction_policies import services as policies
from traces.runs import copy, revisions, sealed_runs, unions
from traces.runs.revisions import Placement
from traces.storage import artifacts, bulk, statements
from traces.storage.retention_pass import retention_pass

_STEP_COLUMNS = ("run", *ingest_rows.COLUMNS)
_TAG_COLUMNS = ("run", "tag")


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordResult:
    """The run of a recording; `is_new` is False if it was stored already, `lost_digests` are missing artifacts.

    A new run continues the run that it `supersedes`, or has the identity of a run that it `conflicts_with`.
    """

    run_id: UUID
    is_new: bool
    name: str = ""
    external_id: str = ""
    revision: int = 1
    supersedes: UUID | None = None
    conflicts_with: UUID | None = None
    lost_digests: tuple[str, ...] = ()


def record(run: RecordedRun) -> RecordResult:
    """Store and seal a whole recording in one transaction; raise `InvalidRecording`.

    A recording that continues a stored run becomes its next revision. If the same recording is stored already, only new
    judgements are added.
    """
    (outcome,) = record_all([run])
    if isinstance(outcome, ProblemError):
        raise outcome
    return outcome


def record_all(runs: Iterable[RecordedRun]) -> list[RecordResult | ProblemError]:
    """Store recordings, each like `record`, in few transactions; a rejected one does not affect the others.

    Unless the caller holds the recordings, their payloads are released before the rows are written.
    """
    redactions = policies.RedactionByApp()
    with without_pauses():
        outcomes = [_try_prepare(run, redactions) for run in runs]
    results: dict[UUID, RecordResult] = {}
    provenance: dict[UUID, PreparedProvenance] = {}
    pending = [outcome for outcome in outcomes if isinstance(outcome, PreparedRun)]
    while pending:
        # The next pass stores further recordings of an identity, and those whose revision another writer took.
        results |= _store_batch({run.identity: run for run in reversed(pending)}, provenance)
        pending = [run for run in pending if run.run_id not in results]
    return [outcome if isinstance(outcome, ProblemError) else results[outcome.run_id] for outcome in outcomes]


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
    """Create a run to be written step by step: unsealed, running, without steps."""
    key = run_id or new_id()
    run = Run.objects.create(
        id=key,
        external_id=external_id or str(key),
        content_digest="",
        name=name[:300],
        app=app,
        environment=environment,
        source=source,
        format=format,
        status=RunStatus.RUNNING,
        started_at=datetime.now(UTC),
        tags=list(tags),
        metadata=metadata or {},
        source_run=source_run,
        fork_sequence_no=fork_sequence_no,
        session_id=session_id,
        search=_derived_search(name, app, key, source_run),
    )
    insert_tags(run.id, tags)
    services.begin([run.id])
    notify.touch("runs")
    return run


def append_steps(run_id: UUID, step_rows: Sequence[StepRow]) -> None:
    """Add steps to an unsealed run; raise `RunSealed`."""
    # No savepoint: a failure aborts the outer transaction anyway.
    with transaction.atomic(savepoint=False):
        _require_open(run_id)
        insert_steps(run_id, step_rows)
        notify.touch(f"run.{run_id}")


def copy_steps(
    *,
    source_run_id: UUID,
    run_id: UUID,
    first: int,
    last: int,
    label: Label,
    reason: str,
    detail: JSONObject | None = None,
    replay_details: Mapping[str, JSONObject] | None = None,
) -> int:
    """Copy the steps `first` to `last` of another run, with a new label and lineage. Return their number.

    `detail` is stored with every copy as the basis of its label. With `replay_details`, by reason, a step of a replay
    that is not exact keeps its label, and the copy gets the detail for its reason.
    """
    if last < first:
        return 0
    with transaction.atomic():
        _require_open(run_id)
        basis = copy.LabelBasis(label=label, reason=reason, detail=detail or {}, replay_details=replay_details or {})
        count = copy.copy(source_run_id, run_id, first, last, basis)
        notify.touch(f"run.{run_id}")
    return count


def truncate_steps(run_id: UUID, after: int) -> int:
    """Delete the steps after `after` of an unsealed run. Return their number."""
    with transaction.atomic():
        _require_open(run_id)
        count, _ = Step.objects.filter(run_id=run_id, sequence_no__gt=after).delete()
        return count


@without_pauses()
def seal_run(
    run_id: UUID, status: RunStatus, *, ended_at: datetime | None = None, repeats_source: bool = False
) -> None:
    """Finish a run: compute totals and provenance, and make it immutable. Does nothing for a sealed run.

    `repeats_source`: all steps of its source were copied by `copy_steps`, and nothing else was written.
    """
    with transaction.atomic():
        run = Run.objects.select_for_update().get(id=run_id)
        if run.sealed_at is not None:
            return
        source = None if run.source_run_id is None else Run.objects.get(id=run.source_run_id)
        unchanged = 0
        if source is not None:
            stored_provenance.ensure(source.id)
            unchanged = source.step_count if repeats_source else copy.unchanged_steps(run, source)
        if source is not None and (repeats_source or unchanged == source.step_count == run.steps.count()):
            stored_provenance.defer(run)
            sums = copy.totals_of_copy(source)
        else:
            copy.trace(run, unchanged)
            tool_calls.insert_run(run)
            columns = ingest_rows.TOTALS_COLUMNS
            sums = ingest_rows.totals(Step.objects.filter(run=run).values_list(*columns, named=True))
        now = datetime.now(UTC)
        run.status, run.ended_at, run.sealed_at = RunStatus(run.status).move_to(status), ended_at or now, now
        for column, value in ingest_rows.totals_columns(sums, run.started_at, run.ended_at).items():
            setattr(run, column, value)
        run.save()
        judgements = services.validator_judgements(run_id) + services.source_judgements(run)
        services.add({run_id: judgements}, new_runs=[run_id])
        sealed_runs.add([run_id])
        notify.touch("runs")
        notify.touch(f"run.{run_id}")


@contextmanager
def retention() -> Iterator[None]:
    """Allow this transaction to delete sealed runs and artifacts.

    Call `sealed_runs.hide` before runs are deleted. Raise `RunInUse`, and delete nothing, if a remaining object
    references a run.
    """
    try:
        with retention_pass():
            yield
    except ProtectedError as error:
        raise RunInUse([f"{item._meta.verbose_name} {item.pk}" for item in error.protected_objects]) from error


def insert_tags(run_id: UUID, tags: Iterable[str]) -> None:
    """Index a run by its tags."""
    bulk.insert(RunTag, _TAG_COLUMNS, _tags(run_id, tags))


def insert_steps(run_id: UUID, step_rows: Sequence[StepRow]) -> None:
    """Insert rows; the caller locks the run and notifies its subscribers."""
    bulk.insert(Step, _STEP_COLUMNS, ((run_id, *ingest_rows.values_of(row)) for row in step_rows))


def _try_prepare(run: RecordedRun, redactions: policies.RedactionByApp) -> PreparedRun | ProblemError:
    try:
        return prepare(run, redactions[run.app])
    except ProblemError as problem:
        return problem


def _store_batch(
    batch: Mapping[Identity, PreparedRun], provenance: dict[UUID, PreparedProvenance]
) -> dict[UUID, RecordResult]:
    """Store one recording per identity in one transaction; leave out those whose revision another writer took."""
    existing = revisions.stored_revisions(batch)
    placements = {
        run.run_id: revisions.place(run.content_digest, run.rows, existing.get(identity, ()))
        for identity, run in batch.items()
    }
    batch = {identity: _complete(run, placements) for identity, run in batch.items()}
    new_runs = [run for run in batch.values() if placements[run.run_id].stored_run is None]
    with without_pauses():
        provenance |= {run.run_id: run.provenance() for run in new_runs if run.run_id not in provenance}
    own_runs = _insert_new_runs(new_runs, placements, provenance)
    known_runs = [run for run in batch.values() if placements[run.run_id].stored_run is not None]
    artifacts.restore_many(
        {id: run.parts for run in known_runs if (id := placements[run.run_id].equal_run) is not None}
    )
    _add_judgements(known_runs, placements)
    return {run.run_id: _result(run, placements[run.run_id]) for run in (*own_runs, *known_runs)}


def _complete(run: PreparedRun, placements: dict[UUID, Placement]) -> PreparedRun:
    """Return the union with a stored run that this one would conflict with, if both are parts of one trace."""
    placement = placements[run.run_id]
    if placement.stored_run is not None or not placement.conflicts:
        return run
    recording = replace(run.recording, steps=tuple(run.steps))
    if (union := unions.find(recording, run.rows, placement.conflicts)) is None:
        return run
    whole = _try_prepare(union.recording, policies.RedactionByApp())
    if isinstance(whole, ProblemError):
        return run
    placements[run.run_id] = Placement(revision=placement.revision, supersedes=union.supersedes)
    return replace(whole, columns=whole.columns | {"id": run.run_id})


def _insert_new_runs(
    runs: Sequence[PreparedRun], placements: Mapping[UUID, Placement], provenance: Mapping[UUID, PreparedProvenance]
) -> list[PreparedRun]:
    """Insert runs with their contents, and seal them; return those whose revision was free."""
    if not runs:
        return []
    with transaction.atomic():
        _insert_runs(runs, placements)
        ids = set(
            Run.objects.filter(bulk.id_condition("id", [run.run_id for run in runs])).values_list("id", flat=True)
        )
        own_runs = [run for run in runs if run.run_id in ids]
        insert_contents(own_runs, provenance)
        services.insert_judgements([run_judgements(run) for run in own_runs])
        seal_recorded(run.run_id for run in own_runs)
    return own_runs


def _insert_runs(runs: Iterable[PreparedRun], placements: Mapping[UUID, Placement]) -> None:
    """Insert the rows of runs; skip revisions that exist already."""
    # All writers use one order, runs before artifacts, so that concurrent batches cannot deadlock.
    batch = sorted(runs, key=lambda run: run.identity)
    rows = [{**run.columns, **revision_columns(placements[run.run_id])} for run in batch]
    bulk.insert(Run, tuple(rows[0]), (tuple(row.values()) for row in rows), ignore_conflicts=True)


def revision_columns(placement: Placement) -> dict[str, Any]:
    return {"revision": placement.revision, "supersedes": placement.supersedes}


def insert_contents(runs: Sequence[PreparedRun], provenance: Mapping[UUID, PreparedProvenance]) -> None:
    """Insert everything that belongs to inserted runs; those without provenance are not complete yet."""
    # In ascending order, the rows fill the pages of the indexes; in descending order, they leave them half empty.
    runs = sorted(runs, key=lambda run: run.run_id)
    artifacts.write_many({run.run_id: run.parts for run in runs})
    bulk.insert(Step, _STEP_COLUMNS, (row for run in runs for row in _step_values(run, provenance.get(run.run_id))))
    complete_runs = [run for run in runs if run.run_id in provenance]
    stored_provenance.insert_edges(
        (run.run_id, edge) for run in complete_runs for edge in provenance[run.run_id].provenance.edges
    )
    pending_runs = [(run.run_id,) for run in complete_runs if provenance[run.run_id].is_pending]
    bulk.insert(PendingProvenance, ("run",), pending_runs)
    bulk.insert(RunTag, _TAG_COLUMNS, (row for run in runs for row in _tags(run.run_id, run.columns["tags"])))
    tool_calls.insert_all((run.columns["app"], run.run_id, run.calls) for run in complete_runs)


def seal_recorded(run_ids: Iterable[UUID]) -> None:
    """Seal complete runs whose judgements are stored."""
    ids = list(run_ids)
    Run.objects.filter(bulk.id_condition("id", ids)).update(sealed_at=datetime.now(UTC))
    sealed_runs.add(ids)
    notify.touch("runs")


def run_judgements(run: PreparedRun) -> services.NewRunJudgements:
    columns = run.columns
    return services.NewRunJudgements(
        run_id=run.run_id,
        app=columns["app"],
        status=columns["status"],
        tags=columns["tags"],
        judgements=run.judgements,
    )


def _add_judgements(runs: Iterable[PreparedRun], placements: Mapping[UUID, Placement]) -> None:
    """Add the judgements of recordings that were stored before: the same runs may have new judgements."""
    judgements: dict[UUID, list[JudgementRow]] = {}
    for run in runs:
        if (id := placements[run.run_id].equal_run) is not None and run.judgements:
            judgements.setdefault(id, []).extend(run.judgements)
    if judgements:
        with transaction.atomic():
            services.add(judgements)
            services.notify_views(judgements)


def _step_values(run: PreparedRun, provenance: PreparedProvenance | None) -> Iterator[tuple[object, ...]]:
    """Yield the columns of a run's steps, with the unexplained content of their inputs if it is known."""
    run_id = run.run_id
    for row in run.rows:
        if provenance is None or provenance.is_pending:
            yield (run_id, *ingest_rows.values_of(row))
        else:
            items = provenance.provenance.unexplained_inputs.get(row.sequence_no, ())
            content: list[JSONValue] = [item.as_json() for item in items]
            yield (run_id, *ingest_rows.values_with_content(row, content))


def _result(run: PreparedRun, placement: Placement) -> RecordResult:
    return RecordResult(
        run_id=placement.stored_run or run.run_id,
        is_new=placement.stored_run is None,
        name=run.columns["name"],
        external_id=run.columns["external_id"],
        revision=placement.revision,
        supersedes=placement.supersedes if placement.stored_run is None else None,
        conflicts_with=placement.conflicts_with,
    )


def _tags(run_id: UUID, tags: Iterable[str]) -> list[tuple[UUID, str]]:
    return [(run_id, tag) for tag in dict.fromkeys(tag[:100] for tag in tags)]


def _require_open(run_id: UUID) -> None:
    """Lock an unsealed run, so that it cannot be sealed meanwhile; raise `NotFound` or `RunSealed`."""
    row = statements.select(Run, ("sealed_at",), {"id": run_id}, lock=True)
    if row is None:
        raise NotFound(f"there is no run {run_id}")
    if row[0] is not None:
        raise RunSealed(f"run {run_id} is sealed: no steps can be added to it")


def _derived_search(name: str, app: str, key: UUID, source_run: Run | None) -> str:
    source_text = source_run.search if source_run is not None else ""
    return step_summaries.one_line(f"{name} {key} {app} {source_text}", step_summaries.MAX_SEARCH).lower()
