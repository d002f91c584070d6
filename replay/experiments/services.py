"""Plan, start, cancel and requeue experiments. Every row is an ordinary replay session."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction

from replay.checks import checks
from replay.core.errors import ReplayRefusal
from replay.core.plan import PlanRefusal, UninterceptedTool
from replay.core.vocabulary import COMPLETED, Engine, SessionStatus
from replay.execution import event_log, task_names
from replay.experiments import queries, scheduler
from replay.experiments.core import matrix
from replay.experiments.core.schemas import CellPlan, ExperimentPlan, ExperimentRequest
from replay.models import Experiment, ExperimentRow
from replay.runners import consents
from replay.runners import queries as runners
from replay.saved_profiles import queries as library
from replay.sessions import create, prepare, services
from replay.sessions.schemas import ReplayRequest
from traces import enqueue
from traces.audit import audit_log
from traces.core.gc_pause import without_pauses
from traces.core.json_types import JSONValue
from traces.core.vocabulary import AuditAction
from traces.http.bodies import parse_body
from traces.http.idempotency import Key, find_made, make_once

_KIND: Final = "experiment"
_CellReplay = tuple[matrix.Cell, prepare.PreparedReplay]


def parse(body: JSONValue) -> ExperimentRequest:
    """Parse a request; raises `InvalidReplay` with the place of the problem."""
    return parse_body(ExperimentRequest, library.insert_documents(body))


# Between cells, a collection would scan the graph and payloads that they share; after the last, they are free.
@without_pauses()
def preview(request: ExperimentRequest) -> ExperimentPlan:
    """Plan the whole experiment and estimate its cost without running anything."""
    refusals = _own_refusals(request)
    cells = [] if refusals else plan_cells(request)
    return _plan(request, cells, refusals or _refusals(cells))


@without_pauses()
def start(request: ExperimentRequest, key: Key | None = None, *, by: str = "") -> Experiment:
    """Start an experiment; raises `ReplayRefusal`. A repeated idempotency key returns its experiment."""
    body = request.model_dump(mode="json", exclude_unset=True)
    if experiment_id := find_made(_KIND, key, body):
        return queries.find(experiment_id)
    refusals = _own_refusals(request)
    cells = [] if refusals else plan_cells(request, verify=True)
    for refusal in refusals or _refusals(cells):
        raise ReplayRefusal(refusal)
    if request.engine is Engine.AGENT:
        tools = consents.tools_of_runner(_unintercepted_tools(cells))
        runners.require_online(cells[0][1].run.app, tools=tools)

    def make() -> str:
        experiment = _create(request, cells, by)
        audit_log.append(
            AuditAction.EXPERIMENT_STARTED, experiment.id, by=by, replays=len(cells), run=str(experiment.source_run_id)
        )
        transaction.on_commit(partial(_queue_next, experiment.id))
        return str(experiment.id)

    return queries.find(make_once(_KIND, key, body, make))


def cancel(experiment_id: UUID) -> Experiment:
    """Cancel every session that has not ended; a finished experiment stays as it is."""
    experiment = queries.find(experiment_id)
    # Last rows first, so that cancelling one does not release the next.
    rows = ExperimentRow.objects.filter(experiment=experiment, session__ended_at=None).order_by("-number")
    sessions = list(rows.values_list("session_id", flat=True))
    if sessions:
        Experiment.objects.filter(id=experiment_id, cancelled_at=None).update(cancelled_at=datetime.now(UTC))
    for session in sessions:
        services.cancel(session)
    return queries.find(experiment_id)


def requeue_unfinished(queue_length: int = 0) -> int:
    """Continue experiments whose worker is gone: release rows, and requeue finished ones without a result.

    Results are requeued only if there are more of them than messages in the queue.
    """
    waiting = ExperimentRow.objects.filter(released=False, session__status=SessionStatus.PENDING)
    for experiment in set(waiting.values_list("experiment_id", flat=True)):
        _queue_next(experiment)
    # The worker that compares a session also judges it. A session compared long ago lost its worker in between.
    late = datetime.now(UTC) - timedelta(seconds=settings.TAKEOVER_S)
    rows = ExperimentRow.objects.filter(result=None, session__status__in=COMPLETED, session__compared_at__lte=late)
    sessions = list(rows.values_list("session_id", flat=True))
    if len(sessions) <= queue_length:
        return 0
    for session in sessions:
        enqueue.send(task_names.COMPARE, session)
    return len(sessions)


def _queue_next(experiment_id: UUID) -> None:
    for session in scheduler.release(experiment_id):
        enqueue.send(task_names.EXECUTE, session)


def _own_refusals(request: ExperimentRequest) -> list[PlanRefusal]:
    problems = [(f"/checks/{index}", checks.problem(check)) for index, check in enumerate(request.checks)]
    invalid = [PlanRefusal(code="validation_error", detail=detail, where=path) for path, detail in problems if detail]
    return [*matrix.refusals(request), *invalid]


def plan_cells(request: ExperimentRequest, *, verify: bool = False) -> list[_CellReplay]:
    """Plan every cell. Data that they share is read once."""
    source = prepare.Source(request.run, request.fork_step)
    return [(cell, source.prepare(_replay(request, cell), brief=True, verify=verify)) for cell in matrix.cells(request)]


def _replay(request: ExperimentRequest, cell: matrix.Cell) -> ReplayRequest:
    return ReplayRequest(
        run=request.run,
        fork_step=request.fork_step,
        overrides=cell.overrides,
        policy=request.policy,
        engine=request.engine,
    )


def _refusals(cells: list[_CellReplay]) -> list[PlanRefusal]:
    """The refusals of all cells, without duplicates."""
    refusals = [matrix.relocate(refusal, cell) for cell, replay in cells for refusal in replay.plan.refusals]
    return list({(refusal.where, refusal.detail): refusal for refusal in refusals}.values())


def _plan(request: ExperimentRequest, replays: list[_CellReplay], refusals: list[PlanRefusal]) -> ExperimentPlan:
    cells = [
        CellPlan(
            cell=cell.number,
            settings=list(cell.settings),
            live_calls=replay.plan.live_calls,
            cost_usd=replay.plan.cost_usd,
            tokens=replay.plan.tokens,
            warnings=replay.plan.warnings,
        )
        for cell, replay in replays
    ]
    costs = [cell.cost_usd for cell in cells]
    known_costs = [cost for cost in costs if cost is not None]
    return ExperimentPlan(
        rows=matrix.size(request),
        cells=cells,
        agent_starts=matrix.size(request) if request.engine is Engine.AGENT else 0,
        unintercepted_tools=_unintercepted_tools(replays),
        live_calls=request.samples * sum(cell.live_calls for cell in cells),
        cost_usd=request.samples * sum(known_costs) if len(known_costs) == len(costs) else None,
        tokens=request.samples * sum(cell.tokens for cell in cells),
        refusals=refusals,
        warnings=list(dict.fromkeys(warning for cell in cells for warning in cell.warnings)),
    )


def _unintercepted_tools(replays: list[_CellReplay]) -> list[UninterceptedTool]:
    """The tools that any cell's agent really runs: some may do so only where the model may answer differently."""
    return [*{tool.name: tool for _, replay in replays for tool in replay.plan.unintercepted_tools}.values()]


def _create(request: ExperimentRequest, replays: list[_CellReplay], by: str) -> Experiment:
    first, budget = replays[0][1], request.budget
    places = matrix.places([cell for cell, _ in replays], request.samples)
    experiment = Experiment.objects.create(
        name=request.name or first.run.name,
        source_run=first.run,
        fork_sequence_no=first.fork,
        request=request.model_dump(mode="json", exclude_unset=True) | {"checks": _dump_checks(request)},
        parallel=request.parallel,
        max_live_calls=budget.max_live_calls,
        max_cost_usd=None if budget.max_cost_usd is None else Decimal(str(budget.max_cost_usd)),
        last_seq=len(places) + 1,
        by=by,
    )
    by_cell = {cell.number: replay for cell, replay in replays}
    sessions = [create.create(by_cell[place.cell.number], by=by) for place in places]
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
    # After the rows: observers of the first message remember which experiment a session belongs to.
    for session in sessions:
        event_log.append(session.id, "session")
    return experiment


def _dump_checks(request: ExperimentRequest) -> list[JSONValue]:
    return [check.model_dump(mode="json") for check in request.checks]
