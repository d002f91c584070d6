"""Judgements that arrive after their run was sealed: they are added to it, and its content stays as it is."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.importers.common.run_builder import fit_judgements
from traces.ingest.judgement_rows import JudgementRow, row_of
from traces.judgements import services
from traces.models import Run, Step


def update(run_id: UUID, judgements: Sequence[JudgementRow], retractions: Sequence[JudgementRow]) -> None:
    """Add judgements to a sealed run, once each, and withdraw those that their source retracted."""
    if not judgements and not retractions:
        return
    with transaction.atomic():
        services.retract(run_id, retractions)
        services.add({run_id: judgements})
        services.notify_views([run_id])


def add_to_stored(run: RecordedRun) -> UUID | None:
    """Add the judgements of a run without steps to the sealed run with its external id; return that run.

    That run was recorded in another way, for example imported from a file.
    """
    candidates = Run.objects.filter(external_id=run.external_id, sealed_at__isnull=False, superseded_by__isnull=True)
    run_id = candidates.order_by("-id").values_list("id", flat=True).first()
    if run_id is None:
        return None
    numbers = dict(Step.objects.filter(run_id=run_id).values_list("external_id", "sequence_no"))
    update(run_id, _rows(run.judgements, numbers), _rows(run.retractions, numbers))
    return run_id


def _rows(judgements: Sequence[RecordedJudgement], numbers: dict[str, int]) -> list[JudgementRow]:
    return [row_of(judgement, numbers) for judgement in fit_judgements(judgements, numbers)]
