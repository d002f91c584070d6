"""Legal holds: of a run itself, or by the policy of its app or tag."""

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from traces.models import RetentionPolicy, Run, RunTag


def runs_on_hold(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return the runs under legal hold."""
    condition = Q(mark__is_held=True)
    for app, tag in RetentionPolicy.objects.filter(legal_hold=True).values_list("app", "tag"):
        applies = Q(app=app) if app else Q(id__isnull=False)
        if tag:
            applies &= Q(Exists(RunTag.objects.filter(run=OuterRef("id"), tag=tag)))
        condition |= applies
    return runs.filter(condition)


def first_held(runs: QuerySet[Run]) -> UUID | None:
    """Return one of these runs that is under legal hold, if any."""
    return runs_on_hold(runs).values_list("id", flat=True).first()


def is_held(run_id: UUID) -> bool:
    """Return whether a run is under legal hold."""
    return first_held(Run.objects.filter(id=run_id)) is not None
