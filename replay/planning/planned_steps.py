"""Entries of a plan: one for every source step from the fork on. Pure."""

from collections.abc import Iterable, Mapping

from replay.calls import typed_messages
from replay.calls.reach import explanation
from replay.core.calls import ACTIONS
from replay.core.events import ContainerClosed, Event, StepResolved, StepSkipped, StepsReused
from replay.core.graph import Graph, Node
from replay.core.plan import PlannedStep
from replay.core.wording import ending_derived
from replay.resolution import lost_recordings, replay_outputs
from traces.core.vocabulary import Label, Reason

REUSE = str(Reason.SOURCE_OUTPUT_REUSED)


def planned_steps(
    graph: Graph, events: Iterable[Event], costs: Mapping[int, float | None], *, brief: bool, list_reused: bool
) -> list[PlannedStep]:
    """Entries of source steps from the fork on; those that are reused exactly only if `list_reused`.

    Containers that are open at the fork are included if their output differs.
    """
    steps: dict[int, PlannedStep] = {}
    lost_nodes = [node for node in graph.nodes if node.losses]
    for event in events:
        match event:
            case StepsReused():
                if list_reused or graph.has_replay_outputs:
                    nodes = (graph.by_no[no] for no in range(event.first, event.last + 1))
                    reused_nodes = (node for node in nodes if list_reused or node.replay_output is not None)
                    steps |= {node.no: reused_step(node) for node in reused_nodes if node.no not in event.assumptions}
                notes = {no: "" if brief else explanation(assumption) for no, assumption in event.assumptions.items()}
                steps |= {no: _assumed_step(graph.by_no[no], note) for no, note in notes.items()}
                steps |= {node.no: lost_step(node) for node in lost_nodes if event.first <= node.no <= event.last}
            case StepResolved() if event.answer.source is not None or event.call.node is not None:
                node = event.call.node or event.answer.source
                if node is not None:
                    steps[node.no] = _resolved_step(node, event, costs.get(event.call.no), brief=brief)
            case StepSkipped():
                steps[event.node.no] = _skipped_step(event)
            case ContainerClosed():
                steps[event.node.no] = _container_step(event)
            case _:
                pass
    return [steps[no] for no in sorted(steps)]


def reused_step(node: Node) -> PlannedStep:
    """Entry of a step whose output is reused, with the label that it has in the source."""
    return PlannedStep(
        sequence_no=node.no,
        type=node.type,
        name=node.name,
        action=ACTIONS[node.reuse_label],
        label=node.reuse_label,
        reason=REUSE,
        differs=[],
        because=[],
        cost_usd=None,
        note="" if node.replay_output is None else replay_outputs.note(node.replay_output.reason),
    )


def _assumed_step(node: Node, note: str) -> PlannedStep:
    return PlannedStep(
        sequence_no=node.no,
        type=node.type,
        name=node.name,
        action="simulate",
        label=Label.SIMULATED,
        reason=str(Reason.ASSUMED_UNAFFECTED),
        differs=[],
        because=[],
        cost_usd=None,
        note=note,
    )


def lost_step(node: Node) -> PlannedStep:
    """Entry of a reused step whose recording is unreadable."""
    return PlannedStep(
        sequence_no=node.no,
        type=node.type,
        name=node.name,
        action="simulate",
        label=Label.SIMULATED,
        reason=str(lost_recordings.reason(node.losses)),
        differs=[],
        because=[],
        cost_usd=None,
        note=lost_recordings.note(node.losses),
    )


def _resolved_step(node: Node, event: StepResolved, cost: float | None, *, brief: bool) -> PlannedStep:
    answer, call = event.answer, event.call
    because = [] if brief else [no for no in call.because if no != node.no]
    return PlannedStep(
        sequence_no=node.no,
        type=node.type,
        name=node.name,
        action=answer.action,
        label=answer.label,
        reason=str(answer.reason or ""),
        differs=[] if brief else list(call.differs),
        because=because,
        cost_usd=cost,
        note="" if brief else answer.note,
        typed=[] if brief else typed_messages.listed_indices(answer),
    )


def _skipped_step(event: StepSkipped) -> PlannedStep:
    return PlannedStep(
        sequence_no=event.node.no,
        type=event.node.type,
        name=event.node.name,
        action="unreached",
        label=None,
        reason="",
        differs=[],
        because=[],
        cost_usd=None,
        note=event.reason,
    )


def _container_step(event: ContainerClosed) -> PlannedStep:
    note = event.note or ending_derived(event.output_from)
    return PlannedStep(
        sequence_no=event.node.no,
        type=event.node.type,
        name=event.node.name,
        action=ACTIONS[event.label],
        label=event.label,
        reason=event.reason,
        differs=[],
        because=[*event.output_from],
        cost_usd=None,
        note=note,
    )
