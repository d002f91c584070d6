"""Steps that failed, over all runs, newest first."""

from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet

from traces.core.vocabulary import StepStatus
from traces.errors import InvalidQuery
from traces.models import Run, RunListing, Step
from traces.schemas import FailedStep, FailedStepList

MAX_LIMIT: Final = 200
_FAILURES: Final = (StepStatus.ERROR, StepStatus.TIMEOUT)
_COLUMNS: Final = ("run_id", "sequence_no", "type", "name", "tool_name", "model", "status", "started_at", "error")
# Characters; the step has the whole error.
_MAX_ERROR: Final = 500


class Place(NamedTuple):
    """The last step of a page."""

    run_id: UUID
    step: int


def parse_place(query: Mapping[str, str]) -> Place | None:
    """Parse the `cursor` of a page; raise `InvalidQuery`."""
    text = query.get("cursor", "")
    if not text:
        return None
    run, _, step = text.partition(".")
    try:
        return Place(UUID(run), int(step))
    except ValueError as error:
        raise InvalidQuery("the cursor is invalid: use `next` of the previous page", where="/cursor") from error


def page(runs: QuerySet[RunListing], *, after: Place | None, limit: int) -> FailedStepList:
    """Return failed steps of these runs: the newest runs first, and in each run the last step first.

    Only runs with failures are read, so a page needs at most two more of them than it has steps.
    """
    runs_with_failures = runs.filter(has_errors=True).order_by("-run")
    if after is not None:
        runs_with_failures = runs_with_failures.filter(run__lte=after.run_id)
    ids = list(runs_with_failures.values_list("run", flat=True)[: limit + 2])
    apps = {id: (name, app) for id, name, app in Run.objects.filter(id__in=ids).values_list("id", "name", "app")}
    steps = Step.objects.filter(run_id__in=list(apps), status__in=_FAILURES).order_by("-run_id", "-sequence_no")
    if after is not None:
        steps = steps.exclude(Q(run_id=after.run_id, sequence_no__gte=after.step))
    rows = list(steps.values(*_COLUMNS)[: limit + 1])
    last = rows[limit - 1] if len(rows) > limit else None
    return FailedStepList(
        steps=[_failed_step(row, *apps[row["run_id"]]) for row in rows[:limit]],
        next=f"{last['run_id']}.{last['sequence_no']}" if last else None,
    )


def _failed_step(row: Mapping[str, object], run_name: str, app: str) -> FailedStep:
    error = str(row["error"])[:_MAX_ERROR]
    columns = {name: row[name] for name in _COLUMNS if name not in {"run_id", "sequence_no", "error"}}
    return FailedStep.model_validate(
        columns | {"run": row["run_id"], "run_name": run_name, "app": app, "step": row["sequence_no"], "error": error}
    )
