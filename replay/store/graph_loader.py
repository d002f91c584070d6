"""Load the graph of a run from the fork on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.fields.json import KT

from replay.core.graph import Graph, Link, Node, ReplayOutput
from replay.store import mcp_servers
from replay.store.witness_loader import load_witnesses
from traces.core.gc_pause import without_pauses
from traces.core.json_types import JSONObject
from traces.core.step_header import STORED_FIELDS, typed_columns
from traces.core.vocabulary import EdgeKind, Label, Reason, StepType
from traces.models import Edge, Run, Step
from traces.origins import stored_provenance
from traces.payloads.lost_payloads import LostPayloads
from traces.payloads.replay_labels import RECORDED_AS, REPLAY_LABELS
from traces.provenance.input_origins import UnexplainedContent, from_json
from traces.storage import bulk

_COLUMNS: Final = (*STORED_FIELDS, "sequence_no", "parent_no", "started_at", "unexplained")
_FIELDS: Final = (*STORED_FIELDS, "no", "parent", "started_at", "unexplained")
_ID: Final = _COLUMNS.index("id")
_NOT_ANALYSED: Final = "this run was stored before content origins were analysed"
_KINDS: Final = {str(member): member for member in EdgeKind}


def find_replay_outputs(run_id: UUID) -> dict[int, ReplayOutput]:
    """Outputs of a run by step that no agent produced: the run is itself a replay, in which they came about."""
    is_mixed = Run.objects.filter(Q(cached_count__gt=0) | Q(simulated_count__gt=0), id=run_id).exists()
    steps = Step.objects.filter(run_id=run_id, label__in=REPLAY_LABELS) if is_mixed else Step.objects.none()
    rows = steps.values_list("sequence_no", "label", "reason", KT(f"detail__{RECORDED_AS}"))
    return {
        no: ReplayOutput(label=Label(label), reason=Reason(recorded_as or reason))
        for no, label, reason, recorded_as in rows.iterator(2000)
    }


def load_first_model(run_id: UUID, fork: int) -> tuple[Node, ...]:
    """Load the first model step from the fork on, if any."""
    stored_provenance.ensure(run_id)
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork, type=StepType.MODEL)
    return _nodes(steps.order_by("sequence_no")[:1])


def load_steps(
    run_id: UUID,
    numbers: Iterable[int],
    losses: Mapping[int, LostPayloads],
    outputs: Mapping[int, ReplayOutput] = MappingProxyType({}),
) -> list[Node]:
    """Load steps of a run in order, with their unreadable payloads and the labels that they have in it."""
    return [
        replace(_mark_losses(node, losses.get(node.no, ())), replay_output=outputs.get(node.no))
        for chunk in bulk.chunks(sorted(numbers))
        for node in _nodes(Step.objects.filter(run_id=run_id, sequence_no__in=chunk).order_by("sequence_no"))
    ]


@without_pauses()
def load_graph(
    run_id: UUID,
    fork: int,
    losses: Mapping[int, LostPayloads] = MappingProxyType({}),
    *,
    counterpart: UUID | None = None,
) -> Graph:
    """The steps from the fork on, what they consumed, and the containers open at the fork.

    `counterpart`: the run that this one is compared with, which is a witness.
    """
    stored_provenance.ensure(run_id)
    outputs = find_replay_outputs(run_id)
    nodes = _nodes(Step.objects.filter(run_id=run_id, sequence_no__gte=fork).order_by("sequence_no"), outputs)
    nodes = tuple(_mark_losses(node, losses.get(node.no, ())) for node in nodes) if losses else nodes
    if not nodes:
        return Graph(fork=fork, nodes=nodes)
    links = _links(run_id, fork)
    open_containers = tuple(_mark_losses(node, losses.get(node.no, ())) for node in _open(run_id, nodes, fork))
    open_numbers = [node.no for node in open_containers]
    closed_containers = _nodes(_closed_agents(run_id, fork, open_numbers).order_by("sequence_no"))
    loaded_numbers = {node.no for node in (*open_containers, *closed_containers)}
    earlier = {node.no: node for node in (*closed_containers, *_earlier_models(run_id, links, fork, loaded_numbers))}
    return Graph(
        fork=fork,
        nodes=nodes,
        links=links,
        open=open_containers,
        load_earlier_calls=lambda: _earlier_calls(run_id, fork, open_numbers, outputs),
        load_servers=lambda: mcp_servers.servers_by_number(run_id),
        earlier=tuple(earlier[no] for no in sorted(earlier)),
        witnesses=load_witnesses(run_id, fork, nodes, counterpart=counterpart),
    )


def _nodes(steps: Any, outputs: Mapping[int, ReplayOutput] = MappingProxyType({})) -> tuple[Node, ...]:
    rows = bulk.rows_of(steps.values_list(*_COLUMNS))
    nodes = tuple(map(_node, rows, bulk.uuids_of([row[_ID] for row in rows])))
    return tuple(replace(node, replay_output=outputs.get(node.no)) for node in nodes) if outputs else nodes


def _node(row: Sequence[Any], id: UUID | None) -> Node:
    columns = typed_columns(_FIELDS, row)
    columns["id"], columns["started_at"] = id, bulk.time_of(columns["started_at"])
    # Most steps have none.
    content = () if columns["unexplained"] == "[]" else bulk.json_of(columns["unexplained"])
    columns["unexplained"] = unexplained_content(columns["no"], columns["input_ref"], content)
    return Node(**columns)


def unexplained_content(no: int, input_ref: str, items: Sequence[JSONObject] | None) -> tuple[UnexplainedContent, ...]:
    """Input content of unknown origin: the whole input for runs stored before origins were analysed."""
    if items is None:
        return (
            (UnexplainedContent(path="", first_step=no, snippet=_NOT_ANALYSED, digest=input_ref),) if input_ref else ()
        )
    return from_json(items)


def _mark_losses(node: Node, losses: LostPayloads) -> Node:
    """Return the node with its unreadable payloads; an unreadable output counts as not recorded."""
    node = replace(node, losses=losses)
    return replace(node, output_ref="") if node.lacks("output") else node


def _links(run_id: UUID, fork: int) -> dict[int, tuple[Link, ...]]:
    links_by_consumer: dict[int, list[Link]] = {}
    edges = Edge.objects.filter(run_id=run_id, consumer_no__gte=fork)
    rows = bulk.rows_of(
        edges.values_list("consumer_no", "producer_no", "consumer_path", "kind", "producer_path", "evidence")
    )
    # Not by the database, whose collation would decide the order of paths.
    for consumer, producer, consumer_path, kind, producer_path, evidence in sorted(rows, key=tuple):
        link = Link(
            producer=producer,
            kind=_KINDS[kind],
            consumer_path=consumer_path,
            producer_path=producer_path,
            value=evidence if kind == EdgeKind.VALUE else "",
        )
        links_by_consumer.setdefault(consumer, []).append(link)
    return {consumer: tuple(links) for consumer, links in links_by_consumer.items()}


def _closed_agents(run_id: UUID, fork: int, open_containers: Sequence[int]) -> QuerySet[Step]:
    """Closed agents before the fork, inside the containers open at it."""
    agents = Step.objects.filter(
        _inner_steps(open_containers), run_id=run_id, sequence_no__lt=fork, type=StepType.AGENT
    )
    return agents.exclude(sequence_no__in=open_containers)


def _earlier_calls(
    run_id: UUID, fork: int, open_containers: Sequence[int], outputs: Mapping[int, ReplayOutput]
) -> tuple[Node, ...]:
    """Load tool calls before the fork, inside the containers open at it and the closed agents in them."""
    parents = _inner_steps(open_containers) | Q(
        parent_no__in=_closed_agents(run_id, fork, open_containers).values("sequence_no")
    )
    calls = Step.objects.filter(parents, run_id=run_id, sequence_no__lt=fork, type=StepType.TOOL)
    return _nodes(calls.order_by("sequence_no"), outputs)


def _inner_steps(containers: Sequence[int]) -> Q:
    """Condition that a step is inside one of some containers; without any, that it is in none."""
    return Q(parent_no__in=containers) if containers else Q(parent_no__isnull=True)


def _earlier_models(
    run_id: UUID, links: Mapping[int, tuple[Link, ...]], fork: int, loaded_numbers: set[int]
) -> list[Node]:
    """Load the model steps before the fork whose conversations continue after it, and their containers."""
    missing = {
        link.producer
        for earlier in links.values()
        for link in earlier
        if link.kind is EdgeKind.HISTORY and link.producer < fork
    }
    earlier: list[Node] = []
    while missing := missing - loaded_numbers:
        loaded_numbers |= missing
        nodes = [
            node
            for chunk in bulk.chunks(missing)
            for node in _nodes(Step.objects.filter(run_id=run_id, sequence_no__in=chunk))
        ]
        earlier += nodes
        missing = {node.parent for node in nodes if node.parent is not None}
    return earlier


def _open(run_id: UUID, nodes: Iterable[Node], fork: int) -> tuple[Node, ...]:
    """Load the containers before the fork that enclose steps after it, with one query per level."""
    containers: dict[int, Node] = {}
    missing = {node.parent for node in nodes if node.parent is not None and node.parent < fork}
    while missing:
        level = [
            node
            for chunk in bulk.chunks(missing)
            for node in _nodes(Step.objects.filter(run_id=run_id, sequence_no__in=chunk))
        ]
        containers |= {node.no: node for node in level}
        missing = {node.parent for node in level if node.parent is not None} - containers.keys()
    return tuple(containers[no] for no in sorted(containers))
