"""Runs that are still arriving: written again as they grow, until they are sealed."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.db import transaction

from traces import notify
from traces.core.gc_pause import without_pauses
from traces.core.recorded_run import PROBLEM, RecordedRun
from traces.core.vocabulary import RunStatus
from traces.errors import ProblemError
from traces.ingest.prepare import PreparedProvenance, PreparedRun, prepare
from traces.judgements import late_judgements
from traces.judgements import services as judgements
from traces.models import Edge, Judgement, PendingProvenance, Run, RunOutcome, RunTag, Step, ToolCall
from traces.redaction_policies.services import RedactionByApp
from traces.runs import revisions, services, unions
from traces.runs.revisions import Placement
from traces.storage import bulk

_CONTENT_TABLES: Final = (Step, Edge, PendingProvenance, RunTag, ToolCall, Judgement, RunOutcome)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunState:
    """A recording as far as it has arrived; `run_id` is the run that its previous state was written to.

    A complete state is written in full, with provenance and outcome, so that it can be sealed. Any other state is shown
    while it grows. `checks` are versions of detectors that looked at its records when they arrived.
    """

    recording: RecordedRun
    run_id: UUID | None
    is_complete: bool
    checks: Collection[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteResult:
    """The run of a state. `is_stored`: a sealed run contained it before, so nothing was written.

    `has_ended`: the state completes a stored run that had ended, so that no end will arrive with it.
    """

    run_id: UUID
    is_stored: bool
    has_ended: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedStates:
    """States by index with their rows, or the reason why they are rejected; complete ones with provenance."""

    states: Sequence[RunState]
    outcomes: Mapping[int, PreparedRun | ProblemError]
    provenance: Mapping[int, PreparedProvenance]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Draft:
    """A prepared state and its place; it becomes a new row or replaces an open run.

    `provenance` is None if the state is not complete.
    """

    index: int
    run: PreparedRun
    provenance: PreparedProvenance | None
    placement: Placement
    is_new: bool
    has_ended: bool = False


def prepare_states(states: Sequence[RunState]) -> PreparedStates:
    """Prepare states for `write`, without the database."""
    with without_pauses():
        redactions = RedactionByApp()
        outcomes = {index: _try_prepare(state, redactions) for index, state in enumerate(states)}
        provenance = {
            index: run.provenance()
            for index, run in outcomes.items()
            if isinstance(run, PreparedRun) and states[index].is_complete
        }
    return PreparedStates(states=states, outcomes=outcomes, provenance=provenance)


def write(prepared_states: PreparedStates) -> list[WriteResult | ProblemError]:
    """Write unsealed runs in one transaction; a rejected state does not affect the others.

    A state replaces the previous one of its run, whose steps keep their ids. If that run is sealed, or there is none,
    the state becomes a new run: the next revision of the run that it continues.
    """
    states, outcomes = prepared_states.states, prepared_states.outcomes
    # Inside a savepoint, SQLite walks through its list of changed pages at every insert.
    with transaction.atomic(savepoint=False):
        drafts = _place(states, outcomes, prepared_states.provenance)
        _write_runs([draft for draft in drafts if draft.placement.stored_run is None])
        for draft in drafts:
            if draft.placement.is_equal and draft.placement.stored_run is not None:
                late_judgements.update(draft.placement.stored_run, draft.run.judgements, draft.run.retractions)
    results = {draft.index: _result(draft) for draft in drafts}
    return [run if isinstance(run, ProblemError) else results[index] for index, run in outcomes.items()]


def seal(run_ids: Iterable[UUID]) -> None:
    """Seal runs whose complete state was written last; sealed ones stay as they are."""
    with transaction.atomic(savepoint=False):
        open_runs = Run.objects.filter(bulk.id_condition("id", run_ids), sealed_at__isnull=True)
        ids = list(open_runs.values_list("id", flat=True))
        services.seal_recorded(ids)
        for run_id in ids:
            notify.touch(f"run.{run_id}")


def abandon(run_id: UUID, problem: str) -> None:
    """Seal an open run whose last state could not be written, as far as it is written; `problem` is shown with it."""
    with transaction.atomic():
        run = Run.objects.select_for_update().filter(id=run_id, sealed_at__isnull=True).first()
        if run is None:
            return
        run.status, run.metadata = RunStatus.RUNNING, {**run.metadata, PROBLEM: problem}
        run.save(update_fields=["status", "metadata"])
        services.seal_run(run_id, RunStatus.PARTIAL, ended_at=run.ended_at)


def _try_prepare(state: RunState, redactions: RedactionByApp) -> PreparedRun | ProblemError:
    """Prepare a state. Its digest is that of its final status, by which a sealed run with equal content is found."""
    try:
        run = prepare(state.recording, redactions[state.recording.app].omit(state.checks))
    except ProblemError as problem:
        return problem
    return run if state.is_complete else replace(run, columns=run.columns | {"status": RunStatus.RUNNING})


def _place(
    states: Sequence[RunState],
    outcomes: Mapping[int, PreparedRun | ProblemError],
    provenance: Mapping[int, PreparedProvenance],
) -> list[_Draft]:
    """Find the run of each state, under the locks of the open runs that states replace."""
    open_runs = _lock_open_runs(state.run_id for state in states if state.run_id is not None)
    runs = {index: run for index, run in outcomes.items() if isinstance(run, PreparedRun)}
    existing = revisions.stored_revisions(run.identity for run in runs.values())
    drafts: list[_Draft] = []
    for index, run in runs.items():
        open_run = open_runs.get(states[index].run_id)
        if open_run is not None and run.identity == (open_run.app, open_run.external_id):
            placement = Placement(revision=open_run.revision, supersedes=open_run.supersedes_id)
        else:
            siblings = [revision for revision in existing.get(run.identity, ()) if revision.run_id not in open_runs]
            placement = revisions.place(run.content_digest, run.rows, siblings)
        draft = _Draft(
            index=index, run=run, provenance=provenance.get(index), placement=placement, is_new=open_run is None
        )
        draft = _complete(draft, states[index])
        drafts.append(draft if open_run is None else replace(draft, run=_keep_ids(draft.run, open_run)))
    return drafts


def _complete(draft: _Draft, state: RunState) -> _Draft:
    """Return the union with a stored run of which this state is a further part, else the draft as it is."""
    placement = draft.placement
    parts = placement.conflicts or ((placement.supersedes,) if placement.supersedes and not draft.is_new else ())
    if (
        placement.stored_run is not None
        or not parts
        or (union := unions.find(state.recording, draft.run.rows, parts)) is None
    ):
        return draft
    run = _try_prepare(replace(state, recording=union.recording), RedactionByApp())
    if isinstance(run, ProblemError):
        return draft
    provenance = run.provenance() if state.is_complete else None
    placement = Placement(revision=placement.revision, supersedes=union.supersedes)
    return replace(draft, run=run, provenance=provenance, placement=placement, has_ended=union.has_ended)


def _lock_open_runs(run_ids: Iterable[UUID]) -> dict[UUID | None, Run]:
    runs = Run.objects.select_for_update().filter(id__in=list(run_ids), sealed_at__isnull=True).order_by("id")
    return {run.id: run for run in runs.only("id", "app", "external_id", "revision", "supersedes")}


def _keep_ids(run: PreparedRun, open_run: Run) -> PreparedRun:
    """Give a state the ids of the run that it replaces, and of its steps, so that links to them stay valid."""
    ids = dict(Step.objects.filter(run=open_run).values_list("external_id", "id"))
    rows = [replace(row, id=ids.get(row.external_id, row.id)) for row in run.rows]
    return replace(run, columns=run.columns | {"id": open_run.id}, rows=rows)


def _write_runs(drafts: Sequence[_Draft]) -> None:
    """Insert the rows of new runs, replace those of open runs, and insert all contents."""
    if not drafts:
        return
    if replaced_ids := [draft.run.run_id for draft in drafts if not draft.is_new]:
        for table in _CONTENT_TABLES:
            table.objects.filter(run_id__in=replaced_ids).delete()
    rows = {draft.index: draft.run.columns | services.revision_columns(draft.placement) for draft in drafts}
    new_rows = [rows[draft.index] for draft in drafts if draft.is_new]
    if new_rows:
        # Raises `IntegrityError` if another writer took a revision meanwhile; the caller tries again.
        bulk.insert(Run, tuple(new_rows[0]), (tuple(row.values()) for row in new_rows))
    for draft in drafts:
        if not draft.is_new:
            columns = {name: value for name, value in rows[draft.index].items() if name not in {"id", "created_at"}}
            Run.objects.filter(id=draft.run.run_id).update(**columns)
    _insert_contents(drafts)


def _insert_contents(drafts: Sequence[_Draft]) -> None:
    provenance = {draft.run.run_id: draft.provenance for draft in drafts if draft.provenance is not None}
    services.insert_contents([draft.run for draft in drafts], provenance)
    growing = [draft.run for draft in drafts if draft.provenance is None]
    judgements.begin(run.run_id for run in growing)
    judgements.insert_judgements(
        [services.run_judgements(draft.run) for draft in drafts if draft.provenance is not None]
    )
    notify.touch("runs")
    for draft in drafts:
        notify.touch(f"run.{draft.run.run_id}")


def _result(draft: _Draft) -> WriteResult:
    stored_run = draft.placement.stored_run
    return WriteResult(
        run_id=stored_run or draft.run.run_id, is_stored=stored_run is not None, has_ended=draft.has_ended
    )
