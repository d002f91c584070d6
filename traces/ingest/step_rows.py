"""Steps as rows, and what a run's columns say about all of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
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
    unexplained: list[JSONValue] | None = None  # the last one: see `explained`


COLUMNS: Final = tuple(column.name for column in fields(StepRow))
# What a recording says of a step, in the order of its content digest, which is stored: without the ids that this store
# gives, what it computes, and the lineage of a derived run.
SAID: Final = (
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
_PLAIN: Final = frozenset({str, int, type(None)})
values_of: Final = attrgetter(*COLUMNS)
said_of: Final = attrgetter(*SAID)


def explained(row: StepRow, unexplained: list[JSONValue]) -> tuple[object, ...]:
    """The columns of a row with what its provenance left unexplained: in place of the last one."""
    return (*values_of(row)[:-1], unexplained)


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """What a run's columns say about its steps."""

    step_count: int
    error_count: int
    tokens_in: int
    tokens_out: int
    cost_usd: Decimal | None
    exact_count: int
    cached_count: int
    simulated_count: int
    first_start: datetime | None
    last_end: datetime | None


def totals(steps: Iterable[Any]) -> Totals:
    """Sums over steps or rows of steps.

    Containers often carry the sum of their children, so they count only where no other step says anything. The
    cost is that of the steps whose cost is known, and unknown where none is.
    """
    steps = list(steps)
    labels = [step.label for step in steps]
    return Totals(
        step_count=len(steps),
        error_count=sum(step.status in (StepStatus.ERROR, StepStatus.TIMEOUT) for step in steps),
        tokens_in=_sum(steps, "tokens_in") or 0,
        tokens_out=_sum(steps, "tokens_out") or 0,
        cost_usd=_sum(steps, "cost_usd"),
        exact_count=labels.count(Label.EXACT),
        cached_count=labels.count(Label.CACHED),
        simulated_count=labels.count(Label.SIMULATED),
        first_start=min((step.started_at for step in steps if step.started_at), default=None),
        last_end=max((end for step in steps if (end := _end(step))), default=None),
    )


def content_digest(said_of_run: JSONObject, steps: Iterable[Any]) -> str:
    """Names all that a recording says: equal recordings have equal digests, wherever they are stored."""
    rows: list[JSONValue] = [
        [value if type(value) in _PLAIN else plain(value) for value in said_of(step)] for step in steps
    ]
    said: JSONObject = {"run": digest(said_of_run), "columns": list(SAID), "steps": rows}
    try:
        # What `plain` makes is canonical as orjson writes it; checking that value by value takes five times as long.
        return digest_bytes(orjson.dumps(said, option=orjson.OPT_SORT_KEYS))
    except orjson.JSONEncodeError:
        return digest(said)  # says what is wrong, and where


def said_of_run(run: Any) -> JSONObject:
    """What a recording says of the run itself, for its content digest."""
    return {
        "external_id": run.external_id,
        "name": run.name,
        "app": run.app,
        "environment": run.environment,
        "format": run.format,
        "status": str(run.status),
        "tags": list(run.tags),
        "metadata": run.metadata,
        "started_at": plain(run.started_at),
        "ended_at": plain(run.ended_at),
    }


def totals_columns(sums: Totals, started: datetime | None, ended: datetime | None) -> dict[str, Any]:
    """The columns of a run that sum up its steps."""
    return {
        "step_count": sums.step_count,
        "error_count": sums.error_count,
        "tokens_in": sums.tokens_in,
        "tokens_out": sums.tokens_out,
        "cost_usd": sums.cost_usd,
        "exact_count": sums.exact_count,
        "cached_count": sums.cached_count,
        "simulated_count": sums.simulated_count,
        "duration_ms": (ended - started).total_seconds() * 1000 if started and ended and ended >= started else None,
    }


def _sum(steps: list[Any], column: str) -> Any:
    """The sum of what is known, None when nothing is."""
    for containers in (False, True):
        known = [
            value
            for step in steps
            if (step.type in _CONTAINERS) is containers and (value := getattr(step, column)) is not None
        ]
        if known:
            return sum(known)
    return None


def _end(step: Any) -> datetime | None:
    if step.started_at is None:
        return None
    started: datetime = step.started_at
    try:
        return started + timedelta(milliseconds=step.duration_ms or 0)
    except OverflowError:  # after the year 9999
        return None


def plain(value: Any) -> JSONValue:
    """A column as JSON, the same before and after the database has held it."""
    if isinstance(value, datetime):
        return str(value.timestamp())
    if isinstance(value, float):
        return str(value)  # a text is canonical as it is, where a number takes ten times as long
    if isinstance(value, Decimal):
        return f"{value:.8f}"
    if isinstance(value, dict):
        return _digest_of(orjson.dumps(value)) if value else ""
    kept: JSONValue = value
    return kept


@lru_cache(maxsize=1024)
def _digest_of(data: bytes) -> str:
    """The digest of a JSON value by its bytes: the many copies of a replay have the same detail."""
    return digest(orjson.loads(data))
