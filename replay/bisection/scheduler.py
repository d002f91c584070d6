"""How a bisection goes on: probes that ended are judged, and those that are wanted next begin.

What comes next follows from the stored verdicts alone, so that any worker can go on where another one stopped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

import pydantic
from django.db import transaction
from django.db.models import QuerySet

from replay.bisection import findings
from replay.bisection.core import search
from replay.bisection.core.schemas import BisectRequest
from replay.checks import checks
from replay.checks.schemas import Check
from replay.core.vocabulary import COMPLETED, FINAL_STATUSES, BisectionStatus, ProbeVerdict
from replay.core.wording import NOT_FOLLOWED
from replay.execution import event_log
from replay.live.matching_process import first_error_isolated
from replay.models import Bisection, BisectionProbe, ReplaySession
from replay.overrides.policy import Budget
from replay.sessions import create, prepare
from replay.sessions.schemas import ReplayRequest
from replay.store.run_outcome import ANSWER_LIMIT, read_outcome
from traces import notify
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Reason, StepType
from traces.models import Step
from traces.transitions import move

_RACES: Final = 5
_ANSWERED: Final = (StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL)
_CHECKS: Final[pydantic.TypeAdapter[list[Check]]] = pydantic.TypeAdapter(list[Check])


@dataclass(frozen=True, kw_only=True)
class _Next:
    """Probes to begin at one place, each with what it may spend; none and `over`: the end, and why if it is early."""

    place: int = 0
    changed: bool = False
    count: int = 0
    calls: int | None = None
    cost_usd: float | None = None
    over: bool = False
    stopped: str = ""
    failed: bool = False


def advance_after(session_id: UUID) -> list[UUID]:
    """What is to be queued now that this session has stopped."""
    probe = BisectionProbe.objects.filter(session_id=session_id).values_list("bisection_id", flat=True).first()
    return [] if probe is None else advance(probe)


def advance(bisection_id: UUID) -> list[UUID]:
    """Judge what has ended and begin what is wanted; returns the sessions to queue."""
    for probe in _probes(bisection_id):
        if not probe.verdict and probe.session.status in FINAL_STATUSES:
            _judge(probe)
    for _ in range(_RACES):
        bisection = Bisection.objects.select_related("run").get(id=bisection_id)
        if bisection.status != BisectionStatus.RUNNING:
            return []
        following = _next(bisection, _probes(bisection_id))
        if not following.over and not following.count:
            return []
        planned = [_planned(bisection, following)] * following.count
        begun = _begin(bisection, following, planned)
        if begun is not None:
            return begun
    return []  # others are at it


def end(bisection: Bisection, status: BisectionStatus, why: str) -> None:
    """Leave a running bisection in an end state; `why` it ends early."""
    rows = Bisection.objects.filter(id=bisection.id)
    move(rows, BisectionStatus.RUNNING, status, error=why, ended_at=datetime.now(UTC))


def touch(bisection: Bisection) -> None:
    """Count a change, and wake the watchers."""
    bisection.last_seq += 1
    bisection.save(update_fields=["last_seq"])
    notify.touch(f"bisection.{bisection.id}")


def _begin(seen: Bisection, following: _Next, planned: Sequence[prepare.PreparedReplay]) -> list[UUID] | None:
    """Store what was decided; None when somebody else changed the bisection meanwhile."""
    with transaction.atomic():
        bisection = Bisection.objects.select_for_update().get(id=seen.id)
        if bisection.last_seq != seen.last_seq or bisection.status != BisectionStatus.RUNNING:
            return None
        if following.over:
            end(bisection, BisectionStatus.FAILED if following.failed else BisectionStatus.COMPLETED, following.stopped)
        begun = [_probe(bisection, following, prepared) for prepared in planned]
        touch(bisection)
    return begun


def _probe(bisection: Bisection, following: _Next, prepared: prepare.PreparedReplay) -> UUID:
    number = BisectionProbe.objects.filter(bisection=bisection).count() + 1
    here = BisectionProbe.objects.filter(bisection=bisection, place=following.place, changed=following.changed)
    session = create.create(prepared, is_probe=True)
    BisectionProbe.objects.create(
        bisection=bisection,
        number=number,
        place=following.place,
        changed=following.changed,
        sample=here.count() + 1,
        session=session,
    )
    event_log.append(session.id, "session")
    return session.id


def _next(bisection: Bisection, probes: Sequence[BisectionProbe]) -> _Next:
    request = findings.request_of(bisection)
    settings = findings.settings_of(request)
    found = findings.findings_of(bisection, settings, probes)
    running = [probe for probe in probes if not probe.verdict]
    want = search.wanted(found, settings)
    if want is None:
        return _Next() if running else _ended(found, settings, probes)
    tally = found.repeats if want.place is None else found.at(want.place)
    missing = min(want.samples - tally.clear - tally.running, request.parallel - len(running))
    if missing <= 0:
        return _Next()
    wanted = _Next(place=want.place or 0, changed=settings.changed and want.place is not None, count=missing)
    afforded = _afforded(bisection, request, wanted, probes)
    # What runs may still tell something; the end comes after it.
    return _Next() if afforded.over and running else afforded


def _ended(found: search.Findings, settings: search.Settings, probes: Sequence[BisectionProbe]) -> _Next:
    repeats = found.repeats if settings.changed else found.at(0)
    if repeats.clear:
        return _Next(over=True)
    why = next((probe.detail.get("note") for probe in probes if probe.detail.get("note")), "")
    return _Next(over=True, failed=True, stopped=f"No repeat ended so that it can be judged. {why}".strip())


def _afforded(bisection: Bisection, request: BisectRequest, wanted: _Next, probes: Sequence[BisectionProbe]) -> _Next:
    """As many of the wanted probes as the budget allows, each with its share of what is left."""
    budget = request.budget
    count = min(wanted.count, budget.max_probes - len(probes))
    if count <= 0:
        return _Next(over=True, stopped=f"the budget allows {budget.max_probes} probes.")
    calls = cost = None
    if budget.max_live_calls is not None:
        needed = len(bisection.forks) - wanted.place
        left = budget.max_live_calls - sum(map(_calls, probes))
        count = min(count, left // needed)
        if count <= 0:
            return _Next(
                over=True,
                stopped=f"{left} live calls of {budget.max_live_calls} are left, and the next probe takes {needed}.",
            )
        calls = left // count
    if budget.max_cost_usd is not None:
        free = budget.max_cost_usd - sum(map(_cost, probes))
        price = sum(item[3] or 0.0 for item in bisection.forks[wanted.place :])
        count = min(count, int(free / price)) if price > 0 else count
        if count <= 0 or free <= 0:
            return _Next(
                over=True,
                stopped=f"${free:.4f} of ${budget.max_cost_usd:g} are left, and the next probe takes ${price:.4f}.",
            )
        cost = free / count
    return _Next(place=wanted.place, changed=wanted.changed, count=count, calls=calls, cost_usd=cost)


def _calls(probe: BisectionProbe) -> int:
    """The live calls that a probe made, or may still make."""
    if probe.session.status in FINAL_STATUSES:
        return probe.session.live_calls
    return int(probe.session.policy["budget"]["max_live_calls"] or probe.session.live_calls)


def _cost(probe: BisectionProbe) -> float:
    if probe.session.status in FINAL_STATUSES:
        return float(probe.session.cost_usd or Decimal(0))
    return float(probe.session.policy["budget"]["max_cost_usd"] or probe.session.cost_usd or 0)


def _planned(bisection: Bisection, following: _Next) -> prepare.PreparedReplay:
    request = findings.request_of(bisection)
    budget = request.policy.budget
    limits = {
        "max_live_calls": _least(budget.max_live_calls, following.calls),
        "max_cost_usd": _least(budget.max_cost_usd, following.cost_usd),
    }
    policy = request.policy.model_copy(update={"budget": Budget.model_validate({**budget.model_dump(), **limits})})
    asked = ReplayRequest(run=str(bisection.run_id), fork_step=bisection.forks[following.place][0], policy=policy)
    if following.changed:
        asked = asked.model_copy(update={"overrides": request.overrides})
    return prepare.prepare(asked, brief=True)


def _least(one: float | None, other: float | None) -> float | None:
    given = [value for value in (one, other) if value is not None]
    return min(given, default=None)


def _judge(probe: BisectionProbe) -> None:
    """Store what the checks say of an ended probe; a second judgement of the same comes to the same."""
    verdict, detail = _verdict(probe)
    judged = BisectionProbe.objects.filter(id=probe.id, verdict="").update(verdict=verdict, detail=detail)
    if judged:
        with transaction.atomic():
            touch(Bisection.objects.select_for_update().get(id=probe.bisection_id))


def _verdict(probe: BisectionProbe) -> tuple[ProbeVerdict, JSONObject]:
    session = probe.session
    if session.status not in COMPLETED or session.run_id is None:
        return ProbeVerdict.UNCLEAR, {"note": session.error or f"the replay {session.status}"}
    asked = _CHECKS.validate_python(probe.bisection.request["checks"])
    outcome = read_outcome(session.run_id, asked)
    results = checks.apply(asked, outcome, first_error_isolated)
    detail: JSONObject = {
        "checks": [result.model_dump(mode="json") for result in results],
        "answer": outcome.answer[:ANSWER_LIMIT],
        "assumed": _placeholders(session.run_id, session.fork_sequence_no).count(),
    }
    if why := _untold(session.run_id, session):
        return ProbeVerdict.UNCLEAR, {**detail, "note": why}
    passed = all(result.passed for result in results)
    return ProbeVerdict.PASSED if passed else ProbeVerdict.FAILED, detail


def _untold(run_id: UUID, session: ReplaySession) -> str:
    """Why a probe says nothing, whatever its checks say: a model was not asked, or not followed."""
    models = Step.objects.filter(run_id=run_id, sequence_no__gte=session.fork_sequence_no, type=StepType.MODEL)
    unasked = models.exclude(reason__in=(Reason.LIVE_MODEL, Reason.OPERATOR_OVERRIDE))
    if (number := unasked.values_list("sequence_no", flat=True).order_by("sequence_no").first()) is not None:
        return f"step {number} was not answered afresh: nobody answered for its model"
    return next((text for text in session.divergences if NOT_FOLLOWED in text), "")


def _placeholders(run_id: UUID, fork: int) -> QuerySet[Step]:
    """Answers from the fork on that nobody gave."""
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork, type__in=_ANSWERED)
    return steps.filter(reason=Reason.POLICY_FALLBACK)


def _probes(bisection_id: UUID) -> list[BisectionProbe]:
    rows = BisectionProbe.objects.filter(bisection_id=bisection_id).select_related("session", "bisection")
    return list(rows.defer("session__plan", "session__planned").order_by("number"))
