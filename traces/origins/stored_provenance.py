"""Store the provenance of runs; compute it for a run that was stored without it when it is first needed.

Most recorded runs are never forked, compared or opened, and finding contained text takes longer than reading them. Most
replays that repeat their source never need its edges a second time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from traces.core.gc_pause import without_pauses
from traces.core.step_header import header_of
from traces.core.vocabulary import EdgeKind
from traces.models import Edge, PendingProvenance, Run, Step
from traces.payloads.splitter import Splitter
from traces.provenance.edge_facts import EdgeFact
from traces.provenance.edges import Provenance, find_provenance
from traces.provenance.input_origins import UnexplainedContent
from traces.provenance.step_outputs import StepFacts
from traces.storage import artifacts, bulk

_EDGE_COLUMNS: Final = ("run", "producer_no", "consumer_no", "kind", "consumer_path", "producer_path", "evidence")
_NO_CONTENT: Final[Mapping[int, Sequence[UnexplainedContent]]] = {}
_NO_LINKS: Final[Mapping[int, Sequence[int]]] = {}


def ensure(run_id: UUID) -> None:
    """Compute the provenance of a run that was stored without it; does nothing for other runs."""
    if not PendingProvenance.objects.filter(run=run_id).exists():
        return
    with transaction.atomic(), without_pauses():
        # Locked: another reader may be faster, and a deletion of the source may withdraw it.
        pending = PendingProvenance.objects.select_for_update(of=("self",)).filter(run=run_id)
        if (row := pending.values_list("run__source_run_id").first()) is None:
            return
        if row[0] is None:
            _compute(run_id)
        else:
            copy_edges(row[0], run_id)
        pending.delete()


def defer(run: Run) -> None:
    """Compute the provenance of a run later that repeats its source; call it before the run is sealed."""
    PendingProvenance.objects.create(run=run)


def withdraw(run_ids: Iterable[UUID]) -> None:
    """Never compute the provenance of runs whose source is being deleted; call it before their edges are deleted."""
    PendingProvenance.objects.filter(run__in=run_ids).delete()


def copy_edges(source_id: UUID, run_id: UUID, *, upto: int | None = None) -> None:
    """Copy the edges of the source into its first steps, or all, inside the database.

    Its unexplained content was copied with the steps.
    """
    names = ", ".join(bulk.column_names(Edge, _EDGE_COLUMNS[1:]))
    table = connection.ops.quote_name(Edge._meta.db_table)
    statement = f"INSERT INTO {table} (run_id, {names}) SELECT %s, {names} FROM {table} WHERE run_id = %s"
    values = bulk.database_values(Edge, ("run", "run"), (run_id, source_id))
    with connection.cursor() as cursor:
        if upto is None:
            cursor.execute(statement, values)
        else:
            cursor.execute(f"{statement} AND consumer_no <= %s", [*values, upto])


def _compute(run_id: UUID) -> None:
    steps = list(Step.objects.filter(run=run_id).order_by("sequence_no"))
    provenance = trace(steps, links=_stored_links(run_id))
    insert_edges((run_id, edge) for edge in provenance.edges if edge.kind is not EdgeKind.LINK)
    contents = ([item.as_json() for item in provenance.unexplained_inputs[step.sequence_no]] for step in steps)
    bulk.update(Step, ("unexplained",), zip(contents, (step.id for step in steps), strict=True))


def _stored_links(run_id: UUID) -> dict[int, list[int]]:
    """Return the producers that a recording links to its steps, in the order in which it states them."""
    links: dict[int, list[int]] = {}
    rows = Edge.objects.filter(run=run_id, kind=EdgeKind.LINK).order_by("id")
    for consumer, producer in rows.values_list("consumer_no", "producer_no"):
        links.setdefault(consumer, []).append(producer)
    return links


def trace(
    steps: Sequence[Any],
    *,
    reads_input: Callable[[int], bool] = lambda no: True,
    includes: Callable[[int], bool] = lambda no: True,
    content: Mapping[int, Sequence[UnexplainedContent]] = _NO_CONTENT,
    links: Mapping[int, Sequence[int]] = _NO_LINKS,
) -> Provenance:
    """Find the provenance of the included steps from the stored payloads of all steps.

    `reads_input` accepts the steps whose inputs are read; outputs are read of all. `content` is the unexplained content
    that is stored already, by step.
    """
    refs = (ref for step in steps for ref in (step.output_ref, step.input_ref if reads_input(step.sequence_no) else ""))
    values = artifacts.available(ref for ref in refs if ref)
    facts = [
        StepFacts(
            **header_of(step),
            no=step.sequence_no,
            input=values.get(step.input_ref) if reads_input(step.sequence_no) else None,
            output=values.get(step.output_ref),
            input_ref=step.input_ref,
            output_ref=step.output_ref,
            links=tuple(links.get(step.sequence_no, ())),
        )
        for step in steps
    ]
    return find_provenance(facts, Splitter(), includes=includes, stored_content=content)


def insert_edges(edges: Iterable[tuple[UUID, EdgeFact]]) -> None:
    """Insert the edges of runs."""
    bulk.insert(Edge, _EDGE_COLUMNS, (_values(run_id, edge) for run_id, edge in edges))


def _values(run_id: UUID, edge: EdgeFact) -> tuple[object, ...]:
    evidence = edge.evidence.replace("\x00", "\ufffd")
    return run_id, edge.producer, edge.consumer, edge.kind, edge.consumer_path, edge.producer_path, evidence
