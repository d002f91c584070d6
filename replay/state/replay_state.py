"""All that changes during one replay. Pure."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

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


class ReplayState:
    """What became of the source's steps so far, by their numbers in the source."""

    def __init__(self, context: ReplayContext) -> None:
        graph = context.graph
        self.queue = StepQueue(graph.nodes)
        self.histories = Histories(context.environment)
        self.tasks = SubAgentTasks(context)
        self.numbers: dict[int, int] = {}
        self.containers = OpenContainers(graph, self.numbers)
        self.changes: dict[int, Change] = {}
        self.changed: list[int] = []  # in order; some may have been taken back
        self.labels: dict[int, tuple[Label, Reason]] = {}
        self.statuses: dict[int, StepStatus] = {}
        self.assumed: set[int] = set()  # taken to be unaffected, or made from what is
        self.gone: set[int] = set()
        self.next_number = graph.fork
        self.numbers_moved = False  # a step has another number than its source

    def take_number(self) -> int:
        """The next number of the derived run."""
        self.next_number += 1
        return self.next_number - 1

    def number(self, node: Node) -> int:
        """The next number of the derived run, as that of a source step."""
        number = self.take_number()
        self.numbers_moved |= number != node.no
        self.numbers[node.no] = number
        return number

    def number_all(self, nodes: Iterable[Node]) -> int:
        """The next numbers for steps that follow one another; returns how much higher these are."""
        steps = list(nodes)
        offset = self.next_number - steps[0].no
        if offset:
            self.numbers_moved = True
            self.numbers.update({node.no: node.no + offset for node in steps})
        self.next_number += len(steps)
        return offset

    def parent_of(self, source_parent: int | None) -> int | None:
        """The number in the derived run of what holds a source step."""
        return None if source_parent is None else self.numbers.get(source_parent, source_parent)

    def say(self, change: Change) -> None:
        """From now on a step says something else than it was recorded to say."""
        no = change.node.no
        self.changes[no] = change
        at = bisect_left(self.changed, no)
        if at == len(self.changed) or self.changed[at] != no:
            insort(self.changed, no)
        self.containers.changed(change.node)

    def resolved(self, node: Node, answer: Answer) -> None:
        """Remember status and label of a source step."""
        self.statuses[node.no] = answer.status
        if answer.label is not None and answer.reason is not None:
            self.labels[node.no] = (answer.label, answer.reason)
        if answer.reason is Reason.ASSUMED_UNAFFECTED:
            self.assumed.add(node.no)

    def label_of(self, node: Node) -> tuple[Label, Reason]:
        return self.labels.get(node.no, (Label.SIMULATED, Reason.POLICY_FALLBACK))

    def waits_for_live(self, no: int) -> bool:
        """Whether what a step says, or what is said inside of it, comes from a live call."""
        return self.labels.get(no, (None, None))[1] in LIVE_REASONS or no in self.containers.live

    def drop(self, nodes: Iterable[Node], why: str, *, told: bool = False) -> Iterator[StepSkipped]:
        """These steps do not take place any more."""
        for node in nodes:
            if not self.queue.is_done(node):
                self.queue.done(node)
                self.gone.add(node.no)
                yield StepSkipped(node=node, why=why, told=told)
