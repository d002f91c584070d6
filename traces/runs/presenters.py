"""Stored rows as the REST interface shows them."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import orjson
from django.db.models import FloatField, QuerySet, TextField
from django.db.models.functions import Cast

from traces.core.schema import LabelCounts
from traces.core.vocabulary import JudgementSource, Outcome, RunSource, RunStatus
from traces.models import Run, Step
from traces.schemas import RunSummary

# Plain columns come first, those that are worked out of columns last.
_PLAIN: Final = (
    "id",
    "sequence_no",
    "type",
    "name",
    "summary",
    "status",
    "label",
    "reason",
    "duration_ms",
    "provider",
    "model",
    "tool_name",
    "tokens_in",
    "tokens_out",
    "retries",
    "source_step",
)
STEP_COLUMNS: Final = (*_PLAIN, "parent_no", "started_at", "cost_usd")
_LISTED: Final = tuple(name for name in _PLAIN if name not in {"id", "source_step"})
StepDict = dict[str, Any]
_TAGS: Final = ("tags", "tag.tags")


def run_summary(run: Run) -> RunSummary:
    """One row of the list; select `verdict` with the run."""
    verdict = run.verdict
    return RunSummary.model_construct(
        id=run.id,
        external_id=run.external_id,
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
        tags=run.tags,
        steps=run.step_count,
        errors=run.error_count,
        tokens_in=run.tokens_in,
        tokens_out=run.tokens_out,
        cost_usd=number(run.cost_usd),
        duration_ms=run.duration_ms,
        labels=label_counts(run),
        source_run=run.source_run_id,
        fork_sequence_no=run.fork_sequence_no,
        session_id=run.session_id,
    )


def label_counts(run: Run) -> LabelCounts:
    replayed = run.exact_count + run.cached_count + run.simulated_count
    return LabelCounts(
        live=max(0, run.step_count - replayed),
        exact=run.exact_count,
        cached=run.cached_count,
        simulated=run.simulated_count,
    )


def step_dicts(rows: Iterable[Sequence[Any]], started_at: datetime | None) -> list[StepDict]:
    """Rows of `STEP_COLUMNS` in the shape of `StepSummary`; plain dicts, because there can be ten thousand."""
    width = len(_PLAIN)
    shown = []
    for row in rows:
        step = dict(zip(_PLAIN, row, strict=False))
        step["parent"], started, cost = row[width:]
        step["offset_ms"] = offset(started, started_at)
        step["cost_usd"] = number(cost)
        shown.append(step)
    return shown


def listed_steps(found: QuerySet[Step], started_at: datetime | None) -> list[StepDict]:
    """The steps of a query in the shape of `StepSummary`.

    The database writes ids, times and costs as text and numbers: making objects of them only to write them again
    would take most of the time.
    """
    texts = {
        "id_text": Cast("id", TextField()),
        "source_text": Cast("source_step", TextField()),
        "time_text": Cast("started_at", TextField()),
        "cost": Cast("cost_usd", FloatField()),
    }
    rows = found.annotate(**texts).values_list(*_LISTED, *texts, "parent_no")
    width = len(_LISTED)
    shown = []
    for row in rows:
        step = dict(zip(_LISTED, row, strict=False))
        key, source, time, step["cost_usd"], step["parent"] = row[width:]
        step["id"] = _dashed(key)
        step["source_step"] = _dashed(source) if source else None
        step["offset_ms"] = offset(_time(time), started_at) if time else None
        shown.append(step)
    return shown


def _dashed(key: str) -> str:
    """A UUID as everyone writes it; SQLite holds it without dashes."""
    return key if "-" in key else f"{key[:8]}-{key[8:12]}-{key[12:16]}-{key[16:20]}-{key[20:]}"


def _time(text: str) -> datetime:
    """A time as the database writes it: in UTC, which only PostgreSQL says."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def offset(time: datetime | None, start: datetime | None) -> float | None:
    """Milliseconds from `start`."""
    return None if time is None or start is None else (time - start).total_seconds() * 1000


def end_of(started: datetime | None, duration_ms: float | None) -> datetime | None:
    """When a step ended; None where its start or its duration is not known."""
    if started is None or duration_ms is None:
        return None
    try:
        return started + timedelta(milliseconds=duration_ms)
    except OverflowError:  # after the year 9999
        return None


def tags_in(attributes: dict[str, Any]) -> list[str]:
    """The tags that a recording gave to a step; a text or an object of them counts too."""
    given: Any = next((attributes[name] for name in _TAGS if attributes.get(name)), [])
    if isinstance(given, dict):
        return [f"{key}:{value}" for key, value in given.items()]
    listed = given if isinstance(given, list) else [given]
    return [tag if isinstance(tag, str) else orjson.dumps(tag).decode() for tag in listed]


def number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
