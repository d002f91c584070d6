"""Drive proofs: any worker can continue one from its stored probes, until a probe waits for a session."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import pydantic
import structlog
from django.db import transaction

from diffing import services as diffing
from diffing.schemas.evidence import Findings
from diffing.sentences import proofs as proof_sentences
from diffing.sentences.findings import AssumptionKind
from diffing.sentences.proofs import assumption
from replay.checks.pass_rules import PassRule
from replay.core.errors import UnreadableAnswer
from replay.core.vocabulary import ProofStatus
from replay.live import outages, shutdown
from replay.live.matching_process import first_error_isolated
from replay.models import Proof, ProofProbe
from replay.proofs.changes import certificates
from replay.proofs.changes.code_origins import is_code_different, is_code_equal
from replay.proofs.core.schemas import ProofProgress, ProofRequest
from replay.proofs.core.types import Budget, Case, Side
from replay.proofs.counterfactual import outcomes
from replay.proofs.counterfactual.recording_detail import RecordingDetail, recording_detail
from replay.proofs.evidence.findings import findings
from replay.proofs.ladder.facts import Probe, ProbeRequest
from replay.proofs.ladder.ladder import Ladder
from replay.proofs.probes.agent_sessions import AgentStart
from replay.proofs.probes.probe_runner import ProbeRunner
from replay.proofs.probes.probe_sessions import PendingSessions
from replay.proofs.subject.subject import Subject, live_price, subject_of
from replay.store.run_outcome import pass_rule
from traces import notify
from traces.transitions import move

logger = structlog.get_logger("proof")

# The questions that an outcome rule or a judgement answers.
OUTCOME_QUESTIONS: Final = frozenset({"outcome", "judgement"})
_REQUESTS: Final[pydantic.TypeAdapter[ProofRequest]] = pydantic.TypeAdapter(ProofRequest)


def advance_after(session_id: UUID) -> list[UUID]:
    """Return the proofs that can continue now that this session has stopped."""
    probes = ProofProbe.objects.filter(session_id=session_id, proof__status=ProofStatus.RUNNING)
    waiting = ProofProbe.objects.exclude(session=None).filter(session__ended_at=None).values("proof_id")
    return list(probes.exclude(proof_id__in=waiting).values_list("proof_id", flat=True).distinct())


def advance(proof_id: UUID) -> list[UUID]:
    """Run probes until one needs a live session; returns the sessions to queue."""
    running = Proof.objects.filter(id=proof_id, status=ProofStatus.RUNNING)
    proof = running.select_related("diff__base", "diff__candidate").first()
    if proof is None:
        return []
    try:
        return _climb(proof)
    except UnreadableAnswer as error:
        _end(proof, ProofStatus.FAILED, error=str(error))
        return []
    except Exception as error:
        if outages.is_outage(error):
            raise
        logger.exception("proof_failed", proof=str(proof_id))
        _end(
            proof,
            ProofStatus.FAILED,
            error=f"internal error: {error or type(error).__name__}; the server log has the details",
        )
        raise


def conclude(proof: Proof) -> None:
    """End a cancelled proof with its findings so far."""
    result = None
    # Without the starts of the unchanged agent, nothing is known yet.
    with suppress(PendingSessions):
        ladder = ladder_of(proof, stored_only=True)
        with suppress(PendingSessions):
            for _ in ladder.run():
                pass
        ladder.cancel()
        result = findings(ladder)
    _end(proof, ProofStatus.CANCELLED, result=result)


def request_of(proof: Proof) -> ProofRequest:
    return _REQUESTS.validate_python(proof.request)


def case_of(subject: Subject, prober: ProbeRunner, start: AgentStart) -> Case:
    """Return the difference to explain, with everything the ladder needs to know in advance."""
    sides: tuple[Side, Side] = ("base", "candidate")
    calls, cost = live_price(subject)
    kind = prober.question.kind
    atoms = certificates.valid_for(subject.atoms, kind)
    is_rerun = subject.lattice or prober.agent is not None
    detail = RecordingDetail() if is_rerun else recording_detail(subject.examination)
    return Case(
        question=prober.question,
        atoms=atoms,
        differs=prober.values["base"] != prober.values["candidate"],
        is_sampled=subject.is_sampled,
        chance=certificates.chance(subject.examination, atoms, kind, lattice=subject.lattice),
        one_space=subject.lattice or start.home is not None,
        runs_agent=prober.agent is not None,
        # The agent that a runner starts has one version of the code.
        other_code=prober.agent is None and not subject.lattice and is_code_different(subject.examination),
        same_code=is_code_equal(subject.examination),
        lacks_models=detail.lacks_models,
        lacks_lookups=detail.lacks_lookups,
        home=start.home,
        obstacle=start.obstacle,
        features=(prober.question.text,),
        assumptions=_assumptions(subject, start, runs_agent=prober.agent is not None),
        live_calls=calls,
        live_cost_usd=cost,
        coarser=outcomes.coarser(kind),
        values={side: outcomes.values(kind, prober.recordings[side]) for side in sides},
        names={
            side: outcomes.describe(prober.question, prober.recordings[side], first_error_isolated) for side in sides
        },
    )


def probe_runner(proof: Proof, *, stored_only: bool = False) -> ProbeRunner:
    """The probe runner of a proof; with `stored_only` it returns stored results and runs nothing."""
    request = request_of(proof)
    subject = subject_of(proof.diff.base, proof.diff.candidate)
    question = outcomes.question(request.question, request.checks, request)
    return ProbeRunner(
        proof=proof,
        subject=subject,
        question=question,
        policy=request.policy,
        rule=rule_of(proof, request),
        stored_only=stored_only,
        engine=request.engine,
        has_budget=request.budget.live_calls != 0 and request.budget.cost_usd != 0,
    )


def rule_of(proof: Proof, request: ProofRequest) -> PassRule | None:
    """What passes or fails runs, if that is the question: as it was when the proof was started."""
    runs = [proof.diff.base, proof.diff.candidate]
    return pass_rule(request, runs, proof.created_at) if request.question in OUTCOME_QUESTIONS else None


def ladder_of(proof: Proof, *, stored_only: bool = False, is_draft: bool = False) -> Ladder:
    """The ladder of a proof. A draft starts no agent.

    Raises `PendingSessions` while the unchanged agent runs: the search depends on what it does.
    """
    request, prober = request_of(proof), probe_runner(proof, stored_only=stored_only)
    start = AgentStart()
    if prober.agent is not None:
        if not is_draft and prober.values["base"] != prober.values["candidate"]:
            start = prober.agent.begin(stored_only=stored_only)
        prober.agent.restrict_changes()
    budget = Budget(
        probes=request.budget.probes,
        live_calls=request.budget.live_calls,
        cost_usd=request.budget.cost_usd,
        repeats=request.budget.repeats,
    )
    return Ladder(
        case=case_of(prober.subject, prober, start),
        prober=prober,
        budget=budget,
        look_inside=request.parts,
        look_between=request.mediators,
        controls=[
            Probe(request=ProbeRequest(spec=spec, purpose="control"), result=result)
            for spec, result in start.controls.items()
        ],
    )


def _climb(proof: Proof) -> list[UUID]:
    try:
        ladder = ladder_of(proof)
    except PendingSessions as pending:
        _store_start(proof)
        return list(pending.sessions)
    stored_count = len(ladder.prober.rows) if isinstance(ladder.prober, ProbeRunner) else 0
    try:
        for number, step in enumerate(ladder.run(), 1):
            # Stored probes follow in milliseconds: what they show is known, and a cancellation can wait for them.
            if number <= stored_count:
                continue
            _store_progress(proof, ladder, step.stage)
            if not Proof.objects.filter(id=proof.id, status=ProofStatus.RUNNING).exists() or shutdown.is_requested():
                return []
    except PendingSessions as pending:
        _store_progress(proof, ladder, ladder.stage)
        return list(pending.sessions)
    # When the last of the cancelled sessions has ended, the proof continues here with the cost of all their calls.
    if isinstance(ladder.prober, ProbeRunner) and ladder.prober.cancel_ahead():
        return []
    _end(proof, ProofStatus.COMPLETED, result=findings(ladder))
    return []


def _store_start(proof: Proof) -> None:
    """Notify watchers that the agent is started, before anything is found out."""
    stage: Final = "controls"
    progress = ProofProgress(stage=stage, doing=proof_sentences.stage_activity(stage))
    with transaction.atomic():
        Proof.objects.filter(id=proof.id, status=ProofStatus.RUNNING).update(
            progress=progress.model_dump(mode="json"), worked_at=datetime.now(UTC)
        )
        notify.touch(f"diff.{proof.diff_id}")


def _store_progress(proof: Proof, ladder: Ladder, stage: str) -> None:
    """Store the progress and notify watchers."""
    calls, cost = ladder.spending()
    progress = ProofProgress(
        stage=ladder.stage,
        doing=proof_sentences.stage_activity(stage),
        probes=ladder.probe_count(),
        expected=expected(ladder),
        repeats=ladder.repeat_count(),
        live_calls=calls,
        cost_usd=cost,
    )
    with transaction.atomic():
        Proof.objects.filter(id=proof.id, status=ProofStatus.RUNNING).update(
            progress=progress.model_dump(mode="json"),
            findings=findings(ladder).model_dump(mode="json"),
            worked_at=datetime.now(UTC),
        )
        notify.touch(f"diff.{proof.diff_id}")


def expected(ladder: Ladder) -> int:
    """The maximum number of probes of the search if one change is the cause."""
    certificate_count = sum(atom.certificate is not None for atom in ladder.space.atoms)
    return min(ladder.budget.probes, max(2 * len(ladder.space.atoms) + 2 - certificate_count, ladder.probe_count()))


def _end(proof: Proof, status: ProofStatus, *, result: Findings | None = None, error: str = "") -> None:
    """Move the proof to an end state and attach its findings to the report."""
    columns: dict[str, Any] = {"error": error, "ended_at": datetime.now(UTC)}
    with transaction.atomic():
        row = Proof.objects.select_for_update().get(id=proof.id)
        if row.status != ProofStatus.RUNNING:
            return
        if result is not None:
            evidence = diffing.attach(proof.diff_id, result)
            columns |= {"findings": result.model_dump(mode="json"), "evidence_id": evidence.id}
            columns["progress"] = {**row.progress, "stage": "", "doing": ""}
        move(Proof.objects.filter(id=proof.id), ProofStatus.RUNNING, status, **columns)
        notify.touch(f"diff.{proof.diff_id}")


def _assumptions(subject: Subject, start: AgentStart, *, runs_agent: bool) -> tuple[str, ...]:
    kinds = [AssumptionKind.AGENT_RAN] if runs_agent and not start.obstacle else []
    kinds.append(AssumptionKind.OUTSIDE)
    if start.home is not None:
        kinds.append(AssumptionKind.ONE_PROGRAM)
    elif not subject.lattice:
        kinds.append(AssumptionKind.SEPARATE)
    if subject.is_sampled:
        kinds.append(AssumptionKind.PROVIDERS)
    return tuple(map(assumption, kinds))
