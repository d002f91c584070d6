"""Legal holds: of a run itself, or by the policy of its app or tag."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from traces.models import RetentionPolicy, Run, RunTag

Scope = tuple[str, str]


def stored_scopes() -> list[Scope]:
    """Return the app and the tag of each policy in force that holds its runs."""
    return list(RetentionPolicy.objects.filter(legal_hold=True).values_list("app", "tag"))


def runs_on_hold(runs: QuerySet[Run], scopes: Iterable[Scope]) -> QuerySet[Run]:
    """Return the runs under legal hold: of themselves, or of a policy of an app and tag."""
    condition = Q(mark__is_held=True)
    for app, tag in scopes:
        applies = Q(app=app) if app else Q(id__isnull=False)
        if tag:
            applies &= Q(Exists(RunTag.objects.filter(run=OuterRef("id"), tag=tag)))
        condition |= applies
    return runs.filter(condition)


def first_held(runs: QuerySet[Run], scopes: Iterable[Scope] | None = None) -> UUID | None:
    """Return one of these runs that is under legal hold, if any; `scopes` replace those in force."""
    scopes = stored_scopes() if scopes is None else scopes
    return runs_on_hold(runs, scopes).values_list("id", flat=True).first()


def is_held(run_id: UUID) -> bool:
    """Return whether a run is under legal hold."""
    return first_held(Run.objects.filter(id=run_id)) is not None
