"""Getting on with a proof: any worker can, from the stored probes alone, as far as no session is under way."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import pydantic
import structlog
from django.db import transaction

from diffing import services as diffing
from diffing.schemas.evidence import Findings
from diffing.sentences.findings import AssumptionKind
from diffing.sentences.proofs import assumption
from replay.core.vocabulary import ProofStatus
from replay.live import outages, shutdown
from replay.live.matching_process import first_error_isolated
from replay.models import Proof, ProofProbe
from replay.proofs.changes import certificates
from replay.proofs.core.schemas import ProofProgress, ProofRequest
from replay.proofs.core.types import Budget, Case, Side
from replay.proofs.counterfactual import outcomes
from replay.proofs.evidence.findings import findings
from replay.proofs.ladder.ladder import Ladder
from replay.proofs.probes.probe_runner import ProbeRunner, Waits
from replay.proofs.subject.subject import Subject, live_price, subject_of
from traces import notify
from traces.transitions import move

logger = structlog.get_logger("proof")
_DOING: Final = {
    "noise": "Repeating both runs unchanged, to know what chance does",
    "search": "Making and reverting the changes",
    "shares": "Trying combinations",
    "parts": "Looking inside the cause",
    "mediators": "Following it step by step",
}
_REQUESTS: Final[pydantic.TypeAdapter[ProofRequest]] = pydantic.TypeAdapter(ProofRequest)


def advance_after(session_id: UUID) -> list[UUID]:
    """The proofs that can go on now that this session has stopped."""
    probes = ProofProbe.objects.filter(session_id=session_id, proof__status=ProofStatus.RUNNING)
    waiting = ProofProbe.objects.exclude(session=None).filter(session__ended_at=None).values("proof_id")
    return list(probes.exclude(proof_id__in=waiting).values_list("proof_id", flat=True).distinct())


def advance(proof_id: UUID) -> list[UUID]:
    """Make probes until one has to ask somebody; answers the sessions to queue."""
    running = Proof.objects.filter(id=proof_id, status=ProofStatus.RUNNING)
    proof = running.select_related("diff__base", "diff__candidate").first()
    if proof is None:
        return []
    try:
        return _climb(proof)
    except Exception as error:
        if outages.is_outage(error):
            raise
        logger.exception("proof_failed", proof=str(proof_id))
        _end(proof, ProofStatus.FAILED, error=f"{type(error).__name__}: {error}")
        raise


def conclude(proof: Proof) -> None:
    """End a cancelled proof with what is known by then."""
    ladder = ladder_of(proof, asks=False)
    with suppress(Waits):
        for _ in ladder.run():
            pass
    ladder.cancel()
    _end(proof, ProofStatus.CANCELLED, found=findings(ladder))


def request_of(proof: Proof) -> ProofRequest:
    return _REQUESTS.validate_python(proof.request)


def case_of(subject: Subject, lab: ProbeRunner) -> Case:
    """The question with everything that the ladder wants to know beforehand."""
    sides: tuple[Side, Side] = ("base", "candidate")
    calls, cost = live_price(subject)
    kind = lab.question.kind
    atoms = certificates.holding(subject.atoms, kind)
    return Case(
        question=lab.question,
        atoms=atoms,
        differs=lab.values["base"] != lab.values["candidate"],
        sampled=subject.sampled,
        chance=certificates.chance(subject.seen, atoms, kind, lattice=subject.lattice),
        one_space=subject.lattice,
        features=(lab.question.text,),
        assumptions=_assumptions(subject),
        live_calls=calls,
        live_cost_usd=cost,
        coarser=outcomes.coarser(kind),
        values={side: outcomes.values(kind, lab.recorded[side]) for side in sides},
        names={side: outcomes.said(lab.question, lab.recorded[side], first_error_isolated) for side in sides},
    )


def laboratory(proof: Proof, *, asks: bool = True) -> ProbeRunner:
    """The laboratory of a proof; one that does not ask only knows what is stored."""
    request = request_of(proof)
    subject = subject_of(proof.diff.base, proof.diff.candidate)
    question = outcomes.question(request.question, request.checks)
    return ProbeRunner(proof=proof, subject=subject, question=question, policy=request.policy, asks=asks)


def ladder_of(proof: Proof, *, asks: bool = True) -> Ladder:
    request, lab = request_of(proof), laboratory(proof, asks=asks)
    budget = Budget(
        probes=request.budget.probes,
        live_calls=request.budget.live_calls,
        cost_usd=request.budget.cost_usd,
        repeats=request.budget.repeats,
    )
    return Ladder(
        case=case_of(lab.subject, lab),
        lab=lab,
        budget=budget,
        look_inside=request.parts,
        look_between=request.mediators,
    )


def _climb(proof: Proof) -> list[UUID]:
    ladder = ladder_of(proof)
    known = len(ladder.lab.rows) if isinstance(ladder.lab, ProbeRunner) else 0
    try:
        for number, made in enumerate(ladder.run(), 1):
            if number > known:
                _tell(proof, ladder, made.stage)
            if not Proof.objects.filter(id=proof.id, status=ProofStatus.RUNNING).exists() or shutdown.is_requested():
                return []
    except Waits as waits:
        _tell(proof, ladder, ladder.stage)
        return list(waits.sessions)
    if isinstance(ladder.lab, ProbeRunner) and ladder.lab.call_off():
        return []  # the end of the last of them goes on here, and all of their calls are known by then
    _end(proof, ProofStatus.COMPLETED, found=findings(ladder))
    return []


def _tell(proof: Proof, ladder: Ladder, stage: str) -> None:
    """Store how far it is, for those who watch."""
    calls, cost = ladder.spent()
    progress = ProofProgress(
        stage=ladder.stage,
        doing=_DOING.get(stage, ""),
        probes=ladder.made(),
        expected=expected(ladder),
        repeats=ladder.repeats(),
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
    """How many probes the search takes at most where one change is the cause."""
    certified = sum(atom.certificate is not None for atom in ladder.space.atoms)
    return min(ladder.budget.probes, max(2 * len(ladder.space.atoms) + 2 - certified, ladder.made()))


def _end(proof: Proof, status: ProofStatus, *, found: Findings | None = None, error: str = "") -> None:
    """Leave the proof in an end state, with its findings attached to the report."""
    columns: dict[str, Any] = {"error": error, "ended_at": datetime.now(UTC)}
    with transaction.atomic():
        row = Proof.objects.select_for_update().get(id=proof.id)
        if row.status != ProofStatus.RUNNING:
            return
        if found is not None:
            evidence = diffing.attach(proof.diff_id, found)
            columns |= {"findings": found.model_dump(mode="json"), "evidence_id": evidence.id}
            columns["progress"] = {**row.progress, "stage": "", "doing": ""}
        move(Proof.objects.filter(id=proof.id), ProofStatus.RUNNING, status, **columns)
        notify.touch(f"diff.{proof.diff_id}")


def _assumptions(subject: Subject) -> tuple[str, ...]:
    found = [AssumptionKind.OUTSIDE]
    if not subject.lattice:
        found.append(AssumptionKind.SEPARATE)
    if subject.sampled:
        found.append(AssumptionKind.PROVIDERS)
    return tuple(map(assumption, found))
