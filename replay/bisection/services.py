"""Pricing, starting, stopping and resuming bisections. Every probe is a replay session like any other."""

from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from django.db import transaction

from diffing import queries as diffs
from replay.bisection import findings, queries, scheduler
from replay.bisection.core import search
from replay.bisection.core.schemas import BisectPlan, BisectPreview, BisectRequest, ForkStep
from replay.checks import checks
from replay.checks.schemas import CheckResult
from replay.core.errors import ReplayRefusal
from replay.core.plan import PlanRefusal
from replay.core.vocabulary import BisectionStatus
from replay.execution import task_names
from replay.live.matching_process import first_error_isolated
from replay.models import Bisection
from replay.sessions import prepare, services
from replay.sessions.schemas import ReplayRequest
from replay.store.run_outcome import read_outcome
from traces import enqueue
from traces.core.json_types import JSONValue
from traces.http.idempotency import Key, find_made, make_once
from traces.models import Run
from traces.runs.queries import find_run

_KIND: Final = "bisection"
_TURNS: Final = 33  # places to turn at for which the effort is reckoned


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    """A request with its run, the steps from which can be answered afresh, and what each answer costs."""

    run: Run
    forks: tuple[ForkStep, ...]
    costs: tuple[float | None, ...]
    recorded: tuple[CheckResult, ...]
    refusals: tuple[PlanRefusal, ...]
    warnings: tuple[str, ...]


def preview(asked: BisectPreview) -> BisectPlan:
    """What it would take; nothing runs. Refusals are in the plan."""
    request = BisectRequest.model_validate(asked.model_dump(exclude={"run", "diff"}, exclude_unset=True))
    if problems := _own_refusals(request):
        return _plan(request, None, problems)
    try:
        run = find_run(asked.run) if asked.run is not None else failing_run(asked.diff or UUID(int=0), request)
    except ReplayRefusal as refused:
        return _plan(request, None, [PlanRefusal(code=refused.code, detail=str(refused), where=refused.where)])
    return _plan(request, _prepare(run, request), [])


def failing_run(diff_id: UUID, request: BisectRequest) -> Run:
    """That run of a diff which fails the checks; raises `ReplayRefusal` when it is not one of the two."""
    report = diffs.find(diff_id)
    failing = [run for run in (report.base, report.candidate) if not _passes(_recorded(run, request))]
    if len(failing) == 1:
        return failing[0]
    both = "both runs of this diff fail" if failing else "both runs of this diff pass"
    detail = f"{both} these checks: give checks that tell them apart, or bisect one of the runs"
    raise ReplayRefusal(PlanRefusal(code="validation_error", detail=detail, where="/checks"))


def start(run: Run, request: BisectRequest, key: Key | None = None, diff_id: UUID | None = None) -> Bisection:
    """Start a bisection; raises `ReplayRefusal`. The same key again returns the one that it started."""
    said = request.model_dump(mode="json", exclude_unset=True)
    asked: JSONValue = [str(run.id), str(diff_id), said]
    if known := find_made(_KIND, key, asked):
        return queries.find(known)
    for refusal in _own_refusals(request):
        raise ReplayRefusal(refusal)
    prepared = _prepare(run, request)
    for refusal in prepared.refusals:
        raise ReplayRefusal(refusal)

    def make() -> str:
        priced = zip(prepared.forks, prepared.costs, strict=True)
        bisection = Bisection.objects.create(
            run=run,
            diff_id=diff_id,
            request={**said, "checks": [check.model_dump(mode="json") for check in request.checks]},
            forks=[[fork.sequence_no, fork.type, fork.name, cost] for fork, cost in priced],
            recorded=[result.model_dump(mode="json") for result in prepared.recorded],
        )
        transaction.on_commit(partial(_go_on, bisection.id))
        return str(bisection.id)

    return queries.find(make_once(_KIND, key, asked, make))


def cancel(bisection_id: UUID) -> Bisection:
    """Stop the probes that run; what is known by then stays. One that is over stays as it is."""
    with transaction.atomic():
        bisection = Bisection.objects.select_for_update().get(id=queries.find(bisection_id).id)
        if bisection.status == BisectionStatus.RUNNING:
            scheduler.end(bisection, BisectionStatus.CANCELLED, "it was cancelled.")
            scheduler.touch(bisection)
    for session in bisection.probes.filter(session__ended_at=None).values_list("session_id", flat=True):
        services.cancel(session)
    scheduler.advance(bisection_id)  # judges what the cancelled probes left
    return queries.find(bisection_id)


def requeue_unfinished() -> int:
    """Go on with bisections whose worker ended between a probe and the next; how many begin something."""
    running = list(Bisection.objects.filter(status=BisectionStatus.RUNNING).values_list("id", flat=True))
    return sum(_go_on(bisection) for bisection in running)


def _go_on(bisection_id: UUID) -> bool:
    begun = scheduler.advance(bisection_id)
    for session in begun:
        enqueue.send(task_names.EXECUTE, session)
    return bool(begun)


def _prepare(run: Run, request: BisectRequest) -> _Prepared:
    recorded = _recorded(run, request)
    asked = ReplayRequest(
        run=str(run.id), fork_step=request.first_step, overrides=request.overrides, policy=request.policy
    )
    plan = prepare.prepare(asked).plan
    live = [step for step in plan.steps if step.action == "live"]
    refusals = list(plan.refusals)
    if run.sealed_at is not None and _passes(recorded):
        detail = "the run passes these checks as it was recorded: there is no failure to look for"
        refusals.append(PlanRefusal(code="validation_error", detail=detail, where="/checks"))
    elif not refusals and not live:
        detail = "no step of this run can be answered afresh: no configured provider answers for its models"
        refusals.append(PlanRefusal(code="policy_conflict", detail=detail, where="/policy/allow"))
    if request.budget.max_cost_usd is not None and any(step.cost_usd is None for step in live):
        detail = "the price of some live calls is not known, so no limit in dollars can hold: limit the live calls"
        refusals.append(PlanRefusal(code="policy_conflict", detail=detail, where="/budget/max_cost_usd"))
    return _Prepared(
        run=run,
        costs=tuple(step.cost_usd for step in live),
        recorded=tuple(recorded),
        refusals=tuple(refusals),
        forks=tuple(ForkStep(sequence_no=step.sequence_no, type=step.type, name=step.name) for step in live),
        warnings=tuple(plan.warnings),
    )


def _plan(request: BisectRequest, prepared: _Prepared | None, problems: list[PlanRefusal]) -> BisectPlan:
    """The effort for the places to turn at: the middle one of them, and the most."""
    if prepared is None or not prepared.forks:
        refusals = [*problems, *(prepared.refusals if prepared else ())]
        return BisectPlan(
            run=prepared.run.id if prepared else None,
            forks=[],
            probes=0,
            most_probes=0,
            live_calls=0,
            most_live_calls=0,
            cost_usd=None,
            most_cost_usd=None,
            recorded=list(prepared.recorded) if prepared else [],
            refusals=refusals,
            warnings=[],
        )
    count, settings = len(prepared.forks), findings.settings_of(request)
    costs = [cost or 0.0 for cost in prepared.costs]
    turns = sorted({-1, count - 1, *(at * count // _TURNS for at in range(_TURNS))})
    efforts = sorted((search.effort(count, settings, at, costs) for at in turns), key=lambda each: each.calls)
    usual, most = efforts[len(efforts) // 2], efforts[-1]
    known = None not in prepared.costs
    return BisectPlan(
        run=prepared.run.id,
        forks=list(prepared.forks),
        probes=usual.probes,
        most_probes=max(each.probes for each in efforts),
        live_calls=usual.calls,
        most_live_calls=most.calls,
        cost_usd=usual.cost if known else None,
        most_cost_usd=max(each.cost for each in efforts) if known else None,
        recorded=list(prepared.recorded),
        refusals=list(prepared.refusals),
        warnings=list(prepared.warnings),
    )


def _own_refusals(request: BisectRequest) -> list[PlanRefusal]:
    """What is wrong with the request itself, whatever the run is."""
    wrong = [(f"/checks/{at}", checks.problem(check)) for at, check in enumerate(request.checks)]
    for at, entry in enumerate(request.overrides.overrides):
        if entry.match.step is not None:
            detail = "a bisection forks at many steps, so its overrides match by type, not by step"
            wrong.append((f"/overrides/overrides/{at}/match/step", detail))
    found = [PlanRefusal(code="validation_error", detail=detail, where=where) for where, detail in wrong if detail]
    if request.policy.order == "reuse":
        detail = "with `order: reuse` nothing is answered afresh: say `reexecute`"
        found.append(PlanRefusal(code="policy_conflict", detail=detail, where="/policy/order"))
    return found


def _recorded(run: Run, request: BisectRequest) -> list[CheckResult]:
    return checks.apply(request.checks, read_outcome(run.id, request.checks), first_error_isolated)


def _passes(results: list[CheckResult]) -> bool:
    return all(result.passed for result in results)
