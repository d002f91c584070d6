"""Derived runs: steps copied from their source, and provenance that goes on where the source's holds."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from traces.core.json_types import JSONObject
from traces.core.step_header import header_of
from traces.core.vocabulary import EdgeKind, Label
from traces.ingest.step_rows import COLUMNS
from traces.models import Edge, Run, Step
from traces.payloads.splitter import Splitter
from traces.provenance.edges import EdgeFact, Provenance, find_provenance
from traces.provenance.input_origins import Unexplained, from_json
from traces.provenance.step_outputs import StepFacts
from traces.storage import artifacts, bulk

_SHORT = 500
_BEFORE = 20
_EDGE = ("producer_no", "consumer_no", "kind", "consumer_path", "producer_path", "evidence")
_REPLACED = frozenset({"id", "label", "reason", "detail", "source_step"})
_COPIED = tuple(name for name in COLUMNS if name not in _REPLACED)


def copy(
    source_run_id: UUID, run_id: UUID, first: int, ids: Sequence[str], *, label: Label, reason: str, detail: JSONObject
) -> int:
    """Copy as many steps as there are `ids` (hex) inside the database, from sequence number `first` on."""
    said = orjson.dumps(detail).decode()
    values: list[Any] = [_uuid(run_id), label, reason, said, *_new_ids(ids), first, _uuid(source_run_id)]
    with connection.cursor() as cursor:
        cursor.execute(_copy_statement(), values)
        return int(cursor.rowcount)


def _copy_statement() -> str:
    """New ids by position beside the source's steps; the one difference is how a list becomes a table."""
    names = ", ".join(bulk.column_names(Step, ["run", "label", "reason", "detail", "id", "source_step", *_COPIED]))
    copied = ", ".join(f"step.{name}" for name in bulk.column_names(Step, _COPIED))
    table = connection.ops.quote_name(Step._meta.db_table)
    if connection.vendor == "sqlite":
        given = "(SELECT key AS position, value AS id FROM json_each(%s))"
    else:
        given = "(SELECT position - 1 AS position, id FROM unnest(%s::uuid[]) WITH ORDINALITY AS list(id, position))"
    # CROSS JOIN keeps SQLite from scanning the list once for each step.
    return (
        f"INSERT INTO {table} ({names}) SELECT %s, %s, %s, %s, given.id, step.id, {copied} "
        f"FROM {given} AS given CROSS JOIN {table} AS step "
        "WHERE step.sequence_no = given.position + %s AND step.run_id = %s"
    )


def _new_ids(ids: Sequence[str]) -> list[object]:
    if connection.vendor == "sqlite":
        return ['["' + '","'.join(ids) + '"]']
    return [list(ids)]


def _uuid(value: UUID) -> UUID | str:
    return value.hex if connection.vendor == "sqlite" else value


def is_copy(run: Run) -> bool:
    """Whether a run that is being sealed repeats its whole source, with the same numbers and payloads."""
    if run.source_run_id is None:
        return False
    table = connection.ops.quote_name(Step._meta.db_table)
    same = " AND ".join(f"mine.{name} = other.{name}" for name in bulk.column_names(Step, ["input_ref", "output_ref"]))
    statement = (
        f"SELECT count(*) FROM {table} AS mine JOIN {table} AS other ON other.id = mine.source_step "
        f"AND other.run_id = %s AND other.sequence_no = mine.sequence_no AND {same} "
        "WHERE mine.run_id = %s AND mine.label = %s AND mine.status = other.status"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [_uuid(run.source_run_id), _uuid(run.id), Label.EXACT])
        repeated = int(cursor.fetchone()[0])
    source = Run.objects.only("step_count").get(id=run.source_run_id)
    return repeated == source.step_count == Step.objects.filter(run_id=run.id).count()


def copy_edges(run: Run) -> None:
    """Take over all edges of the source, inside the database."""
    names = ", ".join(bulk.column_names(Edge, _EDGE))
    table = connection.ops.quote_name(Edge._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (run_id, {names}) SELECT %s, {names} FROM {table} WHERE run_id = %s",
            [_uuid(run.id), _uuid(run.source_run_id)] if run.source_run_id else [],
        )


def provenance_of(run: Run, steps: Sequence[Any]) -> Provenance:
    """The provenance of a run that is being sealed.

    An edge of the source holds where both of its ends were taken over with their payloads, and a link of the
    recording wherever its ends are. Edges into every other step are found anew, and so is what they leave unexplained.
    """
    taken, unchanged, told = _taken_over(run, steps)
    inherited: list[EdgeFact] = []
    stale: set[int] = set()
    producers: set[int] = set()  # of what was consumed by the source's steps, as far as they are here
    for edge in _source_edges(run):
        producer, consumer = taken.get(edge.producer), taken.get(edge.consumer)
        if consumer is None:
            continue
        if producer is not None and (edge.kind is EdgeKind.LINK or (producer in unchanged and consumer in told)):
            inherited.append(replace(edge, producer=producer, consumer=consumer))
        else:
            stale.add(consumer)
            producers.update(() if producer is None else (producer,))
    known = _unexplained_of(run, taken, told)
    wanted = {step.sequence_no for step in steps} - ((told & known.keys()) - stale)
    if not wanted:
        return Provenance(edges=inherited, unexplained=known)
    found = _found(_until(steps, wanted), _near(steps, wanted, producers), wanted, known)
    return Provenance(edges=_merged(inherited, found.edges), unexplained=known | found.unexplained)


def store_unexplained(steps: Iterable[Any], unexplained: Mapping[int, Sequence[Unexplained]]) -> None:
    """Write what of the inputs of a run that is being sealed is unexplained, where it is not there already."""
    changed = []
    for step in steps:
        items = [item.as_json() for item in unexplained.get(step.sequence_no, ())]
        if items != step.unexplained:
            changed.append(Step(id=step.id, unexplained=items))
    Step.objects.bulk_update(changed, ["unexplained"], batch_size=200)


def _unexplained_of(run: Run, taken: Mapping[int, int], told: Container[int]) -> dict[int, tuple[Unexplained, ...]]:
    """What was unexplained in the source's steps, of those that were told the same here.

    Content that appeared first in a step that is not here appears first where it is here.
    """
    found: dict[int, tuple[Unexplained, ...]] = {}
    if run.source_run_id is None:
        return found
    rows = Step.objects.filter(run_id=run.source_run_id, unexplained__isnull=False)
    for number, items in rows.values_list("sequence_no", "unexplained").iterator(2000):
        here = taken.get(number)
        if here is not None and here in told:
            found[here] = tuple(
                replace(item, since=min(here, taken.get(item.since, here))) for item in from_json(items or ())
            )
    return found


def _taken_over(run: Run, steps: Sequence[Step]) -> tuple[dict[int, int], set[int], set[int]]:
    """The numbers of steps by those of the source's steps that they replay, those whose payloads are the same, and
    those that were told the same, whatever they said: into them the same edges lead."""
    if run.source_run_id is None:
        return {}, set(), set()
    columns = ("id", "sequence_no", "input_ref", "output_ref")
    source = {key: rest for key, *rest in Step.objects.filter(run_id=run.source_run_id).values_list(*columns)}
    taken: dict[int, int] = {}
    unchanged: set[int] = set()
    told: set[int] = set()
    for step in steps:
        if step.source_step not in source:
            continue
        number, *refs = source[step.source_step]
        taken[number] = step.sequence_no
        if refs == [step.input_ref, step.output_ref]:
            unchanged.add(step.sequence_no)
        if refs[0] == step.input_ref and (refs[0] or refs[1] == step.output_ref):
            told.add(step.sequence_no)
    return taken, unchanged, told


def _source_edges(run: Run) -> Iterator[EdgeFact]:
    if run.source_run_id is None:
        return
    columns = ("producer_no", "consumer_no", "kind", "consumer_path", "producer_path", "evidence")
    for producer, consumer, kind, consumer_path, producer_path, evidence in Edge.objects.filter(
        run_id=run.source_run_id
    ).values_list(*columns):
        yield EdgeFact(
            producer=producer,
            consumer=consumer,
            kind=EdgeKind(kind),
            consumer_path=consumer_path,
            producer_path=producer_path,
            evidence=evidence,
        )


def _found(
    steps: Sequence[Any], near: Container[int], wanted: Container[int], known: Mapping[int, Sequence[Unexplained]]
) -> Provenance:
    """The provenance of the wanted steps; of the steps that are not near only what they said or found is looked at."""
    refs = (ref for step in steps for ref in (step.output_ref, step.input_ref if step.sequence_no in near else ""))
    values = artifacts.available(ref for ref in refs if ref)
    facts = [
        StepFacts(
            **header_of(step),
            no=step.sequence_no,
            input=values.get(step.input_ref) if step.sequence_no in near else None,
            output=values.get(step.output_ref),
            input_ref=step.input_ref,
            output_ref=step.output_ref,
        )
        for step in steps
    ]
    return find_provenance(facts, Splitter(), wanted=lambda no: no in wanted, learned=known)


def _near(steps: Sequence[Step], wanted: set[int], producers: set[int]) -> set[int]:
    """The steps whose requests are read, too, to find edges into the wanted ones.

    All steps of a short run; of a long one those shortly before a wanted step, and those that the source's step
    had consumed, for reading ten thousand requests to find the edges of one takes seconds.
    """
    if len(steps) <= _SHORT:
        return {step.sequence_no for step in steps}
    near = wanted | producers
    for number in wanted:
        near.update(range(max(1, number - _BEFORE), number))
    return near


def _until(steps: Sequence[Step], wanted: set[int]) -> Sequence[Step]:
    """What comes after the last wanted step is no producer of it."""
    last = max(wanted)
    return [step for step in steps if step.sequence_no <= last]


def _merged(inherited: Iterable[EdgeFact], found: Iterable[EdgeFact]) -> list[EdgeFact]:
    """Both, each edge once."""
    edges = {(edge.producer, edge.consumer, edge.kind, edge.consumer_path): edge for edge in (*found, *inherited)}
    return list(edges.values())
