"""Planning, starting, stopping and resuming experiments. Every row is a replay session like any other."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction

from replay.checks import checks
from replay.core.errors import ReplayRefusal
from replay.core.plan import PlanRefusal
from replay.core.vocabulary import COMPLETED, SessionStatus
from replay.execution import event_log, task_names
from replay.experiments import queries, scheduler
from replay.experiments.core import matrix
from replay.experiments.core.schemas import CellPlan, ExperimentPlan, ExperimentRequest
from replay.models import Experiment, ExperimentRow, ReplaySession
from replay.saved_profiles import queries as library
from replay.sessions import create, prepare, services
from replay.sessions.schemas import ReplayRequest
from traces import enqueue
from traces.core.json_types import JSONValue
from traces.http.bodies import parse_body
from traces.http.idempotency import Key, find_made, make_once

_KIND: Final = "experiment"
_Planned = tuple[matrix.Cell, prepare.PreparedReplay]


def parse(body: JSONValue) -> ExperimentRequest:
    """A request from JSON; raises `InvalidReplay` naming the place."""
    return parse_body(ExperimentRequest, library.insert_documents(body))


def preview(request: ExperimentRequest) -> ExperimentPlan:
    """What the whole would do and cost; nothing runs."""
    refusals = _own_refusals(request)
    cells = [] if refusals else plan_cells(request)
    return _plan(request, cells, refusals or _refusals(cells))


def start(request: ExperimentRequest, key: Key | None = None) -> Experiment:
    """Start an experiment; raises `ReplayRefusal`. The same key again returns the one that it started."""
    asked = request.model_dump(mode="json", exclude_unset=True)
    if known := find_made(_KIND, key, asked):
        return queries.find(known)
    refusals = _own_refusals(request)
    cells = [] if refusals else plan_cells(request)
    for refusal in refusals or _refusals(cells):
        raise ReplayRefusal(refusal)

    def make() -> str:
        experiment = _create(request, cells)
        transaction.on_commit(partial(_queue_next, experiment.id))
        return str(experiment.id)

    return queries.find(make_once(_KIND, key, asked, make))


def cancel(experiment_id: UUID) -> Experiment:
    """Stop every session that has not ended; an experiment that is over stays as it is."""
    experiment = queries.find(experiment_id)
    unfinished = ExperimentRow.objects.filter(experiment=experiment, session__ended_at=None)
    sessions = list(unfinished.order_by("-number").values_list("session_id", flat=True))
    if sessions:
        Experiment.objects.filter(id=experiment_id, cancelled_at=None).update(cancelled_at=datetime.now(UTC))
    for session in sessions:  # the last first, so that none begins because another one stopped
        services.cancel(session)
    return queries.find(experiment_id)


def requeue_unfinished(queued: int = 0) -> int:
    """Go on with experiments whose worker is gone: rows whose turn it is, and finished ones without their result.

    Results are queued unless as many messages are `queued` already.
    """
    waiting = ExperimentRow.objects.filter(released=False, session__status=SessionStatus.PENDING)
    for experiment in set(waiting.values_list("experiment_id", flat=True)):
        _queue_next(experiment)
    # Whoever compares a session judges it as well: what is compared long ago, its worker ended in between.
    late = datetime.now(UTC) - timedelta(seconds=settings.TAKEOVER_S)
    unjudged = ExperimentRow.objects.filter(result=None, session__status__in=COMPLETED, session__compared_at__lte=late)
    sessions = list(unjudged.values_list("session_id", flat=True))
    if len(sessions) <= queued:
        return 0
    for session in sessions:
        enqueue.send(task_names.COMPARE, session)
    return len(sessions)


def _queue_next(experiment_id: UUID) -> None:
    for session in scheduler.release(experiment_id):
        enqueue.send(task_names.EXECUTE, session)


def _own_refusals(request: ExperimentRequest) -> list[PlanRefusal]:
    found = [(f"/checks/{at}", checks.problem(check)) for at, check in enumerate(request.checks)]
    wrong = [PlanRefusal(code="validation_error", detail=detail, where=where) for where, detail in found if detail]
    return [*matrix.refusals(request), *wrong]


def plan_cells(request: ExperimentRequest) -> list[_Planned]:
    """The plan of every cell. What they look up is read once."""
    source = prepare.Source(request.run, request.fork_step)
    return [(cell, source.prepare(_replay(request, cell), brief=True)) for cell in matrix.cells(request)]


def _replay(request: ExperimentRequest, cell: matrix.Cell) -> ReplayRequest:
    return ReplayRequest(run=request.run, fork_step=request.fork_step, overrides=cell.overrides, policy=request.policy)


def _refusals(cells: list[_Planned]) -> list[PlanRefusal]:
    """Of all cells, those that are the same once."""
    found = [matrix.relocated(refusal, cell) for cell, prepared in cells for refusal in prepared.plan.refusals]
    return list({(refusal.where, refusal.detail): refusal for refusal in found}.values())


def _plan(request: ExperimentRequest, planned: list[_Planned], refusals: list[PlanRefusal]) -> ExperimentPlan:
    cells = [
        CellPlan(
            cell=cell.number,
            settings=list(cell.settings),
            live_calls=prepared.plan.live_calls,
            cost_usd=prepared.plan.cost_usd,
            tokens=prepared.plan.tokens,
            warnings=prepared.plan.warnings,
        )
        for cell, prepared in planned
    ]
    costs = [cell.cost_usd for cell in cells]
    known = [cost for cost in costs if cost is not None]
    return ExperimentPlan(
        rows=matrix.size(request),
        cells=cells,
        live_calls=request.samples * sum(cell.live_calls for cell in cells),
        cost_usd=request.samples * sum(known) if len(known) == len(costs) else None,
        tokens=request.samples * sum(cell.tokens for cell in cells),
        refusals=refusals,
        warnings=list(dict.fromkeys(warning for cell in cells for warning in cell.warnings)),
    )


def _create(request: ExperimentRequest, planned: list[_Planned]) -> Experiment:
    first, budget = planned[0][1], request.budget
    places = matrix.places([cell for cell, _ in planned], request.samples)
    experiment = Experiment.objects.create(
        name=request.name or first.run.name,
        source_run=first.run,
        fork_sequence_no=first.fork,
        request=request.model_dump(mode="json", exclude_unset=True) | {"checks": _dumped(request)},
        parallel=request.parallel,
        max_live_calls=budget.max_live_calls,
        max_cost_usd=None if budget.max_cost_usd is None else Decimal(str(budget.max_cost_usd)),
        last_seq=len(places) + 1,
    )
    prepared = {cell.number: found for cell, found in planned}
    sessions = [_session(prepared[place.cell.number]) for place in places]
    ExperimentRow.objects.bulk_create(
        ExperimentRow(
            experiment=experiment,
            number=number,
            cell=place.cell.number,
            sample=place.sample,
            session=session,
            seq=number,
        )
        for number, (place, session) in enumerate(zip(places, sessions, strict=True), 1)
    )
    return experiment


def _dumped(request: ExperimentRequest) -> list[JSONValue]:
    return [check.model_dump(mode="json") for check in request.checks]


def _session(prepared: prepare.PreparedReplay) -> ReplaySession:
    session = create.create(prepared)
    event_log.append(session.id, "session")
    return session
