"""Writing runs: whole recordings at once, and derived runs step by step. Everything else is read-only."""

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import ProtectedError, TextField
from django.db.models.functions import Cast

from traces import notify
from traces.call_index import tool_calls
from traces.core.gc_pause import without_pauses
from traces.core.ids import new_id
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, RunSource, RunStatus
from traces.errors import NotFound, Pinned, ProblemError, RunConflict, RunSealed
from traces.ingest import step_rows as ingest_rows
from traces.ingest.judgement_rows import JudgementRow
from traces.ingest.prepare import Identity, Prepared, prepare
from traces.ingest.step_rows import StepRow
from traces.judgements import services
from traces.models import Edge, RetentionPass, Run, RunTag, Step
from traces.payloads import step_summaries
from traces.provenance.edge_facts import EdgeFact
from traces.provenance.edges import Provenance
from traces.provenance.input_origins import UnexplainedContent
from traces.runs import copy
from traces.storage import artifacts, bulk

_STEP_COLUMNS = ("run", *ingest_rows.COLUMNS)
_EDGE_COLUMNS = ("run", "producer_no", "consumer_no", "kind", "consumer_path", "producer_path", "evidence")
_TAG_COLUMNS = ("run", "tag")


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """Where a recording is; `created` is false when it was there already, `lost` are artifacts that it came without."""

    run_id: UUID
    created: bool
    lost: tuple[str, ...] = ()


class _Stored(NamedTuple):
    """The run under an identity."""

    run_id: UUID
    content_digest: str


def record(run: RecordedRun) -> Recorded:
    """Store a whole recording, sealed; all of it or nothing.

    The same recording again adds only judgements that are new. Raises `InvalidRecording`, and `RunConflict` for another
    recording under the same identity.
    """
    (outcome,) = record_all([run])
    if isinstance(outcome, ProblemError):
        raise outcome
    return outcome


def record_all(runs: Iterable[RecordedRun]) -> list[Recorded | ProblemError]:
    """Store recordings in one transaction, each as `record` does; one that is refused does not keep out the others.

    Of a recording that nobody else keeps, the payloads are out of memory before the rows are written.
    """
    with without_pauses():
        prepared = [_prepared(run) for run in runs]
        given = [each for each in prepared if isinstance(each, Prepared)]
        known = _known(given)
        new = {each.identity: each for each in reversed(given) if each.identity not in known}
        provenance = {identity: each.provenance() for identity, each in new.items()}
    if new:
        with transaction.atomic():
            _insert_runs(new.values())
            known |= _known(new.values())  # where another writer was quicker, it is that writer's
            ours = [each for identity, each in new.items() if known[identity].run_id == each.run_id]
            _insert_recorded(ours, provenance)
    _add_judgements(given, known)
    return [each if isinstance(each, ProblemError) else _outcome(each, known[each.identity]) for each in prepared]


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
    services.begin({run.id: source})
    notify.touch("runs")
    return run


def append_steps(run_id: UUID, step_rows: Sequence[StepRow]) -> None:
    """Add steps to a run that is being written; raises `RunSealed`."""
    with transaction.atomic():
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
) -> int:
    """Copy the steps `first` to `last` of another run, as they are but for label and lineage; how many.

    `detail` says of every copy what its label rests on.
    """
    if last < first:
        return 0
    ids = [new_id().hex for _ in range(last - first + 1)]
    with transaction.atomic():
        _require_open(run_id)
        copied = copy.copy(source_run_id, run_id, first, ids, label=label, reason=reason, detail=detail or {})
        notify.touch(f"run.{run_id}")
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
        copied = copy.is_copy(run)
        steps = _steps(run_id, ingest_rows.SAID if copied else ingest_rows.COLUMNS)
        if copied:
            copy.copy_edges(run)
        else:
            provenance = copy.provenance_of(run, steps)
            insert_edges(run_id, provenance.edges)
            copy.store_unexplained(steps, provenance.unexplained_inputs)
            tool_calls.insert_run(run)
        now = datetime.now(UTC)
        run.status, run.ended_at, run.sealed_at = RunStatus(run.status).move_to(status), ended_at or now, now
        _take_totals(run, steps)
        run.save()
        judged = services.of_validators(run_id, steps) + services.inherited(run)
        services.add({run_id: judged}, new_runs=[run_id])
        notify.touch("runs")
        notify.touch(f"run.{run_id}")


@contextmanager
def retention() -> Iterator[None]:
    """Inside, sealed runs and artifacts may be deleted, by this transaction alone.

    Raises `Pinned`, and deletes nothing, when something that stays cites a run.
    """
    try:
        with transaction.atomic():
            granted = RetentionPass.objects.create(run_id=new_id())
            yield
            granted.delete()
    except ProtectedError as refused:
        raise Pinned([f"{one._meta.verbose_name} {one.pk}" for one in refused.protected_objects]) from refused


def insert_tags(run_id: UUID, tags: Iterable[str]) -> None:
    """Make a run found by its tags."""
    bulk.insert(RunTag, _TAG_COLUMNS, _tags(run_id, tags))


def insert_edges(run_id: UUID, edges: Iterable[EdgeFact]) -> None:
    bulk.insert(Edge, _EDGE_COLUMNS, (_edge(run_id, edge) for edge in edges))


def insert_steps(run_id: UUID, step_rows: Sequence[StepRow]) -> None:
    """Insert rows; callers hold the run and wake who watches."""
    bulk.insert(Step, _STEP_COLUMNS, ((run_id, *ingest_rows.values_of(row)) for row in step_rows))


def _prepared(run: RecordedRun) -> Prepared | ProblemError:
    try:
        return prepare(run)
    except ProblemError as problem:
        return problem


def _known(runs: Iterable[Prepared]) -> dict[Identity, _Stored]:
    """The stored runs under the identities of `runs`."""
    wanted = {run.identity for run in runs}
    found: dict[Identity, _Stored] = {}
    for external_ids in bulk.chunks({external_id for _, external_id in wanted}):
        columns = ("app", "external_id", "id", "content_digest")
        for app, external_id, *stored in Run.objects.filter(external_id__in=external_ids).values_list(*columns):
            found[app, external_id] = _Stored(*stored)
    return {identity: found[identity] for identity in wanted & found.keys()}


def _insert_runs(runs: Iterable[Prepared]) -> None:
    """Insert the rows of runs; an identity that is taken stays whose it is."""
    # In one order for all writers, runs before artifacts: two batches then wait for each other, and never in a circle.
    ordered = sorted(runs, key=lambda run: run.identity)
    columns = tuple(ordered[0].columns)
    bulk.insert(Run, columns, (tuple(run.columns.values()) for run in ordered), ignore_conflicts=True)


def _insert_recorded(runs: Sequence[Prepared], provenance: Mapping[Identity, Provenance]) -> None:
    """All that belongs to runs whose rows are in, and seal them."""
    artifacts.write_many({sha256: data for run in runs for sha256, data in run.parts.items()})
    bulk.insert(
        Step,
        _STEP_COLUMNS,
        (row for run in runs for row in _step_values(run, provenance[run.identity].unexplained_inputs)),
    )
    bulk.insert(
        Edge, _EDGE_COLUMNS, (_edge(run.run_id, edge) for run in runs for edge in provenance[run.identity].edges)
    )
    bulk.insert(RunTag, _TAG_COLUMNS, (row for run in runs for row in _tags(run.run_id, run.columns["tags"])))
    tool_calls.insert_all((run.columns["app"], run.run_id, run.calls) for run in runs)
    for chunk in bulk.chunks(run.run_id for run in runs):
        Run.objects.filter(id__in=chunk).update(sealed_at=datetime.now(UTC))
    services.begin_judged([_judged(run) for run in runs])
    notify.touch("runs")


def _judged(run: Prepared) -> services.JudgedRun:
    columns = run.columns
    return services.JudgedRun(
        run_id=run.run_id,
        app=columns["app"],
        status=columns["status"],
        source=columns["source"],
        judgements=run.judged,
    )


def _add_judgements(runs: Iterable[Prepared], stored: Mapping[Identity, _Stored]) -> None:
    """Add the judgements of recordings that were stored before: the same run, judged since."""
    judged: dict[UUID, list[JudgementRow]] = {}
    for run in runs:
        home = stored[run.identity]
        if home.run_id != run.run_id and home.content_digest == run.content_digest and run.judged:
            judged.setdefault(home.run_id, []).extend(run.judged)
    if judged:
        with transaction.atomic():
            services.add(judged)
            services.wake(judged)


def _step_values(
    run: Prepared, unexplained: Mapping[int, Sequence[UnexplainedContent]]
) -> Iterator[tuple[object, ...]]:
    """The columns of a run's steps, with what of their inputs is unexplained."""
    for row in run.rows:
        items = unexplained.get(row.sequence_no, ())
        yield (run.run_id, *ingest_rows.explained(row, [item.as_json() for item in items]))


def _outcome(run: Prepared, stored: _Stored) -> Recorded | ProblemError:
    if stored.content_digest != run.content_digest:
        app, external_id = run.identity
        return RunConflict(
            app=app,
            external_id=external_id,
            run_id=stored.run_id,
            stored_digest=stored.content_digest,
            new_digest=run.content_digest,
        )
    return Recorded(run_id=stored.run_id, created=stored.run_id == run.run_id)


def _edge(run_id: UUID, edge: EdgeFact) -> tuple[object, ...]:
    return (
        run_id,
        edge.producer,
        edge.consumer,
        edge.kind,
        edge.consumer_path,
        edge.producer_path,
        edge.evidence.replace("\x00", "\ufffd"),
    )


def _tags(run_id: UUID, tags: Iterable[str]) -> list[tuple[UUID, str]]:
    return [(run_id, tag) for tag in dict.fromkeys(tag[:100] for tag in tags)]


def _steps(run_id: UUID, columns: Sequence[str]) -> list[Any]:
    """The steps of a run in order; details, of which most are the same text, are read once each."""
    plain = [name for name in columns if name != "detail"]
    stored = Step.objects.filter(run_id=run_id).order_by("sequence_no").annotate(text=Cast("detail", TextField()))
    row = _row_type((*plain, "detail"))
    known: dict[str, JSONValue] = {}
    found = []
    for *values, text in stored.values_list(*plain, "text"):
        if text not in known:
            known[text] = orjson.loads(text)
        found.append(row(*values, known[text]))
    return found


@lru_cache
def _row_type(columns: tuple[str, ...]) -> Callable[..., Any]:
    return namedtuple("Row", columns)


def _require_open(run_id: UUID) -> None:
    """Holds the run's row, so that nobody seals it meanwhile."""
    found = list(Run.objects.select_for_update().filter(id=run_id).values_list("sealed_at", flat=True))
    if not found:
        raise NotFound(f"there is no run {run_id}")
    if found[0] is not None:
        raise RunSealed(f"run {run_id} is sealed: no steps can be added to it")


def _take_totals(run: Run, steps: Sequence[Step]) -> None:
    for column, value in ingest_rows.totals_columns(ingest_rows.totals(steps), run.started_at, run.ended_at).items():
        setattr(run, column, value)
    run.content_digest = ingest_rows.content_digest(ingest_rows.said_of_run(run), steps)


def _derived_search(name: str, app: str, key: UUID, source_run: Run | None) -> str:
    inherited = source_run.search if source_run is not None else ""
    return step_summaries.one_line(f"{name} {key} {app} {inherited}", step_summaries.MAX_SEARCH).lower()
