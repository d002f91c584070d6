"""Load the graph of a run from the fork on, and what cannot be read of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from replay.core.graph import Graph, Link, Node
from replay.store.witness_loader import load_witnesses
from traces.core.gc_pause import without_pauses
from traces.core.json_types import JSONObject
from traces.core.step_header import STORED, typed
from traces.core.vocabulary import EdgeKind, StepType
from traces.models import Edge, Step
from traces.payloads.lost_payloads import LostPayloads
from traces.provenance.input_origins import Unexplained, from_json
from traces.storage import bulk
from traces.storage.integrity import Inspector

_COLUMNS: Final = (*STORED, "sequence_no", "parent_no", "started_at", "unexplained")
_FIELDS: Final = (*STORED, "no", "parent", "started_at", "unexplained")
_NOT_LOOKED: Final = "the run was stored before origins were looked for"
_READ_WHOLE: Final = 2000  # steps: verifying all artifacts of a run takes about 50 microseconds per step
_KINDS: Final = {str(member): member for member in EdgeKind}


def find_losses(run_id: UUID, steps: int) -> dict[int, LostPayloads]:
    """What of a run cannot be read, by step, as a plan states it.

    Reading all of a long run takes longer than a plan may; execution reads it.
    """
    return Inspector(shallow=steps > _READ_WHOLE).steps(run_id, 1, steps)


def load_first_model(run_id: UUID, fork: int) -> tuple[Node, ...]:
    """The first model step from the fork on, if there is one."""
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork, type=StepType.MODEL)
    return _nodes(steps.order_by("sequence_no")[:1])


def load_steps(run_id: UUID, numbers: Iterable[int], lost: Mapping[int, LostPayloads]) -> list[Node]:
    """Some steps of a run in order, with what of them cannot be read."""
    return [
        _losing(node, lost.get(node.no, ()))
        for chunk in bulk.chunks(sorted(numbers))
        for node in _nodes(Step.objects.filter(run_id=run_id, sequence_no__in=chunk).order_by("sequence_no"))
    ]


@without_pauses()
def load_graph(run_id: UUID, fork: int, lost: Mapping[int, LostPayloads] = MappingProxyType({})) -> Graph:
    """The steps from the fork on, what they consumed, and what encloses the fork; `lost` names unreadable payloads."""
    nodes = _nodes(Step.objects.filter(run_id=run_id, sequence_no__gte=fork).order_by("sequence_no"))
    nodes = tuple(_losing(node, lost.get(node.no, ())) for node in nodes) if lost else nodes
    if not nodes:
        return Graph(fork=fork, nodes=nodes)
    links = _links(run_id, fork)
    opened = _open(run_id, nodes, fork)
    around, calls = _earlier_calls(run_id, fork, [node.no for node in opened])
    known = {node.no for node in (*opened, *around)}
    earlier = {node.no: node for node in (*around, *_earlier_models(run_id, links, fork, known))}
    return Graph(
        fork=fork,
        nodes=nodes,
        links=links,
        open=opened,
        earlier_calls=calls,
        earlier=tuple(earlier[no] for no in sorted(earlier)),
        witnesses=load_witnesses(run_id, fork, nodes),
    )


def _nodes(steps: Any) -> tuple[Node, ...]:
    return tuple(_node(row) for row in steps.values_list(*_COLUMNS).iterator(2000))


def _node(row: Sequence[Any]) -> Node:
    columns = typed(_FIELDS, row)
    columns["unexplained"] = unexplained_of(columns["no"], columns["input_ref"], columns["unexplained"])
    return Node(**columns)


def unexplained_of(no: int, input_ref: str, stored: list[JSONObject] | None) -> tuple[Unexplained, ...]:
    """What of an input is of unknown origin: all of it in runs that were stored before anybody looked."""
    if stored is None:
        return (Unexplained(path="", since=no, snippet=_NOT_LOOKED, digest=input_ref),) if input_ref else ()
    return from_json(stored)


def _losing(node: Node, lost: LostPayloads) -> Node:
    """The node of a step of which not everything can be read: an output that cannot is as if it was not recorded."""
    node = replace(node, lost=lost)
    return replace(node, output_ref="") if node.lacks("output") else node


def _links(run_id: UUID, fork: int) -> dict[int, tuple[Link, ...]]:
    found: dict[int, list[Link]] = {}
    rows = (
        Edge.objects.filter(run_id=run_id, consumer_no__gte=fork)
        .order_by("consumer_no", "producer_no", "consumer_path")
        .values_list("consumer_no", "producer_no", "kind", "consumer_path", "producer_path", "evidence")
    )
    for consumer, producer, kind, consumer_path, producer_path, evidence in rows.iterator(5000):
        link = Link(
            producer=producer,
            kind=_KINDS[kind],
            consumer_path=consumer_path,
            producer_path=producer_path,
            value=evidence if kind == EdgeKind.VALUE else "",
        )
        found.setdefault(consumer, []).append(link)
    return {consumer: tuple(links) for consumer, links in found.items()}


def _earlier_calls(run_id: UUID, fork: int, opened: list[int]) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """The tool calls before the fork in what is open there, and the closed containers around some of them."""
    before = Step.objects.filter(run_id=run_id, sequence_no__lt=fork)
    inside = before.filter(parent_no__in=opened) if opened else before.filter(parent_no__isnull=True)
    around = _nodes(inside.filter(type=StepType.AGENT).exclude(sequence_no__in=opened).order_by("sequence_no"))
    parents = Q(parent_no__in=opened) if opened else Q(parent_no__isnull=True)
    held = before.filter(type=StepType.AGENT).filter(parents).exclude(sequence_no__in=opened).values("sequence_no")
    calls = before.filter(type=StepType.TOOL).filter(parents | Q(parent_no__in=held))
    return around, _nodes(calls.order_by("sequence_no"))


def _earlier_models(run_id: UUID, links: Mapping[int, tuple[Link, ...]], fork: int, known: set[int]) -> list[Node]:
    """The model steps before the fork whose conversations go on after it, and what encloses them."""
    wanted = {
        link.producer
        for found in links.values()
        for link in found
        if link.kind is EdgeKind.HISTORY and link.producer < fork
    }
    found: list[Node] = []
    while wanted := wanted - known:
        known |= wanted
        nodes = [
            node
            for some in bulk.chunks(wanted)
            for node in _nodes(Step.objects.filter(run_id=run_id, sequence_no__in=some))
        ]
        found += nodes
        wanted = {node.parent for node in nodes if node.parent is not None}
    return found


def _open(run_id: UUID, nodes: Iterable[Node], fork: int) -> tuple[Node, ...]:
    """The steps before the fork that hold some after it, one query for each level."""
    found: dict[int, Node] = {}
    wanted = {node.parent for node in nodes if node.parent is not None and node.parent < fork}
    while wanted:
        level = [
            node
            for some in bulk.chunks(wanted)
            for node in _nodes(Step.objects.filter(run_id=run_id, sequence_no__in=some))
        ]
        found |= {node.no: node for node in level}
        wanted = {node.parent for node in level if node.parent is not None} - found.keys()
    return tuple(found[no] for no in sorted(found))
