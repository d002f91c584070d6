"""Unverified containers of a derived run: they have no output of their own, and a step inside is unreadable."""

from collections.abc import Iterator
from typing import Final
from uuid import UUID

from replay.resolution import lost_recordings
from replay.store.losses import inner_losses
from traces.core.vocabulary import Cause, Label, Reason
from traces.models import Step
from traces.payloads.lost_payloads import Loss, LostPayload
from traces.storage import bulk

_REASONS: Final = (Reason.POLICY_FALLBACK, Reason.SOURCE_OUTPUT_UNVERIFIED)


def weaken(run_id: UUID) -> list[int]:
    """Label them by the steps inside; return the numbers of those that had counted as exact."""
    losses = inner_losses(run_id, dict(_losses(run_id)))
    exact_steps = Step.objects.filter(run_id=run_id, label=Label.EXACT)
    containers = [step for chunk in bulk.chunks(losses) for step in exact_steps.filter(sequence_no__in=chunk)]
    for container in containers:
        container_losses = (losses[container.sequence_no],)
        container.label, container.reason = Label.SIMULATED, lost_recordings.reason(container_losses)
        container.detail = lost_recordings.detail(container_losses)
    Step.objects.bulk_update(containers, ["label", "reason", "detail"], batch_size=100)
    return sorted(container.sequence_no for container in containers)


def _losses(run_id: UUID) -> Iterator[tuple[int, LostPayload]]:
    """The first unreadable payload of each step, as its label states it."""
    steps = Step.objects.filter(run_id=run_id, reason__in=_REASONS, detail__why=Cause.ARTIFACT_MISSING)
    for no, detail in steps.values_list("sequence_no", "detail"):
        for loss in detail.get("unavailable", ())[:1]:
            yield no, LostPayload(field=loss["field"], loss=Loss(loss["loss"]), digest=loss["digest"])
