"""Estimate, start, cancel and requeue proofs."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.db import transaction

from diffing import queries as diffs
from diffing.models import DiffReport
from diffing.schemas.report import DiffStatus
from replay.checks import checks
from replay.checks.pass_rules import choice_problems, problem
from replay.core.errors import ReplayRefusal, SessionConflict
from replay.core.plan import PlanRefusal
from replay.core.vocabulary import Engine, ProofStatus
from replay.execution import task_names
from replay.live.matching_process import first_error_isolated
from replay.models import Proof, ProofProbe
from replay.proofs import driver, estimate, queries
from replay.proofs.core.schemas import ProofPlan, ProofRefusal, ProofRequest
from replay.proofs.counterfactual.outcomes import UnknownOutcome
from replay.runners import consents
from replay.runners import queries as runners
from replay.sessions import prepare, services
from replay.store.run_outcome import evaluated_conclusion, recorded_conclusions
from traces import enqueue
from traces.audit import audit_log
from traces.core.json_types import JSONValue
from traces.core.vocabulary import AuditAction
from traces.http.idempotency import Key, find_made, make_once
from traces.runs import deleted_runs

_KIND: Final = "proof"
_SIDES: Final = ("base", "candidate")
_CHECK_QUESTIONS: Final = frozenset({"check", "score"})
# Much longer than a probe takes.
_STALL_TIMEOUT: Final = timedelta(seconds=60)


def preview(diff_id: UUID, request: ProofRequest) -> ProofPlan:
    """Estimate the work and cost of a proof without running anything. Refusals are in the plan."""
    diff = _ready(diff_id)
    refusals = _refusals(diff, request)
    if refusals:
        tools = [] if request.engine is Engine.FOLLOW else estimate.unintercepted_tools(diff)
        return estimate.refusal_plan(request, refusals, tools)
    return estimate.plan(_draft_proof(diff, request), request)


def start(diff_id: UUID, request: ProofRequest, key: Key | None = None, *, by: str = "") -> Proof:
    """Start a proof; raises `ReplayRefusal`. A repeated idempotency key returns the proof that it started."""
    diff = _ready(diff_id)
    body = request.model_dump(mode="json", exclude_unset=True)
    fingerprint: JSONValue = [str(diff_id), body]
    if proof_id := find_made(_KIND, key, fingerprint):
        return queries.find(proof_id)
    for refusal in _refusals(diff, request):
        raise ReplayRefusal(PlanRefusal(code=refusal.code, detail=refusal.detail, where=refusal.where))
    if request.engine is Engine.AGENT:
        tools = consents.tools_of_runner(estimate.unintercepted_tools(diff))
        runners.require_online(diff.base.app, tools=tools)

    def make() -> str:
        deleted_runs.hold({diff.base_id, diff.candidate_id})
        checks_json = [check.model_dump(mode="json") for check in request.checks]
        proof = Proof.objects.create(
            diff=diff, by=by, request={**body, "checks": checks_json}, worked_at=datetime.now(UTC)
        )
        audit_log.append(AuditAction.PROOF_STARTED, proof.id, by=by, diff=str(diff_id), run=str(diff.candidate_id))
        transaction.on_commit(partial(enqueue.send, task_names.PROVE, proof.id))
        return str(proof.id)

    return queries.find(make_once(_KIND, key, fingerprint, make))


def cancel(proof_id: UUID) -> Proof:
    """Cancel a running proof and attach its findings so far to the report. A finished proof stays as it is."""
    proof = queries.find(proof_id)
    if proof.status == ProofStatus.RUNNING:
        driver.conclude(proof)
        for session in ProofProbe.objects.filter(proof=proof, session__ended_at=None).exclude(session=None):
            services.cancel(session.session_id or UUID(int=0))
    return queries.find(proof_id)


def requeue_unfinished(*, waiting_for: timedelta = _STALL_TIMEOUT) -> int:
    """Requeue proofs without recent progress and return how many. Repeating it is harmless."""
    now = datetime.now(UTC)
    late = Proof.objects.filter(status=ProofStatus.RUNNING, worked_at__lte=now - waiting_for)
    claims = [key for key in late.values_list("id", flat=True) if late.filter(id=key).update(worked_at=now)]
    for key in claims:
        enqueue.send(task_names.PROVE, key)
    return len(claims)


def _ready(diff_id: UUID) -> DiffReport:
    diff = diffs.find(diff_id)
    if diff.status != DiffStatus.READY:
        raise SessionConflict(f"the report {diff_id} is not ready; start the proof once it is")
    return diff


def _refusals(diff: DiffReport, request: ProofRequest) -> list[ProofRefusal]:
    """Problems of the request, of the runs, or of this question about them."""
    problems = [(f"/checks/{index}", checks.problem(check)) for index, check in enumerate(request.checks)]
    if request.question in _CHECK_QUESTIONS and not request.checks:
        problems.append(("/checks", f"the question `{request.question}` needs checks"))
    problems += choice_problems(request.question, request)
    invalid = [ProofRefusal(code="validation_error", detail=detail, where=path) for path, detail in problems if detail]
    problems_of_runs = _unfit(diff) or _without_agent(diff, request) or _without_consent(diff, request)
    return invalid or problems_of_runs or _unproducible(diff, request) or _unanswerable(diff, request)


def _unproducible(diff: DiffReport, request: ProofRequest) -> list[ProofRefusal]:
    """Refusals if replays cannot find out what the chosen judgements state; they name what would enable them."""
    runs = [diff.base, diff.candidate]
    rule = driver.rule_of(_draft_proof(diff, request), request)
    if rule is None:
        return []
    problems = [
        problem(rule, side, recording, evaluated_conclusion(rule, run.id, request.checks, first_error_isolated))
        for side, run, recording in zip(_SIDES, runs, recorded_conclusions(rule, runs), strict=True)
    ]
    return [ProofRefusal(code="validation_error", detail=detail, where="/checks") for detail in problems if detail]


def _unanswerable(diff: DiffReport, request: ProofRequest) -> list[ProofRefusal]:
    """A refusal if one of the runs lacks what the question is about."""
    if request.question not in {"status", *_CHECK_QUESTIONS, *driver.OUTCOME_QUESTIONS}:
        return []
    try:
        driver.probe_runner(_draft_proof(diff, request))
    except UnknownOutcome as unknown:
        return [ProofRefusal(code="validation_error", detail=str(unknown), where="/question")]
    return []


def _unfit(diff: DiffReport) -> list[ProofRefusal]:
    """Reasons why one of the runs cannot be replayed at all."""
    problems = [prepare.source_refusal(run) for run in (diff.base, diff.candidate)]
    return [
        ProofRefusal(code=problem.code, detail=problem.detail, where=problem.where)
        for problem in problems
        if problem is not None
    ]


def _without_agent(diff: DiffReport, request: ProofRequest) -> list[ProofRefusal]:
    """A refusal if no agent can run again for both runs."""
    if request.engine is Engine.FOLLOW or diff.base.app == diff.candidate.app:
        return []
    detail = (
        f"a runner starts the agent of one app, and these runs are of two: {diff.base.app} and {diff.candidate.app}"
    )
    return [ProofRefusal(code="policy_conflict", detail=detail, where="/engine")]


def _without_consent(diff: DiffReport, request: ProofRequest) -> list[ProofRefusal]:
    """A refusal if the agent would really run a tool that nobody has allowed."""
    if request.engine is Engine.FOLLOW:
        return []
    refusal = consents.refusal(estimate.unintercepted_tools(diff))
    return [] if refusal is None else [ProofRefusal(code=refusal.code, detail=refusal.detail, where=refusal.where)]


def _draft_proof(diff: DiffReport, request: ProofRequest) -> Proof:
    """A proof that is not stored, for estimates."""
    return Proof(diff=diff, request=request.model_dump(mode="json"))
