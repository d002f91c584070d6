"""Derived runs: copy steps from the source run, and reuse the source's provenance where it still applies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from uuid import UUID

import orjson
from django.db import connection
from django.db.models import QuerySet

from traces.core.ids import new_id
from traces.core.json_types import JSONObject
from traces.core.vocabulary import EdgeKind, Label, Reason
from traces.ingest.step_rows import COLUMNS, Totals
from traces.models import Edge, Run, Step
from traces.origins import stored_provenance
from traces.payloads.replay_labels import REPLAY_LABELS
from traces.provenance.edge_facts import EdgeFact
from traces.provenance.edges import Provenance
from traces.provenance.input_origins import UnexplainedContent, from_json
from traces.storage import bulk

# In steps: all requests of a shorter run are read.
_SHORT = 500
# In a longer run, so many requests before a traced step are read.
_BEFORE = 20
_EDGE = ("producer_no", "consumer_no", "kind", "consumer_path", "producer_path", "evidence")
# Digits in which any two new ids differ: time and counter. The last eight are random.
_PREFIX = 24
_NEW_COLUMNS = frozenset({"id", "label", "reason", "detail", "source_step"})
# A step of which these are equal repeats that of the source. A run of such steps has the totals of its source.
_COMPARED_COLUMNS = (
    "sequence_no",
    "type",
    "status",
    "input_ref",
    "output_ref",
    "tokens_in",
    "tokens_out",
    "cost_usd",
)
_LABELS_OF_REPLAYS = ", ".join(f"'{label}'" for label in REPLAY_LABELS)
# A copy is exact or has the label that the step has in the source.
_IS_COPIED_LABEL = (
    f"(mine.label = '{Label.EXACT}' AND other.label NOT IN ({_LABELS_OF_REPLAYS}) "
    f"OR mine.reason = '{Reason.SOURCE_OUTPUT_REUSED}' AND mine.label = other.label)"
)
_TRACED_COLUMNS = tuple(name for name in COLUMNS if name != "detail")
_COPIED_COLUMNS = tuple(name for name in COLUMNS if name not in _NEW_COLUMNS)


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelBasis:
    """Label, reason and detail of copies; `replay_details`, by reason, are for copies that keep their label."""

    label: Label
    reason: str
    detail: JSONObject
    replay_details: Mapping[str, JSONObject]

    def label_column(self) -> tuple[str, list[str]]:
        """Return the expression of the label, and its parameters."""
        if not self.replay_details:
            return "%s", [self.label]
        return f"CASE WHEN step.label IN ({_LABELS_OF_REPLAYS}) THEN step.label ELSE %s END", [self.label]

    def detail_column(self) -> tuple[str, list[str]]:
        """Return the expression of the detail, and its parameters; a copy of such a copy keeps its detail."""
        detail = _json(self.detail)
        if not self.replay_details:
            return "%s", [detail]
        cases = [text for reason, values in self.replay_details.items() for text in (reason, _json(values))]
        return (
            f"CASE WHEN step.label NOT IN ({_LABELS_OF_REPLAYS}) THEN %s WHEN step.reason = %s THEN step.detail "
            f"{'WHEN step.reason = %s THEN %s ' * len(self.replay_details)}ELSE %s END"
        ), [detail, self.reason, *cases, detail]


def copy(source_run_id: UUID, run_id: UUID, first: int, last: int, basis: LabelBasis) -> int:
    """Copy the steps `first` to `last` inside the database; return the number of copies."""
    label, label_parameters = basis.label_column()
    detail, detail_parameters = basis.detail_column()
    constants = [_uuid(run_id), *label_parameters, basis.reason, *detail_parameters, new_id().hex[:_PREFIX]]
    with connection.cursor() as cursor:
        cursor.execute(_copy_statement(label, detail), [*constants, _uuid(source_run_id), first, last])
        return int(cursor.rowcount)


def _json(value: JSONObject) -> str:
    return orjson.dumps(value).decode()


def _copy_statement(label: str, detail: str) -> str:
    """Copies have the ids that begin like one new id and end with their sequence numbers."""
    names = ", ".join(
        bulk.column_names(Step, ["run", "label", "reason", "detail", "id", "source_step", *_COPIED_COLUMNS])
    )
    columns = ", ".join(f"step.{name}" for name in bulk.column_names(Step, _COPIED_COLUMNS))
    table = connection.ops.quote_name(Step._meta.db_table)
    if connection.vendor == "sqlite":
        id = "%s || printf('%%08x', step.sequence_no)"
    else:
        id = "(%s || lpad(to_hex(step.sequence_no), 8, '0'))::uuid"
    return (
        f"INSERT INTO {table} ({names}) SELECT %s, {label}, %s, {detail}, {id}, step.id, {columns} "
        f"FROM {table} AS step WHERE step.run_id = %s AND step.sequence_no BETWEEN %s AND %s"
    )


def _uuid(value: UUID) -> UUID | str:
    return value.hex if connection.vendor == "sqlite" else value


def unchanged_steps(run: Run, source: Run) -> int:
    """Return how many first steps of a run that is being sealed repeat those of its source.

    They have the same numbers, payloads, values and unexplained content, and so the same edges among each other.
    """
    table = connection.ops.quote_name(Step._meta.db_table)
    same = " AND ".join(f"mine.{name} {_same()} other.{name}" for name in bulk.column_names(Step, _COMPARED_COLUMNS))
    statement = (
        f"SELECT mine.sequence_no FROM {table} AS mine JOIN {table} AS other ON other.id = mine.source_step "
        f"AND other.run_id = %s AND other.unexplained = mine.unexplained AND {same} "
        f"WHERE mine.run_id = %s AND {_IS_COPIED_LABEL} ORDER BY mine.sequence_no"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [_uuid(source.id), _uuid(run.id)])
        numbers = [number for (number,) in cursor.fetchall()]
    return sum(number == place for place, number in enumerate(numbers, start=1))


def _same() -> str:
    """Return the comparison for which null equals null."""
    return "IS" if connection.vendor == "sqlite" else "IS NOT DISTINCT FROM"


def totals_of_copy(source: Run) -> Totals:
    """Return the totals of a run that repeats its whole source."""
    return Totals(
        step_count=source.step_count,
        error_count=source.error_count,
        tokens_in=source.tokens_in,
        tokens_out=source.tokens_out,
        cost_usd=source.cost_usd,
        exact_count=source.step_count - source.cached_count - source.simulated_count,
        cached_count=source.cached_count,
        simulated_count=source.simulated_count,
    )


def trace(run: Run, unchanged: int) -> None:
    """Store the provenance of a run that is being sealed, and that begins with `unchanged` steps of its source."""
    if run.source_run_id is not None:
        stored_provenance.copy_edges(run.source_run_id, run.id, upto=unchanged)
    steps = list(_steps(run).filter(sequence_no__gt=unchanged))
    provenance = _provenance(run, steps, unchanged)
    stored_provenance.insert_edges((run.id, edge) for edge in provenance.edges)
    _store_unexplained(steps, provenance.unexplained_inputs)


def _steps(run: Run) -> QuerySet[Step, Any]:
    # Named tuples: a model's instance takes three times as long.
    return Step.objects.filter(run=run).order_by("sequence_no").values_list(*_TRACED_COLUMNS, named=True)


def _provenance(run: Run, steps: Sequence[Any], unchanged: int) -> Provenance:
    """Compute the provenance of `steps`, those after the `unchanged` ones of a run that is being sealed.

    An edge of the source is reused if both of its ends were copied with their payloads; a link of the recording, if
    both of its ends exist here. Every other step is traced again, including its unexplained content.
    """
    lineage = _lineage(run, steps, unchanged)
    source_edges: list[EdgeFact] = []
    stale: set[int] = set()
    # What the stale steps consumed in the source.
    producers: set[int] = set()
    for edge in _source_edges(run, unchanged):
        producer, consumer = lineage.numbers.get(edge.producer), lineage.numbers.get(edge.consumer)
        if consumer is None:
            continue
        is_same = producer in lineage.unchanged and consumer in lineage.same_input
        if producer is not None and (edge.kind is EdgeKind.LINK or is_same):
            source_edges.append(_with_numbers(edge, producer=producer, consumer=consumer))
        else:
            stale.add(consumer)
            producers.update(() if producer is None else (producer,))
    content = _source_content(run, lineage, unchanged)
    targets = {step.sequence_no for step in steps} - ((lineage.same_input & content.keys()) - stale)
    if not targets:
        return Provenance(edges=source_edges, unexplained_inputs=content)
    first_steps = list(_steps(run).filter(sequence_no__lte=unchanged))
    content |= {step.sequence_no: from_json(step.unexplained) for step in first_steps}
    all_steps = [*first_steps, *steps]
    candidates = [step for step in all_steps if step.sequence_no <= max(targets)]
    numbers = _steps_to_read(all_steps, targets, producers)
    new = stored_provenance.trace(
        candidates, reads_input=numbers.__contains__, includes=targets.__contains__, content=content
    )
    edges = _merge(source_edges, new.edges)
    return Provenance(edges=edges, unexplained_inputs=content | new.unexplained_inputs)


def _store_unexplained(steps: Iterable[Any], content: Mapping[int, Sequence[UnexplainedContent]]) -> None:
    """Store the unexplained content of a run that is being sealed, where it differs from the stored one."""
    changed = []
    for step in steps:
        items = [item.as_json() for item in content.get(step.sequence_no, ())]
        if items != step.unexplained:
            changed.append(Step(id=step.id, unexplained=items))
    Step.objects.bulk_update(changed, ["unexplained"], batch_size=200)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Lineage:
    """How a derived run's steps relate to those of its source."""

    # The number of a step here, by the number of the source's step.
    numbers: Mapping[int, int] = field(default_factory=dict)
    # Steps with the same input and output.
    unchanged: AbstractSet[int] = frozenset()
    # Steps with the same input, whatever their output: their incoming edges are the same.
    same_input: AbstractSet[int] = frozenset()


def _source_content(run: Run, lineage: _Lineage, unchanged: int) -> dict[int, tuple[UnexplainedContent, ...]]:
    """Return the source's unexplained content for steps with the same input, after the `unchanged` ones.

    Content whose first step was not copied appears first in the step itself.
    """
    content: dict[int, tuple[UnexplainedContent, ...]] = {}
    if run.source_run_id is None:
        return content
    rows = Step.objects.filter(run_id=run.source_run_id, sequence_no__gt=unchanged, unexplained__isnull=False)
    for number, items in bulk.rows_of(rows.values_list("sequence_no", "unexplained")):
        no = lineage.numbers.get(number)
        if no is not None and no in lineage.same_input:
            content[no] = tuple(
                _with_numbers(item, first_step=min(no, lineage.numbers.get(item.first_step, no)))
                for item in from_json(bulk.json_of(items) or ())
            )
    return content


_Fact = TypeVar("_Fact", EdgeFact, UnexplainedContent)


def _with_numbers(fact: _Fact, **numbers: Any) -> _Fact:
    """Return a fact with other step numbers. In most copies the numbers are those of the source."""
    is_same = all(getattr(fact, name) == number for name, number in numbers.items())
    return fact if is_same else replace(fact, **numbers)


def _lineage(run: Run, steps: Sequence[Step], unchanged_count: int) -> _Lineage:
    """Compare a derived run's `steps` with those of its source; the first ones are unchanged."""
    if run.source_run_id is None:
        return _Lineage()
    columns = ("id", "sequence_no", "input_ref", "output_ref")
    rest = Step.objects.filter(run_id=run.source_run_id, sequence_no__gt=unchanged_count)
    rows = bulk.rows_of(rest.values_list(*columns))
    source = {bulk.uuid_of(key): values for key, *values in rows}
    numbers = {number: number for number in range(1, unchanged_count + 1)}
    unchanged = set(numbers)
    same_input = set(numbers)
    for step in steps:
        if step.source_step not in source:
            continue
        number, *refs = source[step.source_step]
        numbers[number] = step.sequence_no
        if refs == [step.input_ref, step.output_ref]:
            unchanged.add(step.sequence_no)
        if refs[0] == step.input_ref and (refs[0] or refs[1] == step.output_ref):
            same_input.add(step.sequence_no)
    return _Lineage(numbers=numbers, unchanged=unchanged, same_input=same_input)


def _source_edges(run: Run, unchanged: int) -> Iterator[EdgeFact]:
    """Yield the edges of the source into the steps after the `unchanged` ones."""
    if run.source_run_id is None:
        return
    rows = bulk.rows_of(Edge.objects.filter(run_id=run.source_run_id, consumer_no__gt=unchanged).values_list(*_EDGE))
    for producer, consumer, kind, consumer_path, producer_path, evidence in rows:
        yield EdgeFact(
            producer=producer,
            consumer=consumer,
            kind=EdgeKind(kind),
            consumer_path=consumer_path,
            producer_path=producer_path,
            evidence=evidence,
        )


def _steps_to_read(steps: Sequence[Step], targets: set[int], producers: set[int]) -> set[int]:
    """Return the steps whose requests are read to find edges into the targets.

    All steps of a short run. Of a long run, the steps shortly before a target and those that the source's step
    consumed: reading ten thousand requests to find the edges of one step takes seconds.
    """
    if len(steps) <= _SHORT:
        return {step.sequence_no for step in steps}
    numbers = targets | producers
    for number in targets:
        numbers.update(range(max(1, number - _BEFORE), number))
    return numbers


def _merge(source_edges: Iterable[EdgeFact], new_edges: Iterable[EdgeFact]) -> list[EdgeFact]:
    """Merge both without duplicates; edges of the source win."""
    edges = {
        (edge.producer, edge.consumer, edge.kind, edge.consumer_path): edge for edge in (*new_edges, *source_edges)
    }
    return list(edges.values())
