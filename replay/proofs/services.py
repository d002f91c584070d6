"""Pricing, starting, stopping and resuming proofs."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.db import transaction

from diffing import queries as diffs
from diffing.models import DiffReport
from diffing.schemas.report import DiffStatus
from replay.checks import checks
from replay.core.errors import ReplayRefusal, SessionConflict
from replay.core.plan import PlanRefusal
from replay.core.vocabulary import ProofStatus
from replay.execution import task_names
from replay.models import Proof, ProofProbe
from replay.proofs import driver, estimate, queries
from replay.proofs.core.schemas import ProofPlan, ProofRefusal, ProofRequest
from replay.proofs.counterfactual.outcomes import Unknown
from replay.sessions import prepare, services
from traces import enqueue
from traces.core.json_types import JSONValue
from traces.http.idempotency import Key, find_made, make_once

_KIND: Final = "proof"
_CHECKED: Final = frozenset({"check", "score"})
_PATIENCE: Final = timedelta(seconds=60)  # far more than a probe takes


def preview(diff_id: UUID, request: ProofRequest) -> ProofPlan:
    """What it would do and cost; nothing runs. Refusals are in the plan."""
    diff = _ready(diff_id)
    refusals = _refusals(diff, request)
    return estimate.refused(request, refusals) if refusals else estimate.plan(_unsaved(diff, request), request)


def start(diff_id: UUID, request: ProofRequest, key: Key | None = None) -> Proof:
    """Start a proof; raises `ReplayRefusal`. The same key again returns the one that it started."""
    diff = _ready(diff_id)
    said = request.model_dump(mode="json", exclude_unset=True)
    asked: JSONValue = [str(diff_id), said]
    if known := find_made(_KIND, key, asked):
        return queries.find(known)
    for refusal in _refusals(diff, request):
        raise ReplayRefusal(PlanRefusal(code=refusal.code, detail=refusal.detail, where=refusal.where))

    def make() -> str:
        checked = [check.model_dump(mode="json") for check in request.checks]
        proof = Proof.objects.create(diff=diff, request={**said, "checks": checked}, worked_at=datetime.now(UTC))
        transaction.on_commit(partial(enqueue.send, task_names.PROVE, proof.id))
        return str(proof.id)

    return queries.find(make_once(_KIND, key, asked, make))


def cancel(proof_id: UUID) -> Proof:
    """Stop a proof; what is known by then is kept with the report. One that is over stays as it is."""
    proof = queries.find(proof_id)
    if proof.status == ProofStatus.RUNNING:
        driver.conclude(proof)
        for session in ProofProbe.objects.filter(proof=proof, session__ended_at=None).exclude(session=None):
            services.cancel(session.session_id or UUID(int=0))
    return queries.find(proof_id)


def requeue_unfinished(*, waiting_for: timedelta = _PATIENCE) -> int:
    """Go on with proofs that nobody got on with for a while; how many. Done twice it is done once."""
    now = datetime.now(UTC)
    late = Proof.objects.filter(status=ProofStatus.RUNNING, worked_at__lte=now - waiting_for)
    taken = [key for key in late.values_list("id", flat=True) if late.filter(id=key).update(worked_at=now)]
    for key in taken:
        enqueue.send(task_names.PROVE, key)
    return len(taken)


def _ready(diff_id: UUID) -> DiffReport:
    diff = diffs.find(diff_id)
    if diff.status != DiffStatus.READY:
        raise SessionConflict(f"the report {diff_id} is not ready: prove it when it is")
    return diff


def _refusals(diff: DiffReport, request: ProofRequest) -> list[ProofRefusal]:
    """What is wrong with the request, with the runs, or with asking this of them."""
    found = [(f"/checks/{at}", checks.problem(check)) for at, check in enumerate(request.checks)]
    if request.question in _CHECKED and not request.checks:
        found.append(("/checks", f"the question `{request.question}` needs checks"))
    wrong = [ProofRefusal(code="validation_error", detail=detail, where=where) for where, detail in found if detail]
    return wrong or _unfit(diff) or _unanswerable(diff, request)


def _unanswerable(diff: DiffReport, request: ProofRequest) -> list[ProofRefusal]:
    """Whether one of the runs itself does not hold what the question is about."""
    if request.question != "status" and request.question not in _CHECKED:
        return []
    try:
        driver.laboratory(_unsaved(diff, request))
    except Unknown as unknown:
        return [ProofRefusal(code="validation_error", detail=str(unknown), where="/question")]
    return []


def _unfit(diff: DiffReport) -> list[ProofRefusal]:
    """Why one of the runs cannot be replayed at all."""
    found = [prepare.source_refusal(run) for run in (diff.base, diff.candidate)]
    return [ProofRefusal(code=one.code, detail=one.detail, where=one.where) for one in found if one is not None]


def _unsaved(diff: DiffReport, request: ProofRequest) -> Proof:
    """A proof that is only thought of."""
    return Proof(diff=diff, request=request.model_dump(mode="json"))
