"""Index of answered tool calls by their rigid part, so that a new call is compared with few others."""

from collections.abc import Collection, Iterable, Iterator, Sequence
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
from traces.signatures.text_sketches import PLACES, decode, encode, sketch
from traces.storage import artifacts, bulk

# Characters of free text that are stored with a call; longer texts are stored as a sketch.
MAX_TEXT: Final = 2000
# In characters: more than can be recorded.
_MAX_LENGTH: Final = 100_000_000
_KEY: Final = 32
_COLUMNS: Final = ("run", "sequence_no", "key", "length", "texts")
# Candidates per lookup.
_MAX_CANDIDATES: Final = 20_000
_MAX_PLACES: Final = 5
# Similarities that texts of other lengths do not reach. Each leaves twice as many lengths as the one before.
_CEILINGS: Final = (0.99, 0.98, 0.96, 0.92)
# Like the line break a white-space character, which normalized texts do not contain.
_SEPARATOR: Final = "\x1e"
_BREAK: Final = "\n"
# A call that a derived run copied is found in its source run.
_HAS_ANSWER: Final = Q(label=Label.LIVE) | Q(reason=Reason.LIVE_TOOL)


@dataclass(frozen=True, kw_only=True)
class CallQuery:
    """A call to search similar calls for; `rules_digest` names the ignore rules that apply to it."""

    app: str
    shape: CallShape
    rules_digest: str = ""

    @property
    def key(self) -> str:
        """The digest of the rigid part; under ignore rules it starts with their mark."""
        rigid = digest([self.app, self.shape.rigid])
        return f"{_mark(self.rules_digest)}{rigid}"[:_KEY]

    @property
    def length(self) -> int:
        return sum(map(len, self.shape.texts))


def insert(app: str, run_id: UUID, calls: Iterable[tuple[int, str, JSONValue]]) -> None:
    """Index calls of a run, each with its step number, tool and arguments."""
    insert_all([(app, run_id, calls)])


def insert_all(runs: Iterable[tuple[str, UUID, Iterable[tuple[int, str, JSONValue]]]]) -> None:
    """Index calls of several runs: app, run, calls."""
    rows = (
        _row(run_id, number, CallQuery(app=app, shape=shape_of(tool, arguments)))
        for app, run_id, calls in runs
        for number, tool, arguments in calls
    )
    bulk.insert(ToolCall, _COLUMNS, rows)


def insert_run(run: Run) -> None:
    """Index the calls of a run that is being sealed."""
    steps = Step.objects.filter(_HAS_ANSWER, run_id=run.id, type=StepType.TOOL, status=StepStatus.OK)
    columns = ("sequence_no", "tool_name", "name", "input_ref")
    rows = list(steps.exclude(output_ref="").order_by("sequence_no").values_list(*columns))
    if rows:
        inputs = artifacts.available(ref for *_, ref in rows if ref)
        calls = ((no, tool or name, inputs.get(ref)) for no, tool, name, ref in rows if not ref or ref in inputs)
        insert(run.app, run.id, calls)


def insert_under(app: str, ignoring: IgnoreRules, runs: Collection[UUID]) -> None:
    """Index the calls of sealed runs under ignore rules, where the rules apply and the call is not indexed yet."""
    steps = Step.objects.filter(_HAS_ANSWER, run__in=runs, type=StepType.TOOL, status=StepStatus.OK)
    existing = ToolCall.objects.filter(run=OuterRef("run"), sequence_no=OuterRef("sequence_no"))
    existing = existing.filter(key__startswith=_mark(ignoring.digest))
    remaining = steps.exclude(Exists(existing)).exclude(output_ref="").exclude(input_ref="").order_by("id")
    calls = [
        step
        for step in remaining.values_list("run_id", "sequence_no", "tool_name", "name", "input_ref")
        if ignoring.rules_for(StepType.TOOL, step[2] or step[3])
    ]
    for chunk in bulk.chunks(calls):
        inputs = artifacts.available(ref for *_, ref in chunk)
        rows = []
        for run, number, tool, name, ref in chunk:
            if ref in inputs:
                arguments = ignoring.reduce(StepType.TOOL, tool or name, inputs[ref])
                query = CallQuery(app=app, shape=shape_of(tool or name, arguments), rules_digest=ignoring.digest)
                rows.append(_row(run, number, query))
        bulk.insert(ToolCall, _COLUMNS, rows)


def similar_texts(query: CallQuery, threshold: float, *, run: UUID | None = None) -> Iterator[tuple[list[str], float]]:
    """Yield the texts of calls with an equal rigid part whose similarity may reach `threshold`, of one run or of all.

    Lists of texts come by length, the most similar lengths first, each with the similarity that no text of a later
    list reaches: a caller that has found a better one need not read on. The texts of a call are one text, made by
    `join_texts`.
    """
    remaining, shortest, longest = _MAX_CANDIDATES, 0, -1
    for ceiling in (*(ceiling for ceiling in _CEILINGS if ceiling > threshold), threshold):
        low, high = _lengths(query, ceiling)
        lengths = [(low, shortest - 1), (longest + 1, high)] if longest >= 0 else [(low, high)]
        texts = [text for first, last in lengths for text in _texts(query, first, min(last, MAX_TEXT), run, remaining)]
        remaining, shortest, longest = remaining - len(texts), low, high
        yield texts, ceiling


def similar_marks(query: CallQuery, threshold: float) -> list[str]:
    """Return the marks of calls whose texts are too long to be stored, made by `mark`."""
    shortest, longest = _lengths(query, threshold)
    return _texts(query, max(shortest, MAX_TEXT + 1), longest, None, _MAX_CANDIDATES)


def mark(query: CallQuery) -> str:
    """Return the mark of a call with long texts: their sketch and length. It looks up the call again."""
    return sketch(join_texts(query.shape)) + encode(query.length)


def _lengths(query: CallQuery, threshold: float) -> tuple[int, int]:
    """Return the bounds of a similar text's length: the shorter text has at least this share of the longer one's."""
    share = threshold / (2 - threshold)
    return int(query.length * share), min(int(query.length / share) + 1, _MAX_LENGTH) if share else _MAX_LENGTH


def _texts(query: CallQuery, shortest: int, longest: int, run: UUID | None, limit: int) -> list[str]:
    if shortest > longest or limit <= 0:
        return []
    parameters: list[Any] = [query.key, shortest, longest]
    if run is not None:
        parameters.append(run.hex if connection.vendor == "sqlite" else run)
    parameters.append(limit)
    with connection.cursor() as cursor:
        cursor.execute(_statement(one_run=run is not None), parameters)
        (texts,) = cursor.fetchone()
    return [] if texts is None else texts.split(_SEPARATOR)


def places(query: CallQuery, texts: str, *, run: UUID | None = None) -> list[tuple[UUID, int]]:
    """Return the runs and steps of the calls with exactly these texts, newest first."""
    length = len(texts) - max(len(query.shape.texts) - 1, 0)
    return _places(ToolCall.objects.filter(key=query.key, length=length, texts=texts), run)


def places_of_mark(query: CallQuery, call_mark: str) -> list[tuple[UUID, int]]:
    """Return the runs and steps of the calls with this mark, newest first."""
    return _places(ToolCall.objects.filter(key=query.key, length=decode(call_mark[PLACES:]), texts=call_mark), None)


def _places(calls: QuerySet[ToolCall], run: UUID | None) -> list[tuple[UUID, int]]:
    if run is not None:
        calls = calls.filter(run=run)
    visible_calls = calls.filter(run__deletion__isnull=True)
    return list(visible_calls.order_by("-id").values_list("run_id", "sequence_no")[:_MAX_PLACES])


def join_texts(shape: CallShape) -> str:
    """Join the texts of a call, one per line."""
    return _BREAK.join(shape.texts).replace("\x00", "\ufffd")


def _statement(*, one_run: bool) -> str:
    """Select all texts as one row: fetching a row for each takes longer than finding and comparing them."""
    table = connection.ops.quote_name(ToolCall._meta.db_table)
    texts = "group_concat(texts, char(30))" if connection.vendor == "sqlite" else "string_agg(texts, chr(30))"
    condition = " AND run_id = %s" if one_run else ""
    return (
        f"SELECT {texts} FROM (SELECT texts FROM {table} "
        f"WHERE key = %s AND length BETWEEN %s AND %s{condition} LIMIT %s) AS matches"
    )


def _row(run_id: UUID, number: int, query: CallQuery) -> Sequence[Any]:
    texts = join_texts(query.shape) if query.length <= MAX_TEXT else mark(query)
    return run_id, number, query.key, min(query.length, _MAX_LENGTH), texts


def _mark(rules_digest: str) -> str:
    """Return the prefix of keys under ignore rules."""
    return f"~{rules_digest[:8]}" if rules_digest else ""
