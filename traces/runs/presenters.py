"""Convert stored rows to REST responses."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import orjson
from django.db.models import QuerySet
from django.db.models.fields.json import KeyTextTransform

from traces.captions.queries import Captions
from traces.core.json_access import as_string, list_or_single
from traces.core.recorded_run import PROBLEM
from traces.core.schema import LabelCounts
from traces.core.vocabulary import JudgementSource, Outcome, RunSource, RunStatus
from traces.models import Run, Step
from traces.schemas import RunSummary

# The fields of `StepSummary` that are columns, and that a database writes just as a response does.
PLAIN_FIELDS: Final = (
    "sequence_no",
    "type",
    "name",
    "summary",
    "status",
    "label",
    "reason",
    "provider",
    "model",
    "tool_name",
    "tokens_in",
    "tokens_out",
    "retries",
)
StepDict = dict[str, Any]
_TAGS: Final = ("tags", "tag.tags")


def with_summary_columns(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Select what `run_summary` reads: of the metadata, which may have megabytes, only the problem."""
    problem = KeyTextTransform(PROBLEM, "metadata")
    return runs.select_related("verdict", "mark").defer("metadata").annotate(**{PROBLEM: problem})


def run_summary(run: Run, captions: Captions) -> RunSummary:
    """Build a row of the list; select `verdict` and `mark` with the run."""
    verdict, mark = run.verdict, getattr(run, "mark", None)
    source = captions.get(run.source_run_id) if run.source_run_id else None
    return RunSummary.model_construct(
        **dict(captions[run.id].caption),
        id=run.id,
        external_id=run.external_id,
        revision=run.revision,
        supersedes=run.supersedes_id,
        name=run.name,
        app=run.app,
        environment=run.environment,
        source=RunSource(run.source),
        format=run.format,
        status=RunStatus(run.status),
        outcome=Outcome(verdict.outcome),
        outcome_basis=JudgementSource(verdict.basis) if verdict.basis else None,
        outcome_reason=verdict.reason,
        started_at=run.started_at,
        ended_at=run.ended_at,
        created_at=run.created_at,
        sealed=run.sealed_at is not None,
        problem=_problem(run),
        is_pinned=mark is not None and mark.is_pinned,
        is_held=mark is not None and mark.is_held,
        tags=captions[run.id].tags,
        steps=run.step_count,
        errors=run.error_count,
        tokens_in=run.tokens_in,
        tokens_out=run.tokens_out,
        cost_usd=number(run.cost_usd),
        duration_ms=run.duration_ms,
        model=captions[run.id].model,
        labels=label_counts(run),
        source_run=run.source_run_id,
        source_outcome=source.outcome if source else None,
        source_answer=source.caption.answer if source else None,
        fork_sequence_no=run.fork_sequence_no,
        session_id=run.session_id,
    )


def _problem(run: Run) -> str:
    has_metadata = "metadata" not in run.get_deferred_fields()
    return as_string(run.metadata.get(PROBLEM) if has_metadata else getattr(run, PROBLEM))


def label_counts(run: Run) -> LabelCounts:
    replay_count = run.exact_count + run.cached_count + run.simulated_count
    return LabelCounts(
        live=max(0, run.step_count - replay_count),
        exact=run.exact_count,
        cached=run.cached_count,
        simulated=run.simulated_count,
    )


def step_summary(step: Step, started_at: datetime | None) -> StepDict:
    """Return a step of a run that started then, in the shape of `StepSummary`."""
    return {
        "id": step.id,
        "source_step": step.source_step,
        "parent": step.parent_no,
        "offset_ms": offset(step.started_at, started_at),
        "duration_ms": step.duration_ms,
        "cost_usd": number(step.cost_usd),
        **{name: getattr(step, name) for name in PLAIN_FIELDS},
    }


def offset(time: datetime | None, start: datetime | None) -> float | None:
    """Return the milliseconds from `start` to `time`."""
    return None if time is None or start is None else (time - start).total_seconds() * 1000


def end_of(start: datetime | None, duration_ms: float | None) -> datetime | None:
    """Return the end of a step; None if its start or duration is unknown."""
    if start is None or duration_ms is None:
        return None
    try:
        return start + timedelta(milliseconds=duration_ms)
    except OverflowError:  # after the year 9999
        return None


def tags_in(attributes: dict[str, Any]) -> list[str]:
    """Return the recorded tags of a step: a list, a single tag, or an object."""
    value: Any = next((attributes[name] for name in _TAGS if attributes.get(name)), [])
    if isinstance(value, dict):
        return [f"{key}:{item}" for key, item in value.items()]
    tags = list_or_single(value)
    return [tag if isinstance(tag, str) else orjson.dumps(tag).decode() for tag in tags]


def number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
