"""Read experiments."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, Sum

from replay.checks.schemas import CheckResult
from replay.core.vocabulary import FAILED, FINAL_STATUSES, Engine, ExperimentStatus, SessionStatus
from replay.experiments.core import matrix
from replay.experiments.core.aggregation import aggregate
from replay.experiments.core.schemas import (
    ExperimentChanged,
    ExperimentList,
    ExperimentRequest,
    ExperimentRowChanged,
    ExperimentRowView,
    ExperimentSummary,
    ExperimentView,
    Setting,
)
from replay.models import Attempt, Experiment, ExperimentRow, ReplaySession
from replay.runners.queries import missing_runner
from traces.core.schema import LabelCounts
from traces.runs.queries import by_id

Message = ExperimentRowChanged | ExperimentChanged


def find(ref: str | UUID) -> Experiment:
    """Return an experiment by id; raises `NotFound`."""
    return by_id(Experiment.objects.select_related("source_run"), ref, "experiment")


def has_ended(experiment_id: UUID) -> bool:
    """True unless one of its replays goes on."""
    rows = ExperimentRow.objects.filter(experiment=experiment_id)
    return not rows.exclude(session__status__in=FINAL_STATUSES).exists()


def view(experiment: Experiment) -> ExperimentView:
    """The current state of an experiment with all its rows."""
    request = ExperimentRequest.model_validate(experiment.request)
    rows = _rows([experiment])[experiment.id]
    views = _views(request, rows)
    summary = _summary(experiment, rows)
    may_wait = summary.status is ExperimentStatus.RUNNING and request.engine is Engine.AGENT
    return ExperimentView(
        **dict(summary),
        seq=experiment.last_seq,
        request=request,
        waits_for=missing_runner(ReplaySession.objects.filter(experiment_row__experiment=experiment))
        if may_wait
        else "",
        aggregates=aggregate(views),
        results=views,
    )


def newest(*, source_run: UUID | None = None, limit: int = 50) -> ExperimentList:
    """The newest experiments, of one source run or of all."""
    experiments = listed_rows().order_by("-id")
    if source_run is not None:
        experiments = experiments.filter(source_run_id=source_run)
    return ExperimentList(experiments=summaries(experiments[:limit]))


def listed_rows() -> QuerySet[Experiment]:
    return Experiment.objects.select_related("source_run")


def summaries(experiments: Iterable[Experiment]) -> list[ExperimentSummary]:
    """The summaries of experiments, with one query for the rows of all."""
    experiments = list(experiments)
    rows = _rows(experiments)
    return [_summary(experiment, rows[experiment.id]) for experiment in experiments]


def messages_after(experiment_id: UUID, after: int) -> list[Message]:
    """The messages after a sequence number: the current state of changed rows, then the aggregates."""
    experiment = find(experiment_id)
    if experiment.last_seq <= after:
        return []
    request = ExperimentRequest.model_validate(experiment.request)
    # A row that changed after the experiment was read has a higher number; the next call returns it.
    rows = _rows([experiment])[experiment_id]
    views = _views(request, rows)
    pairs = ((row.seq, view) for row, view in zip(rows, views, strict=True) if after < row.seq < experiment.last_seq)
    changes: list[Message] = [
        ExperimentRowChanged(seq=seq, row=view) for seq, view in sorted(pairs, key=lambda pair: pair[0])
    ]
    summary = _summary(experiment, rows)
    return [*changes, ExperimentChanged(seq=experiment.last_seq, experiment=summary, aggregates=aggregate(views))]


def _rows(experiments: Iterable[Experiment]) -> dict[UUID, list[ExperimentRow]]:
    by_experiment: dict[UUID, list[ExperimentRow]] = defaultdict(list)
    rows = ExperimentRow.objects.filter(experiment__in=experiments).select_related("session", "session__run")
    for row in rows.defer("session__plan", "session__planned").order_by("number"):
        by_experiment[row.experiment_id].append(row)
    return by_experiment


def _summary(experiment: Experiment, rows: list[ExperimentRow]) -> ExperimentSummary:
    sessions = [row.session for row in rows]
    ended_sessions = [session for session in sessions if session.status in FINAL_STATUSES]
    costs = [session.cost_usd for session in sessions]
    known_costs = [float(cost) for cost in costs if cost is not None]
    is_over = len(ended_sessions) == len(sessions)
    end_times = [session.ended_at for session in ended_sessions if session.ended_at]
    return ExperimentSummary(
        id=experiment.id,
        name=experiment.name,
        status=_status(experiment, is_over=is_over),
        source_run=experiment.source_run_id,
        source_name=experiment.source_run.name,
        fork_sequence_no=experiment.fork_sequence_no,
        cells=len({row.cell for row in rows}),
        samples=max((row.sample for row in rows), default=0),
        rows=len(rows),
        finished=len(ended_sessions),
        failed=sum(session.status in FAILED for session in sessions),
        live_calls=sum(session.live_calls for session in sessions),
        cost_usd=sum(known_costs) if len(known_costs) == len(costs) else None,
        created_at=experiment.created_at,
        ended_at=max(end_times, default=None) if is_over else None,
    )


def _status(experiment: Experiment, *, is_over: bool) -> ExperimentStatus:
    if experiment.cancelled_at is not None:
        return ExperimentStatus.CANCELLED
    return ExperimentStatus.COMPLETED if is_over else ExperimentStatus.RUNNING


def _views(request: ExperimentRequest, rows: list[ExperimentRow]) -> list[ExperimentRowView]:
    settings = {cell.number: list(cell.settings) for cell in matrix.cells(request)}
    attempts = Attempt.objects.filter(session__in=[row.session_id for row in rows])
    latencies = dict(attempts.values_list("session").annotate(Sum("duration_ms")))
    return [_view(row, settings[row.cell], _latency(row.session, latencies)) for row in rows]


def _latency(session: ReplaySession, latencies: Mapping[UUID, float]) -> float | None:
    """How long the live calls of a row took. An agent makes its own: its row is as slow as its run."""
    if session.engine == Engine.AGENT:
        return session.run.duration_ms if session.run and session.run.sealed_at else None
    return latencies.get(session.id)


def _view(row: ExperimentRow, settings: list[Setting], latency_ms: float | None) -> ExperimentRowView:
    session, run = row.session, row.session.run
    # A model that was called has counted some tokens: a run without any has unknown ones.
    has_tokens = run is not None and run.sealed_at is not None and run.tokens_in + run.tokens_out > 0
    result: dict[str, Any] = row.result or {}
    checks = result.get("checks")
    return ExperimentRowView(
        number=row.number,
        cell=row.cell,
        sample=row.sample,
        settings=settings,
        session=session.id,
        run=session.run_id,
        diff=session.diff_id,
        status=session.status,
        queued=session.status == SessionStatus.PENDING and not row.released,
        resolved_steps=session.resolved_steps,
        planned_steps=session.planned_steps,
        labels=LabelCounts(exact=session.exact_count, cached=session.cached_count, simulated=session.simulated_count),
        live_calls=session.live_calls,
        cost_usd=None if session.cost_usd is None else float(session.cost_usd),
        tokens_in=run.tokens_in if run and has_tokens else None,
        tokens_out=run.tokens_out if run and has_tokens else None,
        latency_ms=latency_ms,
        ars=result.get("ars"),
        output_similarity=result.get("output_similarity"),
        similarity_method=result.get("method", ""),
        new_tools=result.get("new"),
        unused_tools=result.get("unused"),
        checks=None if checks is None else [CheckResult.model_validate(check) for check in checks],
        unverified=result.get("unverified", ""),
        answer=result.get("answer", ""),
        error=session.error,
    )
