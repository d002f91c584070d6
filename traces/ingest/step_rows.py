"""Rows of steps, their totals for the run's columns, and the content digest of a run."""

from collections.abc import Iterable, Sequence
from dataclasses import field, fields
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

import orjson

from traces.core.canonical import digest, digest_bytes
from traces.core.ids import new_id
from traces.core.json_types import JSONObject, JSONValue
from traces.core.step_header import StoredHeader, step_view
from traces.core.vocabulary import Label, Reason, StepStatus, StepType

_CONTAINERS: Final = frozenset({StepType.AGENT, StepType.TURN})


@step_view
class StepRow(StoredHeader):
    """The columns of one step."""

    sequence_no: int
    label: Label
    id: UUID = field(default_factory=new_id)
    parent_no: int | None = None
    external_id: str = ""
    started_at: datetime | None = None
    reason: Reason | str = ""
    attributes_ref: str = ""
    detail: JSONObject = field(default_factory=dict)
    error: str = ""
    summary: str = ""
    cost_usd: Decimal | None = None
    retries: int = 0
    document_count: int | None = None
    source_step: UUID | None = None
    # Must be the last column: `values_with_content` replaces it.
    unexplained: list[JSONValue] | None = None


# What `totals` reads.
TOTALS_COLUMNS: Final = ("type", "status", "label", "tokens_in", "tokens_out", "cost_usd")
COLUMNS: Final = tuple(column.name for column in fields(StepRow))
# The recorded columns of a step, in the order of the content digest, which is stored: without generated ids, computed
# columns and the lineage of a derived run.
RECORDED_COLUMNS: Final = (
    "sequence_no",
    "type",
    "name",
    "status",
    "label",
    "parent_no",
    "external_id",
    "started_at",
    "duration_ms",
    "reason",
    "input_ref",
    "output_ref",
    "attributes_ref",
    "detail",
    "error",
    "provider",
    "model",
    "tool_name",
    "call_id",
    "tokens_in",
    "tokens_out",
    "tokens_cached",
    "cost_usd",
    "retries",
    "document_count",
)
# Positions of the recorded columns that are not texts or whole numbers.
_JSON_POSITIONS: Final = tuple(map(RECORDED_COLUMNS.index, ("started_at", "duration_ms", "detail", "cost_usd")))
values_of: Final = attrgetter(*COLUMNS)
recorded_values: Final = attrgetter(*RECORDED_COLUMNS)


def values_with_content(row: StepRow, content: list[JSONValue]) -> tuple[object, ...]:
    """Return the columns of a row with its unexplained content."""
    return (*values_of(row)[:-1], content)


@step_view
class Totals:
    """Totals over the steps of a run."""

    step_count: int
    error_count: int
    tokens_in: int
    tokens_out: int
    cost_usd: Decimal | None
    exact_count: int
    cached_count: int
    simulated_count: int


def totals(steps: Iterable[Any]) -> Totals:
    """Sum up steps or rows of steps.

    Containers often carry the sum of their children, and fail because one of them did, so they count only if no other
    step has a value or failed. The cost is that of the steps with a known cost, and None if there is none.
    """
    steps = list(steps)
    labels = [step.label for step in steps]
    groups = (
        [step for step in steps if step.type not in _CONTAINERS],
        [step for step in steps if step.type in _CONTAINERS],
    )
    return Totals(
        step_count=len(steps),
        error_count=next(filter(None, map(_failures, groups)), 0),
        tokens_in=_sum(groups, "tokens_in") or 0,
        tokens_out=_sum(groups, "tokens_out") or 0,
        cost_usd=_sum(groups, "cost_usd"),
        exact_count=labels.count(Label.EXACT),
        cached_count=labels.count(Label.CACHED),
        simulated_count=labels.count(Label.SIMULATED),
    )


def time_span(steps: Sequence[Any]) -> tuple[datetime | None, datetime | None]:
    """Return the first start and the last end of steps or rows of steps."""
    first_start = min((step.started_at for step in steps if step.started_at), default=None)
    return first_start, max((end for step in steps if (end := _end(step))), default=None)


def content_digest(content: JSONObject, steps: Iterable[Any]) -> str:
    """Return the digest of a recording, given its `run_content`. Equal recordings have equal digests in any store."""
    rows: list[JSONValue] = [_recorded_row(step) for step in steps]
    document: JSONObject = {"run": digest(content), "columns": list(RECORDED_COLUMNS), "steps": rows}
    try:
        # orjson writes the results of `to_json` in canonical form; checking every value takes five times as long.
        return digest_bytes(orjson.dumps(document, option=orjson.OPT_SORT_KEYS))
    except orjson.JSONEncodeError:
        # Raises an error that names the problem and its location.
        return digest(document)


def _recorded_row(step: Any) -> JSONValue:
    """Return the recorded columns of a step as JSON."""
    row = [*recorded_values(step)]
    for position in _JSON_POSITIONS:
        if row[position] is not None:
            row[position] = to_json(row[position])
    return row


def run_content(run: Any) -> JSONObject:
    """Return the recorded fields of the run itself, for its content digest."""
    return {
        "external_id": run.external_id,
        "name": run.name,
        "app": run.app,
        "environment": run.environment,
        "format": run.format,
        "status": str(run.status),
        "tags": list(run.tags),
        "metadata": run.metadata,
        "started_at": to_json(run.started_at),
        "ended_at": to_json(run.ended_at),
    }


def totals_columns(sums: Totals, start: datetime | None, end: datetime | None) -> dict[str, Any]:
    """Return the columns of a run that sum up its steps."""
    return {
        "step_count": sums.step_count,
        "error_count": sums.error_count,
        "tokens_in": sums.tokens_in,
        "tokens_out": sums.tokens_out,
        "cost_usd": sums.cost_usd,
        "exact_count": sums.exact_count,
        "cached_count": sums.cached_count,
        "simulated_count": sums.simulated_count,
        "duration_ms": (end - start).total_seconds() * 1000 if start and end and end >= start else None,
    }


def _failures(steps: Iterable[Any]) -> int:
    return sum(step.status in (StepStatus.ERROR, StepStatus.TIMEOUT) for step in steps)


def _sum(groups: Iterable[Sequence[Any]], column: str) -> Any:
    """Sum the values of a column in the first group that has any; None if none has."""
    read = attrgetter(column)
    for steps in groups:
        values = [value for step in steps if (value := read(step)) is not None]
        if values:
            return sum(values)
    return None


def _end(step: Any) -> datetime | None:
    if step.started_at is None:
        return None
    start: datetime = step.started_at
    try:
        return start + timedelta(milliseconds=step.duration_ms or 0)
    except OverflowError:  # after the year 9999
        return None


def to_json(value: Any) -> JSONValue:
    """Convert a column to JSON; the result is the same before and after a round trip through the database."""
    if isinstance(value, datetime):
        return str(value.timestamp())
    # As text, because canonicalizing a number takes ten times as long.
    if isinstance(value, float):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:.8f}"
    if isinstance(value, dict):
        return _digest_of(orjson.dumps(value)) if value else ""
    result: JSONValue = value
    return result


@lru_cache(maxsize=1024)
def _digest_of(data: bytes) -> str:
    """Return the digest of JSON bytes. Cached, because the copied steps of a replay have equal details."""
    return digest(orjson.loads(data))
