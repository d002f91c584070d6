"""What a rerun is of: facts about it that never change."""

from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from replay.models import Rerun


@dataclass(frozen=True, kw_only=True, slots=True)
class RerunSource:
    """The run that a rerun is of, and its app. `needs_exchanges`: the rerun may become a run of its own."""

    run_id: UUID
    app: str
    needs_exchanges: bool


@lru_cache(maxsize=256)
def source_of(rerun_id: UUID) -> RerunSource:
    """Return what a rerun is of."""
    columns = Rerun.objects.values_list("source_run_id", "source_run__app", "profile_id")
    run_id, app, profile_id = columns.get(id=rerun_id)
    return RerunSource(run_id=run_id, app=app, needs_exchanges=profile_id is not None)
