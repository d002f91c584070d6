"""How a session is executed; searches that make sessions of their own execute them otherwise."""

from collections.abc import Callable, Mapping

from replay.core.events import Event
from replay.core.graph import Graph
from replay.execution.calls.attempts import AttemptJournal
from replay.execution.derived_run.checkpoints import Checkpoints
from replay.execution.live_environment import LiveEnvironment
from replay.models import ReplaySession
from replay.store.payload_reader import Payloads
from traces.models import Step


class Execution:
    """An ordinary replay."""

    def completed_graph(self, graph: Graph) -> Graph:
        """The graph of the source, with what else is known of its data flow."""
        return graph

    def environment(
        self, checkpoints: Checkpoints, journal: AttemptJournal, payloads: Payloads, committed: Mapping[int, Step]
    ) -> LiveEnvironment:
        """What answers the calls."""
        return LiveEnvironment(checkpoints, journal, payloads, committed)

    def inspect(self, event: Event) -> None:
        """Look at an event before it is written; raises `Stopped` where the replay must not go on."""


ExecutionOf = Callable[[ReplaySession, Payloads], Execution]


def ordinary(session: ReplaySession, payloads: Payloads) -> Execution:
    """The execution of a session that nobody made for a purpose of its own."""
    return Execution()
