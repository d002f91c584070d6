"""Read proofs."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet

from diffing.schemas.evidence import Findings
from replay.core.vocabulary import Engine, ProofStatus
from replay.models import Proof, ProofProbe, ReplaySession
from replay.proofs.core.schemas import ProofList, ProofProgress, ProofRequest, ProofView
from replay.runners.queries import missing_runner
from traces.runs.queries import by_id


def find(ref: str | UUID) -> Proof:
    """Return a proof by id; raises `NotFound`."""
    return by_id(Proof.objects.select_related("diff__base", "diff__candidate"), ref, "proof")


def of_diff(diff_id: UUID) -> ProofList:
    """The proofs of a report, newest first."""
    return ProofList(
        proofs=[view(proof) for proof in Proof.objects.filter(diff=diff_id).order_by("-created_at", "-id")]
    )


def listed_rows() -> QuerySet[Proof]:
    """Return the proofs about runs that are not deleted."""
    runs = [f"diff__{side}" for side in ("base", "candidate")]
    rows = Proof.objects.filter(**{f"{run}__deletion__isnull": True for run in runs})
    large_fields = ("request", "progress", "findings", "diff__body", *(f"{run}__metadata" for run in runs))
    return rows.select_related(*(f"{run}__verdict" for run in runs)).defer(*large_fields)


def costs_of(proof_ids: Sequence[UUID]) -> dict[UUID, float | None]:
    """Return what the live calls of proofs cost so far; None if a part of it is unknown."""
    sessions = ProofProbe.objects.filter(proof__in=proof_ids, session__isnull=False)
    costs: dict[UUID, float | None] = dict.fromkeys(proof_ids, 0.0)
    for proof, _, cost in sessions.values_list("proof", "session", "session__cost_usd").distinct():
        total = costs[proof]
        costs[proof] = None if total is None or cost is None else total + float(cost)
    return costs


def view(proof: Proof) -> ProofView:
    """The current state of a proof. It is pending until its first progress is stored."""
    is_pending = proof.status == ProofStatus.RUNNING and not proof.progress
    request = ProofRequest.model_validate(proof.request)
    may_wait = proof.status == ProofStatus.RUNNING and request.engine is Engine.AGENT
    probes = ReplaySession.objects.filter(proof_probes__proof=proof)
    return ProofView(
        id=proof.id,
        diff=proof.diff_id,
        status=ProofStatus.PENDING if is_pending else proof.status,
        request=request,
        progress=ProofProgress.model_validate(proof.progress),
        findings=Findings.model_validate(proof.findings) if proof.findings is not None else None,
        evidence=proof.evidence_id,
        error=proof.error,
        waits_for=missing_runner(probes) if may_wait else "",
        created_at=proof.created_at,
        started_at=proof.created_at,
        ended_at=proof.ended_at,
    )
