"""Stored rows as the REST interface shows them."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from django.db.models import FloatField, QuerySet, TextField
from django.db.models.functions import Cast

from traces.models import Run, Step
from traces.schemas import LabelCounts, RunSummary
from traces.vocabulary import RunSource, RunStatus

# Plain columns come first, those that are worked out of columns last.
_PLAIN: Final = (
    "id", "sequence_no", "type", "name", "summary", "status", "label", "reason", "duration_ms", "provider", "model",
    "tool_name", "tokens_in", "tokens_out", "retries", "source_step",
)  # fmt: skip
STEP_COLUMNS: Final = (*_PLAIN, "parent_no", "started_at", "cost_usd")
_LISTED: Final = tuple(name for name in _PLAIN if name not in {"id", "source_step"})
StepDict = dict[str, Any]


def run_summary(run: Run) -> RunSummary:
    return RunSummary.model_construct(
        id=run.id, external_id=run.external_id, name=run.name, app=run.app, environment=run.environment,
        source=RunSource(run.source), format=run.format, status=RunStatus(run.status), started_at=run.started_at,
        ended_at=run.ended_at, created_at=run.created_at, sealed=run.sealed_at is not None, tags=run.tags,
        steps=run.step_count, errors=run.error_count, tokens_in=run.tokens_in, tokens_out=run.tokens_out,
        cost_usd=number(run.cost_usd), duration_ms=run.duration_ms, labels=label_counts(run),
        source_run=run.source_run_id, fork_sequence_no=run.fork_sequence_no, session_id=run.session_id,
    )  # fmt: skip


def label_counts(run: Run) -> LabelCounts:
    replayed = run.exact_count + run.cached_count + run.simulated_count
    return LabelCounts(
        live=max(0, run.step_count - replayed), exact=run.exact_count, cached=run.cached_count,
        simulated=run.simulated_count,
    )  # fmt: skip


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
        "id_text": Cast("id", TextField()), "source_text": Cast("source_step", TextField()),
        "time_text": Cast("started_at", TextField()), "cost": Cast("cost_usd", FloatField()),
    }  # fmt: skip
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


def number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
