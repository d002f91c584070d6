"""Answered tool calls by what must be equal in them, so that a new call is compared with few others."""

from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Q

from traces import bulk, store
from traces.call_shapes import CallShape, shape_of
from traces.canonical import digest
from traces.json_types import JSONValue
from traces.models import Run, Step, ToolCall
from traces.vocabulary import Label, Reason, StepStatus, StepType

LONGEST: Final = 2000  # characters of free text; longer calls are hardly made again in other words
_COLUMNS: Final = ("run", "sequence_no", "key", "length", "texts")
_MOST: Final = 20_000  # calls that are looked at for one
_TRIED: Final = 5
_NEXT: Final = "\x1e"  # as the break, white space, which no normalised text holds
_BREAK: Final = "\n"
# What a derived run took over is found in the run that it came from.
_ANSWERED: Final = Q(label=Label.LIVE) | Q(reason=Reason.LIVE_TOOL)


def insert(app: str, run_id: UUID, calls: Iterable[tuple[int, str, JSONValue]]) -> None:
    """Make calls of a run found: each with its number, tool and arguments."""
    rows = [_row(app, run_id, number, shape_of(tool, arguments)) for number, tool, arguments in calls]
    bulk.insert(ToolCall, _COLUMNS, [row for row in rows if row is not None])


def insert_of(run: Run) -> None:
    """Make the calls of a run that is being sealed found."""
    steps = Step.objects.filter(_ANSWERED, run_id=run.id, type=StepType.TOOL, status=StepStatus.OK)
    columns = ("sequence_no", "tool_name", "name", "input_ref")
    found = list(steps.exclude(output_ref="").order_by("sequence_no").values_list(*columns))
    if found:
        inputs = store.available(ref for *_, ref in found if ref)
        known = ((no, tool or name, inputs.get(ref)) for no, tool, name, ref in found if not ref or ref in inputs)
        insert(run.app, run.id, known)


def alike(app: str, shape: CallShape, least: float, *, run: UUID | None = None) -> list[str]:
    """The texts of calls that agree in all that must be equal, and can be as similar as `least`; of one run or of all.

    The texts of a call are one text, as `joined` makes it.
    """
    length = sum(map(len, shape.texts))
    # Of two texts with this similarity the shorter has at least this share of the longer one's characters.
    share = least / (2 - least)
    longest = int(length / share) + 1 if share else LONGEST
    given: list[Any] = [_key(app, shape), int(length * share), min(longest, LONGEST)]
    if run is not None:
        given.append(run.hex if connection.vendor == "sqlite" else run)
    with connection.cursor() as cursor:
        cursor.execute(_statement(within_run=run is not None), given)
        (texts,) = cursor.fetchone()
    return [] if texts is None else texts.split(_NEXT)


def places(app: str, shape: CallShape, texts: str, *, run: UUID | None = None) -> list[tuple[UUID, int]]:
    """The runs and steps of the calls with exactly these texts, the newest first."""
    length = len(texts) - max(len(shape.texts) - 1, 0)
    found = ToolCall.objects.filter(key=_key(app, shape), length=length, texts=texts)
    if run is not None:
        found = found.filter(run=run)
    return list(found.order_by("-id").values_list("run_id", "sequence_no")[:_TRIED])


def joined(shape: CallShape) -> str:
    """The texts of a call, one a line."""
    return _BREAK.join(shape.texts).replace("\x00", "\ufffd")


def _statement(*, within_run: bool) -> str:
    """One row of joined texts: to make a row of each takes longer than to find and to compare them."""
    table = connection.ops.quote_name(ToolCall._meta.db_table)
    put = "group_concat(texts, char(30))" if connection.vendor == "sqlite" else "string_agg(texts, chr(30))"
    within = " AND run_id = %s" if within_run else ""
    return (
        f"SELECT {put} FROM (SELECT texts FROM {table} "
        f"WHERE key = %s AND length BETWEEN %s AND %s{within} LIMIT {_MOST}) AS found"
    )


def _row(app: str, run_id: UUID, number: int, shape: CallShape) -> Sequence[Any] | None:
    length = sum(map(len, shape.texts))
    if length > LONGEST:
        return None
    return run_id, number, _key(app, shape), length, joined(shape)


def _key(app: str, shape: CallShape) -> str:
    return digest([app, shape.rigid])[:32]
