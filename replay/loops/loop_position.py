"""Position of a diverged loop in its recording, and the recorded steps around it. Pure."""

from bisect import bisect_right
from collections.abc import Iterator

from replay.core.events import Advance, DriverEvent
from replay.core.graph import Node
from replay.detection.intermediate_messages import follows_user_message
from replay.detection.loops import Loop
from replay.loops.replay_parts import ReplayParts


class LoopPosition:
    """Position in a recorded loop; `model` is the last recorded model step that the replay has reached."""

    def __init__(self, parts: ReplayParts, loop: Loop, start: Node, *, is_at_end: bool) -> None:
        """`is_at_end` if the answer of model step `start` requests no calls, so that the loop ends with it."""
        self._context = parts.context
        self._graph = parts.context.graph
        self._state = parts.state
        self.loop = loop
        self.start = start
        self.model = start
        # By the model step before it: finding one reads recorded messages.
        self._next_user_turns: dict[int, int] = {}
        end = self.next_user_turn() if is_at_end else loop.last + 1
        # Recorded steps after the divergence that have not run yet.
        self.later_steps = [step for step in loop.steps_between(start.no, end) if not parts.state.queue.is_done(step)]

    def advance_to(self, node: Node) -> Iterator[DriverEvent]:
        """Run what precedes a recorded step: its containers, and the steps at their start."""
        containers = [self._graph.by_no[no] for no in self.loop.containers.get(node.no, ())]
        self._state.queue.release(containers)
        self._state.queue.release(self.other_steps(node.no, {*(step.no for step in containers)}))
        yield Advance(before=node.no)

    def other_steps(self, before: int, containers: set[int]) -> list[Node]:
        """Steps other than models and calls below `before`, whose containers have run or are in `containers`."""
        graph, is_done = self._graph, self._state.queue.is_done
        steps: list[Node] = []
        for step in self.loop.other_steps:
            path = self.loop.containers.get(step.no, ())
            if self.model.no < step.no < before and all(
                no in containers or no < graph.fork or is_done(graph.by_no[no]) for no in path
            ):
                steps += [step, *graph.descendants(step.no)]
        return steps

    def parent_number(self, node: Node) -> int | None:
        """Number of a recorded step's parent in the derived run."""
        path = self.loop.containers.get(node.no, ())
        return self._state.parent_of(path[-1] if path else self.loop.parent)

    def next_model(self) -> Node | None:
        """Recorded model step in the place of the next model call, unless a user message precedes it."""
        model = next(self.loop.models_after(self.model.no), None)
        return None if model is None or self._follows_user_message(model) else model

    def next_part(self) -> int:
        """Number of the first recorded call or model step that the replay has not reached."""
        parts = self.loop.parts
        index = bisect_right(parts, self.model.no)
        return parts[index] if index < len(parts) else self.loop.last + 1

    def next_user_turn(self) -> int:
        """Number of the next model step after a user message, or of the first step after the loop."""
        if self.model.no not in self._next_user_turns:
            later_models = self.loop.models_after(self.model.no)
            numbers = (model.no for model in later_models if self._follows_user_message(model))
            self._next_user_turns[self.model.no] = next(numbers, self.loop.last + 1)
        return self._next_user_turns[self.model.no]

    def _follows_user_message(self, model: Node) -> bool:
        return follows_user_message(self._context, model)
