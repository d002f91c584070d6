"""Imported replays and the runs that they replayed: found by the original's own id, whichever was imported first."""

from django.db.models import QuerySet

from traces.models import Run, RunTag

REPLAY_TAG = "kurral replay"  # given by the importer, and indexed


def original_of(run: Run) -> Run | None:
    """The run that an imported replay says it replayed, if it is here; of several the one of the same app."""
    external_id = _original_id(run)
    if not external_id:
        return None
    runs = list(Run.objects.filter(external_id=external_id).exclude(id=run.id).order_by("-id")[:10])
    return next((each for each in runs if each.app == run.app), runs[0] if runs else None)


def replays_of(run: Run) -> QuerySet[Run]:
    """The imported replays of a run, the newest first."""
    tagged = RunTag.objects.filter(tag=REPLAY_TAG).values("run")
    found = Run.objects.filter(id__in=tagged, metadata__replay_of__kurral_id=run.external_id)
    return found.exclude(id=run.id).order_by("-id")


def _original_id(run: Run) -> str:
    replayed = run.metadata.get("replay_of") if isinstance(run.metadata, dict) else None
    found = replayed.get("kurral_id") if isinstance(replayed, dict) else None
    return found if isinstance(found, str) else ""
