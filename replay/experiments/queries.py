"""Reading experiments."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Sum

from replay.checks.schemas import CheckResult
from replay.core.vocabulary import FAILED, FINAL_STATUSES, ExperimentStatus, SessionStatus
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
from replay.models import Attempt, Experiment, ExperimentRow
from traces.core.schema import LabelCounts
from traces.runs.queries import by_id

Message = ExperimentRowChanged | ExperimentChanged


def find(ref: str | UUID) -> Experiment:
    """An experiment by id; raises `NotFound`."""
    return by_id(Experiment.objects.select_related("source_run"), ref, "experiment")


def view(experiment: Experiment) -> ExperimentView:
    """The whole experiment as it is now."""
    request = ExperimentRequest.model_validate(experiment.request)
    rows = _rows([experiment])[experiment.id]
    views = _views(request, rows)
    return ExperimentView(
        **dict(_summary(experiment, rows)),
        seq=experiment.last_seq,
        request=request,
        aggregates=aggregate(views),
        results=views,
    )


def newest(*, source_run: UUID | None = None, limit: int = 50) -> ExperimentList:
    """The newest experiments, of one source run or of all."""
    found = Experiment.objects.select_related("source_run").order_by("-created_at", "-id")
    if source_run is not None:
        found = found.filter(source_run_id=source_run)
    experiments = list(found[:limit])
    rows = _rows(experiments)
    return ExperimentList(experiments=[_summary(experiment, rows[experiment.id]) for experiment in experiments])


def messages_after(experiment_id: UUID, after: int) -> list[Message]:
    """What a watcher who has seen everything up to `after` has not seen: changed rows as they are, then the sums."""
    experiment = find(experiment_id)
    if experiment.last_seq <= after:
        return []
    request = ExperimentRequest.model_validate(experiment.request)
    # A row that changed since the experiment was read has a number that this reading does not reach.
    rows = _rows([experiment])[experiment_id]
    views = _views(request, rows)
    pairs = ((row.seq, view) for row, view in zip(rows, views, strict=True) if after < row.seq < experiment.last_seq)
    changed = sorted(pairs, key=lambda pair: pair[0])
    told: list[Message] = [ExperimentRowChanged(seq=seq, row=view) for seq, view in changed]
    summary = _summary(experiment, rows)
    return [*told, ExperimentChanged(seq=experiment.last_seq, experiment=summary, aggregates=aggregate(views))]


def _rows(experiments: Iterable[Experiment]) -> dict[UUID, list[ExperimentRow]]:
    found: dict[UUID, list[ExperimentRow]] = defaultdict(list)
    rows = ExperimentRow.objects.filter(experiment__in=experiments).select_related("session", "session__run")
    for row in rows.defer("session__plan", "session__planned").order_by("number"):
        found[row.experiment_id].append(row)
    return found


def _summary(experiment: Experiment, rows: list[ExperimentRow]) -> ExperimentSummary:
    sessions = [row.session for row in rows]
    ended = [session for session in sessions if session.status in FINAL_STATUSES]
    costs = [session.cost_usd for session in sessions]
    known = [float(cost) for cost in costs if cost is not None]
    over = len(ended) == len(sessions)
    return ExperimentSummary(
        id=experiment.id,
        name=experiment.name,
        status=_status(experiment, over=over),
        source_run=experiment.source_run_id,
        source_name=experiment.source_run.name,
        fork_sequence_no=experiment.fork_sequence_no,
        cells=len({row.cell for row in rows}),
        samples=max(row.sample for row in rows),
        rows=len(rows),
        finished=len(ended),
        failed=sum(session.status in FAILED for session in sessions),
        live_calls=sum(session.live_calls for session in sessions),
        cost_usd=sum(known) if len(known) == len(costs) else None,
        created_at=experiment.created_at,
        ended_at=max((session.ended_at for session in ended if session.ended_at), default=None) if over else None,
    )


def _status(experiment: Experiment, *, over: bool) -> ExperimentStatus:
    if experiment.cancelled_at is not None:
        return ExperimentStatus.CANCELLED
    return ExperimentStatus.COMPLETED if over else ExperimentStatus.RUNNING


def _views(request: ExperimentRequest, rows: list[ExperimentRow]) -> list[ExperimentRowView]:
    settings = {cell.number: list(cell.settings) for cell in matrix.cells(request)}
    attempts = Attempt.objects.filter(session__in=[row.session_id for row in rows])
    spent = dict(attempts.values_list("session").annotate(Sum("duration_ms")))
    return [_view(row, settings[row.cell], spent.get(row.session_id)) for row in rows]


def _view(row: ExperimentRow, settings: list[Setting], latency_ms: float | None) -> ExperimentRowView:
    session, run = row.session, row.session.run
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
        tokens_in=run.tokens_in if run and run.sealed_at else None,
        tokens_out=run.tokens_out if run and run.sealed_at else None,
        latency_ms=latency_ms,
        ars=result.get("ars"),
        output_similarity=result.get("output_similarity"),
        similarity_method=result.get("method", ""),
        new_tools=result.get("new"),
        unused_tools=result.get("unused"),
        checks=None if checks is None else [CheckResult.model_validate(check) for check in checks],
        answer=result.get("answer", ""),
        error=session.error,
    )
