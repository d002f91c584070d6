"""Answered tool calls by what must be equal in them, so that a new call is compared with few others."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from traces.core.canonical import digest
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason, StepStatus, StepType
from traces.models import Run, Step, ToolCall
from traces.signatures.call_shapes import CallShape, shape_of
from traces.signatures.ignore_rules import IgnoreRules
from traces.signatures.text_sketches import PLACES, read, sketch, written
from traces.storage import artifacts, bulk

LONGEST: Final = 2000  # characters of free text that are kept beside a call; of longer ones a mark is
_FARTHEST: Final = 100_000_000  # characters: nothing that can be recorded is longer
_KEY: Final = 32
_COLUMNS: Final = ("run", "sequence_no", "key", "length", "texts")
_MOST: Final = 20_000  # calls that are looked at for one
_TRIED: Final = 5
_NEXT: Final = "\x1e"  # as the break, white space, which no normalised text holds
_BREAK: Final = "\n"
# What a derived run took over is found in the run that it came from.
_ANSWERED: Final = Q(label=Label.LIVE) | Q(reason=Reason.LIVE_TOOL)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A call for which others like it are looked for; `under` is the digest of the ignore list that is for it."""

    app: str
    shape: CallShape
    under: str = ""

    @property
    def key(self) -> str:
        """What must be equal; under a list it begins with that list's mark."""
        plain = digest([self.app, self.shape.rigid])
        return f"{_mark(self.under)}{plain}"[:_KEY]

    @property
    def length(self) -> int:
        return sum(map(len, self.shape.texts))


def insert(app: str, run_id: UUID, calls: Iterable[tuple[int, str, JSONValue]]) -> None:
    """Make calls of a run found: each with its number, tool and arguments."""
    insert_all([(app, run_id, calls)])


def insert_all(runs: Iterable[tuple[str, UUID, Iterable[tuple[int, str, JSONValue]]]]) -> None:
    """The same for several runs: app, run, calls."""
    rows = (
        _row(run_id, number, Asked(app=app, shape=shape_of(tool, arguments)))
        for app, run_id, calls in runs
        for number, tool, arguments in calls
    )
    bulk.insert(ToolCall, _COLUMNS, rows)


def insert_of(run: Run) -> None:
    """Make the calls of a run that is being sealed found."""
    steps = Step.objects.filter(_ANSWERED, run_id=run.id, type=StepType.TOOL, status=StepStatus.OK)
    columns = ("sequence_no", "tool_name", "name", "input_ref")
    found = list(steps.exclude(output_ref="").order_by("sequence_no").values_list(*columns))
    if found:
        inputs = artifacts.available(ref for *_, ref in found if ref)
        known = ((no, tool or name, inputs.get(ref)) for no, tool, name, ref in found if not ref or ref in inputs)
        insert(run.app, run.id, known)


def insert_under(app: str, ignoring: IgnoreRules, runs: Collection[UUID]) -> None:
    """Make calls of sealed runs found under an ignore list as well: those that it is for, and each once."""
    steps = Step.objects.filter(_ANSWERED, run__in=runs, type=StepType.TOOL, status=StepStatus.OK)
    done = ToolCall.objects.filter(run=OuterRef("run"), sequence_no=OuterRef("sequence_no"))
    known = done.filter(key__startswith=_mark(ignoring.digest))
    waiting = steps.exclude(Exists(known)).exclude(output_ref="").exclude(input_ref="").order_by("id")
    found = [
        step
        for step in waiting.values_list("run_id", "sequence_no", "tool_name", "name", "input_ref")
        if ignoring.rules_for(StepType.TOOL, step[2] or step[3])
    ]
    for some in bulk.chunks(found):
        inputs = artifacts.available(ref for *_, ref in some)
        rows = []
        for run, number, tool, name, ref in some:
            if ref in inputs:
                kept = ignoring.reduce(StepType.TOOL, tool or name, inputs[ref])
                asked = Asked(app=app, shape=shape_of(tool or name, kept), under=ignoring.digest)
                rows.append(_row(run, number, asked))
        bulk.insert(ToolCall, _COLUMNS, rows)


def alike(asked: Asked, least: float, *, run: UUID | None = None) -> list[str]:
    """The texts of calls that agree in all that must be equal, and can be as similar as `least`; of one run or of all.

    The texts of a call are one text, as `joined` makes it.
    """
    shortest, longest = _lengths(asked, least)
    return _texts(asked, shortest, min(longest, LONGEST), run)


def marks_alike(asked: Asked, least: float) -> list[str]:
    """Of calls whose texts are too long to be kept: their marks, as `mark` makes them."""
    shortest, longest = _lengths(asked, least)
    return _texts(asked, max(shortest, LONGEST + 1), longest, None) if longest > LONGEST else []


def mark(asked: Asked) -> str:
    """What stands for long texts: their sketch and their length, by which it is found again."""
    return sketch(joined(asked.shape)) + written(asked.length)


def _lengths(asked: Asked, least: float) -> tuple[int, int]:
    """Of two texts with this similarity the shorter has at least this share of the longer one's characters."""
    share = least / (2 - least)
    return int(asked.length * share), min(int(asked.length / share) + 1, _FARTHEST) if share else _FARTHEST


def _texts(asked: Asked, shortest: int, longest: int, run: UUID | None) -> list[str]:
    given: list[Any] = [asked.key, shortest, longest]
    if run is not None:
        given.append(run.hex if connection.vendor == "sqlite" else run)
    with connection.cursor() as cursor:
        cursor.execute(_statement(within_run=run is not None), given)
        (texts,) = cursor.fetchone()
    return [] if texts is None else texts.split(_NEXT)


def places(asked: Asked, texts: str, *, run: UUID | None = None) -> list[tuple[UUID, int]]:
    """The runs and steps of the calls with exactly these texts, the newest first."""
    length = len(texts) - max(len(asked.shape.texts) - 1, 0)
    return _places(ToolCall.objects.filter(key=asked.key, length=length, texts=texts), run)


def places_of_mark(asked: Asked, found: str) -> list[tuple[UUID, int]]:
    """The runs and steps of the calls with long texts that have this mark, the newest first."""
    return _places(ToolCall.objects.filter(key=asked.key, length=read(found[PLACES:]), texts=found), None)


def _places(calls: QuerySet[ToolCall], run: UUID | None) -> list[tuple[UUID, int]]:
    if run is not None:
        calls = calls.filter(run=run)
    return list(calls.order_by("-id").values_list("run_id", "sequence_no")[:_TRIED])


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


def _row(run_id: UUID, number: int, asked: Asked) -> Sequence[Any]:
    texts = joined(asked.shape) if asked.length <= LONGEST else mark(asked)
    return run_id, number, asked.key, min(asked.length, _FARTHEST), texts


def _mark(under: str) -> str:
    """How keys under an ignore list begin."""
    return f"~{under[:8]}" if under else ""
