"""Unverified containers of a derived run: without an output of their own, around a step whose recording is lost."""

from collections.abc import Iterator
from uuid import UUID

from replay.resolution import lost_recordings
from replay.store.losses import inner_losses
from traces.core.vocabulary import Cause, Label, Reason
from traces.models import Step
from traces.payloads.lost_payloads import Loss, LostPayload


def weaken(run_id: UUID) -> Iterator[int]:
    """Label them by the steps inside; yield the number of each that had counted as exact."""
    exact_steps = Step.objects.filter(run_id=run_id, label=Label.EXACT)
    for no, loss in sorted(inner_losses(run_id, dict(_lost_outputs(run_id))).items()):
        detail, reason = lost_recordings.detail((loss,)), lost_recordings.reason((loss,))
        if exact_steps.filter(sequence_no=no).update(label=Label.SIMULATED, reason=reason, detail=detail):
            yield no


def _lost_outputs(run_id: UUID) -> Iterator[tuple[int, LostPayload]]:
    """The losses that placeholders of reused steps stand for."""
    placeholders = Step.objects.filter(run_id=run_id, reason=Reason.POLICY_FALLBACK, detail__why=Cause.ARTIFACT_MISSING)
    for no, detail in placeholders.values_list("sequence_no", "detail"):
        for loss in detail.get("unavailable", ()):
            if loss["field"] == "output":
                yield no, LostPayload(field="output", loss=Loss(loss["loss"]), digest=loss["digest"])
