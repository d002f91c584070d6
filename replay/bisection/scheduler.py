"""Scheduler of bisections: judges probes that ended, and starts the next ones.

The next probes follow from the stored verdicts alone, so any worker can continue where another one stopped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from replay.bisection import findings, judging
from replay.bisection.core import search
from replay.bisection.core.schemas import BisectRequest
from replay.core.vocabulary import COMPLETED, FINAL_STATUSES, BisectionStatus, ProbeVerdict
from replay.core.wording import NOT_FOLLOWED
from replay.execution import event_log
from replay.models import Bisection, BisectionProbe, ReplaySession
from replay.overrides.policy import Budget
from replay.sessions import create, prepare
from replay.sessions.schemas import ReplayRequest
from replay.store.run_outcome import ANSWER_LIMIT
from traces import notify
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Reason, StepType
from traces.models import Step
from traces.transitions import move

_RACES: Final = 5
_CALL_TYPES: Final = (StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL)


@dataclass(frozen=True, kw_only=True)
class _NextStep:
    """The probes to start at one place, each with its allowance, or the end of the bisection (`is_end`).

    `stop_reason`: why it ends early.
    """

    place: int = 0
    changed: bool = False
    count: int = 0
    calls: int | None = None
    cost_usd: float | None = None
    is_end: bool = False
    stop_reason: str = ""
    failed: bool = False


def advance_after(session_id: UUID) -> list[UUID]:
    """The sessions to queue now that this session has stopped."""
    probe = BisectionProbe.objects.filter(session_id=session_id).values_list("bisection_id", flat=True).first()
    return [] if probe is None else advance(probe)


def advance(bisection_id: UUID) -> list[UUID]:
    """Judge the probes that ended and start the next ones; returns the sessions to queue."""
    for probe in _probes(bisection_id):
        if not probe.verdict and probe.session.status in FINAL_STATUSES:
            _judge(probe)
    for _ in range(_RACES):
        bisection = Bisection.objects.select_related("run").get(id=bisection_id)
        if bisection.status != BisectionStatus.RUNNING:
            return []
        next_step = _next(bisection, _probes(bisection_id))
        if not next_step.is_end and not next_step.count:
            return []
        replays = [_prepare(bisection, next_step)] * next_step.count
        sessions = _start(bisection, next_step, replays)
        if sessions is not None:
            return sessions
    # Other workers keep advancing it.
    return []


def end(bisection: Bisection, status: BisectionStatus, reason: str) -> None:
    """Move a running bisection to an end state; `reason` is why it ends early."""
    rows = Bisection.objects.filter(id=bisection.id)
    move(rows, BisectionStatus.RUNNING, status, error=reason, ended_at=datetime.now(UTC))


def touch(bisection: Bisection) -> None:
    """Increment the sequence number and wake the watchers."""
    bisection.last_seq += 1
    bisection.save(update_fields=["last_seq"])
    notify.touch(f"bisection.{bisection.id}")


def _start(snapshot: Bisection, next_step: _NextStep, replays: Sequence[prepare.PreparedReplay]) -> list[UUID] | None:
    """Store the decision and create its sessions; None if the bisection changed since the snapshot."""
    with transaction.atomic():
        bisection = Bisection.objects.select_for_update().get(id=snapshot.id)
        if bisection.last_seq != snapshot.last_seq or bisection.status != BisectionStatus.RUNNING:
            return None
        if next_step.is_end:
            status = BisectionStatus.FAILED if next_step.failed else BisectionStatus.COMPLETED
            end(bisection, status, next_step.stop_reason)
        sessions = [_create_probe(bisection, next_step, replay) for replay in replays]
        touch(bisection)
    return sessions


def _create_probe(bisection: Bisection, next_step: _NextStep, replay: prepare.PreparedReplay) -> UUID:
    number = BisectionProbe.objects.filter(bisection=bisection).count() + 1
    earlier = BisectionProbe.objects.filter(bisection=bisection, place=next_step.place, changed=next_step.changed)
    session = create.create(replay, is_probe=True)
    BisectionProbe.objects.create(
        bisection=bisection,
        number=number,
        place=next_step.place,
        changed=next_step.changed,
        sample=earlier.count() + 1,
        session=session,
    )
    event_log.append(session.id, "session")
    return session.id


def _next(bisection: Bisection, probes: Sequence[BisectionProbe]) -> _NextStep:
    request = findings.request_of(bisection)
    settings = findings.settings_of(request)
    tallies = findings.findings_of(bisection, settings, probes)
    running = [probe for probe in probes if not probe.verdict]
    samples = search.next_samples(tallies, settings)
    if samples is None:
        return _NextStep() if running else _end_of_search(tallies, settings, probes)
    tally = tallies.repeats if samples.place is None else tallies.at(samples.place)
    missing = min(samples.samples - tally.clear - tally.running, request.parallel - len(running))
    if missing <= 0:
        return _NextStep()
    changed = settings.changed and samples.place is not None
    ideal = _NextStep(place=samples.place or 0, changed=changed, count=missing)
    affordable = _affordable(bisection, request, ideal, probes)
    # Running probes may still change the result, so the end waits for them.
    return _NextStep() if affordable.is_end and running else affordable


def _end_of_search(tallies: search.Findings, settings: search.Settings, probes: Sequence[BisectionProbe]) -> _NextStep:
    repeats = tallies.repeats if settings.changed else tallies.at(0)
    if repeats.clear:
        return _NextStep(is_end=True)
    note = next((probe.detail.get("note") for probe in probes if probe.detail.get("note")), "")
    return _NextStep(is_end=True, failed=True, stop_reason=f"No repeat has a verdict. {note}".strip())


def _affordable(
    bisection: Bisection, request: BisectRequest, ideal: _NextStep, probes: Sequence[BisectionProbe]
) -> _NextStep:
    """As many of the probes as the budget allows, each with an equal share of the remaining budget."""
    budget = request.budget
    count = min(ideal.count, budget.max_probes - len(probes))
    if count <= 0:
        return _NextStep(is_end=True, stop_reason=f"the budget allows {budget.max_probes} replays.")
    calls = cost = None
    if budget.max_live_calls is not None:
        calls_per_probe = len(bisection.forks) - ideal.place
        remaining = budget.max_live_calls - sum(map(_calls, probes))
        count = min(count, remaining // calls_per_probe)
        if count <= 0:
            limit = budget.max_live_calls
            reason = f"{remaining} live calls of {limit} are left, and the next replay needs {calls_per_probe}."
            return _NextStep(is_end=True, stop_reason=reason)
        calls = remaining // count
    if budget.max_cost_usd is not None:
        free = budget.max_cost_usd - sum(map(_cost, probes))
        price = sum(item[3] or 0.0 for item in bisection.forks[ideal.place :])
        count = min(count, int(free / price)) if price > 0 else count
        if count <= 0 or free <= 0:
            reason = f"${free:.4f} of ${budget.max_cost_usd:g} are left, and the next replay needs ${price:.4f}."
            return _NextStep(is_end=True, stop_reason=reason)
        cost = free / count
    return _NextStep(place=ideal.place, changed=ideal.changed, count=count, calls=calls, cost_usd=cost)


def _calls(probe: BisectionProbe) -> int:
    """The live calls that a probe made or, while it runs, may make."""
    if probe.session.status in FINAL_STATUSES:
        return probe.session.live_calls
    return int(probe.session.policy["budget"]["max_live_calls"] or probe.session.live_calls)


def _cost(probe: BisectionProbe) -> float:
    if probe.session.status in FINAL_STATUSES:
        return float(probe.session.cost_usd or Decimal(0))
    return float(probe.session.policy["budget"]["max_cost_usd"] or probe.session.cost_usd or 0)


def _prepare(bisection: Bisection, next_step: _NextStep) -> prepare.PreparedReplay:
    request = findings.request_of(bisection)
    budget = request.policy.budget
    limits = {
        "max_live_calls": _tighter_limit(budget.max_live_calls, next_step.calls),
        "max_cost_usd": _tighter_limit(budget.max_cost_usd, next_step.cost_usd),
    }
    policy = request.policy.model_copy(update={"budget": Budget.model_validate({**budget.model_dump(), **limits})})
    fork = bisection.forks[next_step.place][0]
    replay = ReplayRequest(run=str(bisection.run_id), fork_step=fork, policy=policy, engine=request.engine)
    if next_step.changed:
        replay = replay.model_copy(update={"overrides": request.overrides})
    return prepare.prepare(replay, brief=True, verify=True)


def _tighter_limit(first: float | None, second: float | None) -> float | None:
    return min((limit for limit in (first, second) if limit is not None), default=None)


def _judge(probe: BisectionProbe) -> None:
    """Store the verdict of an ended probe, unless it has one; a second judgement would be the same."""
    verdict, detail = _verdict(probe)
    is_first = BisectionProbe.objects.filter(id=probe.id, verdict="").update(verdict=verdict, detail=detail)
    if is_first:
        with transaction.atomic():
            touch(Bisection.objects.select_for_update().get(id=probe.bisection_id))


def _verdict(probe: BisectionProbe) -> tuple[ProbeVerdict, JSONObject]:
    session = probe.session
    if session.status not in COMPLETED or session.run_id is None:
        return ProbeVerdict.UNCLEAR, {"note": session.error or f"the replay {session.status}"}
    result = judging.judge(session.run_id, findings.request_of(probe.bisection), judging.rule_of(probe.bisection))
    detail: JSONObject = {
        "checks": [check.model_dump(mode="json") for check in result.checks],
        "answer": result.answer[:ANSWER_LIMIT],
        "assumed": _placeholders(session.run_id, session.fork_sequence_no).count(),
    }
    if problem := _problem(session.run_id, session) or result.problem:
        return ProbeVerdict.UNCLEAR, {**detail, "note": problem}
    return ProbeVerdict.PASSED if result.passes else ProbeVerdict.FAILED, detail


def _problem(run_id: UUID, session: ReplaySession) -> str:
    """Why a probe has no verdict, regardless of its checks: a model did not answer, or was not followed."""
    models = Step.objects.filter(run_id=run_id, sequence_no__gte=session.fork_sequence_no, type=StepType.MODEL)
    not_regenerated = models.exclude(reason__in=(Reason.LIVE_MODEL, Reason.OPERATOR_OVERRIDE))
    if (number := not_regenerated.values_list("sequence_no", flat=True).order_by("sequence_no").first()) is not None:
        return f"step {number} was not re-run: no provider answered for its model"
    return next((text for text in session.divergences if NOT_FOLLOWED in text), "")


def _placeholders(run_id: UUID, fork: int) -> QuerySet[Step]:
    """Placeholder answers from the fork on."""
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork, type__in=_CALL_TYPES)
    return steps.filter(reason=Reason.POLICY_FALLBACK)


def _probes(bisection_id: UUID) -> list[BisectionProbe]:
    rows = BisectionProbe.objects.filter(bisection_id=bisection_id).select_related("session", "bisection")
    return list(rows.defer("session__plan", "session__planned").order_by("number"))
