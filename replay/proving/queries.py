"""Reading proofs."""

from uuid import UUID

from diffing.evidence_schemas import Findings
from replay.models import Proof
from replay.proving.schemas import ProofList, ProofProgress, ProofRequest, ProofView
from traces.problems import NotFound
from traces.queries import as_uuid


def find(ref: str | UUID) -> Proof:
    """A proof by id; raises `NotFound`."""
    key = ref if isinstance(ref, UUID) else as_uuid(ref)
    found = Proof.objects.select_related("diff__base", "diff__candidate").filter(id=key).first() if key else None
    if found is None:
        raise NotFound(f"there is no proof {str(ref)!r}")
    return found


def of_diff(diff_id: UUID) -> ProofList:
    """The proofs on a report, the newest first."""
    return ProofList(
        proofs=[view(proof) for proof in Proof.objects.filter(diff=diff_id).order_by("-created_at", "-id")]
    )


def view(proof: Proof) -> ProofView:
    """How a proof is now."""
    begun = bool(proof.progress)
    return ProofView(
        id=proof.id, diff=proof.diff_id, status="pending" if proof.status == "running" and not begun else proof.status,
        request=ProofRequest.model_validate(proof.request),
        progress=ProofProgress.model_validate(proof.progress),
        findings=Findings.model_validate(proof.findings) if proof.findings is not None else None,
        evidence=proof.evidence_id, error=proof.error, created_at=proof.created_at, started_at=proof.created_at,
        ended_at=proof.ended_at,
    )  # fmt: skip
