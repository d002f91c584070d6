"""Link imported replays to their original runs by the original's external id, in any order of import."""

from django.db.models import QuerySet

from traces.core.json_access import as_string, member
from traces.models import Run, RunTag
from traces.models.ordered_json import comparable
from traces.runs.deleted_runs import visible_runs

# Set by the importer; tags are indexed.
REPLAY_TAG = "kurral replay"


def original_of(run: Run) -> Run | None:
    """Return the original run of an imported replay, if it is stored here; of several, that of the same app."""
    external_id = _original_id(run)
    if not external_id:
        return None
    runs = list(visible_runs().filter(external_id=external_id).exclude(id=run.id).order_by("-id")[:10])
    return next((original for original in runs if original.app == run.app), runs[0] if runs else None)


def replays_of(run: Run) -> QuerySet[Run]:
    """Return the imported replays of a run, newest first."""
    replays = RunTag.objects.filter(tag=REPLAY_TAG).values("run")
    runs = visible_runs().alias(facts=comparable("metadata"))
    runs = runs.filter(id__in=replays, facts__replay_of__kurral_id=run.external_id)
    return runs.filter(superseded_by__isnull=True).exclude(id=run.id).order_by("-id")


def _original_id(run: Run) -> str:
    return as_string(member(run.metadata, "replay_of", "kurral_id"))
