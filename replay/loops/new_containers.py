"""Choose parent containers for steps that are not in the recording. Pure."""

from collections.abc import Generator, Sequence

from replay.core.calls import Answer, Call, label_key
from replay.core.events import Advance, DriverEvent, StepResolved
from replay.core.graph import Node
from replay.detection.loops import Loop
from replay.loops.replay_parts import ReplayParts
from replay.loops.tool_calls import TurnCalls
from traces.core.vocabulary import Label, Reason


class NewContainers:
    """Containers for new steps of a loop that diverged at answer `first`."""

    def __init__(self, parts: ReplayParts, loop: Loop, calls: TurnCalls, first: Answer) -> None:
        self._state = parts.state
        self._graph = parts.context.graph
        self._loop = loop
        self._calls = calls
        self._first = first

    @property
    def model_path(self) -> tuple[int, ...]:
        """Containers around the loop's model steps."""
        return self._loop.containers.get(self._loop.models[-1].no, ())

    def call_path(self, at: Node, recorded_calls: Sequence[Node]) -> tuple[int, ...]:
        """Containers for a new call: those of the calls in its place, else of any call."""
        later_models = (model.no for model in self._loop.models if model.no > at.no)
        end = next(later_models, self._loop.last + 1)
        unused_calls = [call for call in self._loop.calls if at.no < call.no < end and not self._calls.is_used(call)]
        candidates = recorded_calls or unused_calls or list(self._loop.calls)
        return self._loop.containers.get(candidates[0].no, ()) if candidates else ()

    def open(self, path: Sequence[int], at: Node) -> Generator[DriverEvent, None, int | None]:
        """Open containers, recorded or new; returns the number of the innermost."""
        state = self._state
        parent = state.parent_of(self._loop.parent)
        for no in path:
            container = self._graph.by_no[no]
            if no < self._graph.fork:
                parent = no
            elif state.queue.is_done(container) or no < at.no:
                parent = yield from self._create(container, parent, at)
            else:
                state.queue.release([container])
                yield Advance(before=no + 1)
                parent = state.parent_of(no)
        return parent

    def _create(self, container: Node, parent: int | None, at: Node) -> Generator[DriverEvent, None, int]:
        """Create a container that is not in the recording."""
        call = Call(
            no=self._state.take_number(),
            parent=parent,
            type=container.type,
            name=container.name,
            input=None,
            changed=True,
            because=(at.no,),
        )
        label, reason = self._label()
        yield StepResolved(
            call=call,
            answer=Answer(
                action="cache" if label is Label.CACHED else "simulate",
                label=label,
                reason=reason,
                detail={**label_key(), "divergence": "new"},
                note="Contains new steps",
            ),
        )
        return call.no

    def _label(self) -> tuple[Label, Reason]:
        """Label for containers created after divergence: that of the diverging answer."""
        if self._first.label in {Label.CACHED, Label.SIMULATED} and self._first.reason is not None:
            return self._first.label, self._first.reason
        return Label.SIMULATED, Reason.POLICY_FALLBACK
