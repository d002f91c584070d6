"""Estimate, start, cancel and requeue bisections. Every probe is an ordinary replay session."""

from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from django.db import transaction

from diffing import queries as diffs
from replay.bisection import findings, judging, queries, scheduler
from replay.bisection.core import search
from replay.bisection.core.schemas import BisectPlan, BisectPreview, BisectRequest, ForkStep
from replay.checks import checks
from replay.checks.pass_rules import choice_problems
from replay.checks.schemas import CheckResult
from replay.core.errors import ReplayRefusal
from replay.core.plan import PlannedStep, PlanRefusal, UninterceptedTool
from replay.core.vocabulary import BisectionStatus, Engine
from replay.execution import task_names
from replay.models import Bisection
from replay.runners import consents
from replay.runners import queries as runners
from replay.sessions import prepare, services
from replay.sessions.schemas import ReplayRequest
from traces import enqueue
from traces.audit import audit_log
from traces.core.json_types import JSONValue
from traces.core.vocabulary import AuditAction, StepType
from traces.http.idempotency import Key, find_made, make_once
from traces.models import Run
from traces.runs import deleted_runs
from traces.runs.queries import find_run

_KIND: Final = "bisection"
# The number of turning points for which the effort is simulated.
_TURNING_POINTS: Final = 33


@dataclass(frozen=True, kw_only=True)
class _Preparation:
    """A run to bisect: its fork points, the cost of each one's answer, and the results of the recording."""

    run: Run
    forks: tuple[ForkStep, ...]
    costs: tuple[float | None, ...]
    check_results: tuple[CheckResult, ...]
    refusals: tuple[PlanRefusal, ...]
    warnings: tuple[str, ...]
    unintercepted_tools: tuple[UninterceptedTool, ...]


def preview(subject: BisectPreview) -> BisectPlan:
    """Estimate a bisection without running anything. Refusals are in the plan."""
    request = BisectRequest.model_validate(subject.model_dump(exclude={"run", "diff"}, exclude_unset=True))
    if problems := _own_refusals(request):
        return _plan(request, None, problems)
    try:
        run = find_run(subject.run) if subject.run is not None else failing_run(subject.diff or UUID(int=0), request)
    except ReplayRefusal as refusal:
        return _plan(request, None, [PlanRefusal(code=refusal.code, detail=str(refusal), where=refusal.where)])
    return _plan(request, _prepare(run, request), [])


def failing_run(diff_id: UUID, request: BisectRequest) -> Run:
    """The run of a diff that fails the checks; raises `ReplayRefusal` if not exactly one does."""
    report = diffs.find(diff_id)
    results = {run: judging.judge_recording(run, request) for run in (report.base, report.candidate)}
    failing_runs = [run for run, result in results.items() if not result.passes]
    if len(failing_runs) == 1:
        return failing_runs[0]
    outcome = "fail" if failing_runs else "pass"
    problem = next((result.problem for result in results.values() if result.problem), "")
    detail = problem or (
        f"both runs of this diff {outcome}; use checks or a question that distinguish them, or bisect one run"
    )
    raise ReplayRefusal(PlanRefusal(code="validation_error", detail=detail, where="/checks"))


def start(
    run: Run, request: BisectRequest, key: Key | None = None, diff_id: UUID | None = None, *, by: str = ""
) -> Bisection:
    """Start a bisection; raises `ReplayRefusal`. A repeated idempotency key returns the bisection that it started."""
    body = request.model_dump(mode="json", exclude_unset=True)
    fingerprint: JSONValue = [str(run.id), str(diff_id), body]
    if bisection_id := find_made(_KIND, key, fingerprint):
        return queries.find(bisection_id)
    for refusal in _own_refusals(request):
        raise ReplayRefusal(refusal)
    preparation = _prepare(run, request)
    for refusal in preparation.refusals:
        raise ReplayRefusal(refusal)
    if request.engine is Engine.AGENT:
        runners.require_online(run.app, tools=consents.tools_of_runner(preparation.unintercepted_tools))

    def make() -> str:
        deleted_runs.hold([run.id])
        forks = zip(preparation.forks, preparation.costs, strict=True)
        bisection = Bisection.objects.create(
            run=run,
            diff_id=diff_id,
            by=by,
            request={**body, "checks": [check.model_dump(mode="json") for check in request.checks]},
            forks=[[fork.sequence_no, fork.type, fork.name, cost] for fork, cost in forks],
            recorded=[result.model_dump(mode="json") for result in preparation.check_results],
        )
        audit_log.append(AuditAction.BISECTION_STARTED, bisection.id, by=by, run=str(run.id))
        transaction.on_commit(partial(_advance, bisection.id))
        return str(bisection.id)

    return queries.find(make_once(_KIND, key, fingerprint, make))


def cancel(bisection_id: UUID) -> Bisection:
    """Cancel the running probes and keep the findings so far. A finished bisection stays as it is."""
    with transaction.atomic():
        bisection = Bisection.objects.select_for_update().get(id=queries.find(bisection_id).id)
        if bisection.status == BisectionStatus.RUNNING:
            scheduler.end(bisection, BisectionStatus.CANCELLED, "it was cancelled.")
            scheduler.touch(bisection)
    for session in bisection.probes.filter(session__ended_at=None).values_list("session_id", flat=True):
        services.cancel(session)
    # Judge the cancelled probes.
    scheduler.advance(bisection_id)
    return queries.find(bisection_id)


def requeue_unfinished() -> int:
    """Continue bisections whose worker ended between two probes; returns how many start a probe."""
    running = list(Bisection.objects.filter(status=BisectionStatus.RUNNING).values_list("id", flat=True))
    return sum(_advance(bisection) for bisection in running)


def _is_own_call(step: PlannedStep, request: BisectRequest) -> bool:
    """Return whether a running agent makes this call itself, for which the server needs no provider."""
    return request.engine is Engine.AGENT and step.type is StepType.MODEL and "model" in request.policy.allow


def _advance(bisection_id: UUID) -> bool:
    sessions = scheduler.advance(bisection_id)
    for session in sessions:
        enqueue.send(task_names.EXECUTE, session)
    return bool(sessions)


def _prepare(run: Run, request: BisectRequest) -> _Preparation:
    recording = judging.judge_recording(run, request)
    replay_request = ReplayRequest(
        run=str(run.id),
        fork_step=request.first_step,
        overrides=request.overrides,
        policy=request.policy,
        engine=request.engine,
    )
    plan = prepare.prepare(replay_request).plan
    live = [step for step in plan.steps if step.action == "live" or _is_own_call(step, request)]
    refusals = list(plan.refusals)
    if run.sealed_at is not None and recording.problem:
        refusals.append(PlanRefusal(code="validation_error", detail=recording.problem, where="/checks"))
    elif run.sealed_at is not None and recording.passes:
        by = "these checks" if request.question == "check" else f"its {recording.checks[0].name}"
        detail = f"the recorded run passes by {by}, so there is no failure to find"
        refusals.append(PlanRefusal(code="validation_error", detail=detail, where="/checks"))
    elif not refusals and not live:
        detail = "no step of this run can be regenerated: no provider is configured for its models"
        refusals.append(PlanRefusal(code="policy_conflict", detail=detail, where="/policy/allow"))
    if request.budget.max_cost_usd is not None and any(step.cost_usd is None for step in live):
        detail = "the price of some live calls is unknown, so a limit in dollars cannot be enforced; limit live calls"
        refusals.append(PlanRefusal(code="policy_conflict", detail=detail, where="/budget/max_cost_usd"))
    return _Preparation(
        run=run,
        costs=tuple(step.cost_usd for step in live),
        check_results=tuple(recording.checks),
        refusals=tuple(refusals),
        forks=tuple(ForkStep(sequence_no=step.sequence_no, type=step.type, name=step.name) for step in live),
        warnings=tuple(plan.warnings),
        unintercepted_tools=tuple(plan.unintercepted_tools),
    )


def _plan(request: BisectRequest, preparation: _Preparation | None, problems: list[PlanRefusal]) -> BisectPlan:
    """The plan with the median and the maximum effort over possible turning points."""
    if preparation is None or not preparation.forks:
        refusals = [*problems, *(preparation.refusals if preparation else ())]
        return BisectPlan(
            run=preparation.run.id if preparation else None,
            forks=[],
            probes=0,
            most_probes=0,
            agent_starts=0,
            most_agent_starts=0,
            unintercepted_tools=list(preparation.unintercepted_tools) if preparation else [],
            live_calls=0,
            most_live_calls=0,
            cost_usd=None,
            most_cost_usd=None,
            recorded=list(preparation.check_results) if preparation else [],
            refusals=refusals,
            warnings=[],
        )
    count, settings = len(preparation.forks), findings.settings_of(request)
    costs = [cost or 0.0 for cost in preparation.costs]
    places = sorted({-1, count - 1, *(index * count // _TURNING_POINTS for index in range(_TURNING_POINTS))})
    efforts = sorted(
        (search.effort(count, settings, place, costs) for place in places), key=lambda effort: effort.calls
    )
    usual, most = efforts[len(efforts) // 2], efforts[-1]
    most_probes = max(effort.probes for effort in efforts)
    starts_per_probe = int(request.engine is Engine.AGENT)
    has_prices = None not in preparation.costs
    return BisectPlan(
        run=preparation.run.id,
        forks=list(preparation.forks),
        probes=usual.probes,
        most_probes=most_probes,
        agent_starts=starts_per_probe * usual.probes,
        most_agent_starts=starts_per_probe * most_probes,
        unintercepted_tools=list(preparation.unintercepted_tools),
        live_calls=usual.calls,
        most_live_calls=most.calls,
        cost_usd=usual.cost if has_prices else None,
        most_cost_usd=max(effort.cost for effort in efforts) if has_prices else None,
        recorded=list(preparation.check_results),
        refusals=list(preparation.refusals),
        warnings=list(preparation.warnings),
    )


def _own_refusals(request: BisectRequest) -> list[PlanRefusal]:
    """Problems of the request itself, regardless of the run."""
    problems = [(f"/checks/{index}", checks.problem(check)) for index, check in enumerate(request.checks)]
    if request.question == "check" and not request.checks:
        problems.append(("/checks", "add a check that a good run passes"))
    problems += choice_problems(request.question, request)
    for index, entry in enumerate(request.overrides.overrides):
        if entry.match.step is not None:
            detail = "a bisection forks at many steps, so its overrides must match by type, not by step"
            problems.append((f"/overrides/overrides/{index}/match/step", detail))
    refusals = [PlanRefusal(code="validation_error", detail=detail, where=path) for path, detail in problems if detail]
    if request.policy.order == "reuse":
        detail = "with `order: reuse` nothing is regenerated; use `reexecute`"
        refusals.append(PlanRefusal(code="policy_conflict", detail=detail, where="/policy/order"))
    return refusals
