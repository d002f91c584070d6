"""Execution strategy of a session; features that create sessions can override it."""

from collections.abc import Callable, Mapping
from uuid import UUID

from replay.core.events import Event
from replay.core.graph import Graph
from replay.execution.calls.attempts import AttemptJournal
from replay.execution.derived_run.checkpoints import Checkpoints
from replay.execution.live_environment import LiveEnvironment
from replay.models import ReplaySession
from replay.store.payload_reader import Payloads
from traces.models import Step


class Execution:
    """The strategy of an ordinary replay. `counterpart`: the run that the source is compared with, if there is one."""

    counterpart: UUID | None = None

    def extend_graph(self, graph: Graph) -> Graph:
        """Add further known data flow to the source's graph."""
        return graph

    def environment(
        self, checkpoints: Checkpoints, journal: AttemptJournal, payloads: Payloads, committed_steps: Mapping[int, Step]
    ) -> LiveEnvironment:
        """Create the environment that answers the calls."""
        return LiveEnvironment(checkpoints, journal, payloads, committed_steps)

    def inspect(self, event: Event) -> None:
        """Inspect an event before it is written; raises `ReplayFailure` if the replay must not continue."""


ExecutionFactory = Callable[[ReplaySession, Payloads], Execution]


def ordinary_execution(session: ReplaySession, payloads: Payloads) -> Execution:
    """Return the strategy of a session that no other feature created."""
    return Execution()
