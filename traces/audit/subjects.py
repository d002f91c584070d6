"""The runs that entries of the audit log are about, for the names that the log itself does not contain."""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from traces.core.json_types import JSONObject
from traces.core.schema import ForkChange
from traces.core.vocabulary import AuditAction
from traces.models import Run

# Where the detail of an entry names the run: of a report, its candidate.
_RUN_MEMBERS: Final = ("run", "candidate")
# Their subject is a run, unless several were imported at once.
_RUN_ACTIONS: Final = frozenset(
    {action for action in AuditAction if action.startswith("run_")}
    | {AuditAction.RUNS_IMPORTED, AuditAction.DELETION_REFUSED}
)


def run_of(action: str, subject: str, detail: JSONObject) -> UUID | None:
    """The run that an entry is about; None if it is about no run or several."""
    ids = [subject] if action in _RUN_ACTIONS else [detail.get(member) for member in _RUN_MEMBERS]
    return next((id for text in ids if isinstance(text, str) and (id := _uuid(text)) is not None), None)


def run_names(run_ids: Iterable[UUID]) -> Mapping[UUID, str]:
    """Return what each run is called in lists: its given name, change or recorded name. Deleted runs have none."""
    runs = Run.objects.filter(id__in={*run_ids}, deletion=None)
    rows = runs.values_list("id", "name", "caption__title", "caption__change")
    return {
        id: title or (name if change is None else ForkChange.model_validate(change).text)
        for id, name, title, change in rows
    }


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
