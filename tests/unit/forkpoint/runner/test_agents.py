"""The agents that a runner has started."""

import os
import queue
import signal
from uuid import uuid4

from forkpoint.runner.agents import RunningAgent, RunningAgents
from forkpoint.runner.child import Child
from tests.support.patience import patience_s


def test_session_has_one_agent_at_a_time() -> None:
    codes: queue.Queue[int] = queue.Queue()
    agent = RunningAgent("s1", 1)
    agent.child = Child(
        ["sleep", "60"], os.environ, mark=uuid4().hex, text=None, print_line=agent.print_line, report=codes.put
    )
    agents = RunningAgents()
    agents.add(agent)
    agents.add(RunningAgent("s1", 2))
    assert codes.get(timeout=patience_s(10)) == -signal.SIGKILL
    assert [item.attempt for item in agents] == [2]
