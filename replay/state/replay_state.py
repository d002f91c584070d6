"""Mutable state of one replay. Pure."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Final

from replay.core.calls import LIVE_REASONS, Answer
from replay.core.context import ReplayContext
from replay.core.events import StepSkipped
from replay.core.graph import Node
from replay.inputs.changes import Change
from replay.state.histories import Histories
from replay.state.open_containers import OpenContainers
from replay.state.step_queue import StepQueue
from replay.state.subagent_tasks import SubAgentTasks
from traces.core.vocabulary import Label, Reason, StepStatus

# The recorded call, or this one, might have another answer.
_ASSUMPTIONS: Final = frozenset({Reason.ASSUMED_UNAFFECTED, Reason.CACHE_SEMANTIC})


class ReplayState:
    """Outcomes of source steps so far, by source step number."""

    def __init__(self, context: ReplayContext) -> None:
        graph = context.graph
        self.queue = StepQueue(graph.nodes)
        self.histories = Histories()
        self.tasks = SubAgentTasks(context)
        self.numbers: dict[int, int] = {}
        self.containers = OpenContainers(graph, self.numbers)
        self.changes: dict[int, Change] = {}
        # Sorted; may contain steps whose change was reverted
        self.changed_numbers: list[int] = []
        self.labels: dict[int, tuple[Label, Reason]] = {}
        self.statuses: dict[int, StepStatus] = {}
        # Labelled assumed_unaffected or cached by meaning, or derived from such steps
        self.assumed_steps: set[int] = set()
        # Steps with an override as output whose input is assumed
        self.assumed_requests: set[int] = set()
        # Steps inside recorded calls that are made in another turn than recorded
        self.moved_steps: set[int] = set()
        self.skipped_steps: set[int] = set()
        # Models that request other calls than recorded, outside of any loop
        self.unfollowed_steps: set[int] = set()
        self.next_number = graph.fork
        # Some step has a different number than its source
        self.numbers_moved = False

    def take_number(self) -> int:
        """Allocate the next step number of the derived run."""
        self.next_number += 1
        return self.next_number - 1

    def number(self, node: Node) -> int:
        """Allocate the next number of the derived run for a source step."""
        number = self.take_number()
        self.numbers_moved |= number != node.no
        self.numbers[node.no] = number
        return number

    def number_block(self, nodes: Iterable[Node]) -> int:
        """Allocate numbers for consecutive source steps; returns their offset from the source."""
        steps = list(nodes)
        offset = self.next_number - steps[0].no
        if offset:
            self.numbers_moved = True
            self.numbers.update({node.no: node.no + offset for node in steps})
        self.next_number += len(steps)
        return offset

    def parent_of(self, source_parent: int | None) -> int | None:
        """Number in the derived run of a source step's parent."""
        return None if source_parent is None else self.numbers.get(source_parent, source_parent)

    def record_change(self, change: Change) -> None:
        """Record that a step's output differs from the recording."""
        no = change.node.no
        self.changes[no] = change
        index = bisect_left(self.changed_numbers, no)
        if index == len(self.changed_numbers) or self.changed_numbers[index] != no:
            insort(self.changed_numbers, no)
        self.containers.mark_changed(change.node)

    def record_answer(self, node: Node, answer: Answer) -> None:
        """Record status and label of a resolved source step."""
        self.statuses[node.no] = answer.status
        if answer.label is not None and answer.reason is not None:
            self.labels[node.no] = (answer.label, answer.reason)
        if answer.reason in _ASSUMPTIONS:
            self.assumed_steps.add(node.no)

    def label_of(self, node: Node) -> tuple[Label, Reason]:
        return self.labels.get(node.no, (Label.SIMULATED, Reason.POLICY_FALLBACK))

    def depends_on_live(self, no: int) -> bool:
        """True if a step's output comes from a live call, its own or a child's."""
        return self.labels.get(no, (None, None))[1] in LIVE_REASONS or no in self.containers.live

    def skip(self, nodes: Iterable[Node], reason: str, *, is_reported: bool = False) -> Iterator[StepSkipped]:
        """Skip steps that no longer run."""
        for node in nodes:
            if not self.queue.is_done(node):
                self.queue.mark_done(node)
                self.skipped_steps.add(node.no)
                yield StepSkipped(node=node, reason=reason, is_reported=is_reported)
