"""The agents that a runner has started, what they printed, and how they ended, until the server has it."""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from forkpoint.runner.child import Child

_MOST_LINES: Final = 2_000
_MOST_AT_ONCE: Final = 500


class RunningAgent:
    """One start of an agent."""

    def __init__(self, session: str, attempt: int) -> None:
        self.session = session
        self.attempt = attempt
        self.child: Child | None = None
        # The message of its end, which follows its last line.
        self.end: dict[str, Any] | None = None
        self._lines: deque[dict[str, Any]] = deque(maxlen=_MOST_LINES)
        self._count = 0
        self._sent_no = 0
        self._lock = threading.Lock()

    def print_line(self, stream: str, text: str) -> None:
        """Keep a line until the server has stored it; of too many the oldest go."""
        with self._lock:
            self._count += 1
            at = datetime.now(UTC).isoformat()
            self._lines.append({"no": self._count, "stream": stream, "text": text, "at": at})

    def report(self, code: int, error: str = "") -> None:
        """Note how the agent ended."""
        self.end = {"type": "exit", "session": self.session, "attempt": self.attempt, "code": code, "error": error}

    def message(self) -> dict[str, Any] | None:
        """Return the next lines for the server."""
        with self._lock:
            lines = [line for line in self._lines if line["no"] > self._sent_no][:_MOST_AT_ONCE]
            if not lines:
                return None
            self._sent_no = lines[-1]["no"]
        return {"type": "output", "session": self.session, "attempt": self.attempt, "lines": lines}

    def forget(self, no: int) -> None:
        """Forget the lines that the server has stored."""
        with self._lock:
            while self._lines and self._lines[0]["no"] <= no:
                self._lines.popleft()

    def repeat(self) -> None:
        """Send again what the server may not have got before the connection was lost."""
        with self._lock:
            self._sent_no = self._lines[0]["no"] - 1 if self._lines else self._count

    @property
    def is_stored(self) -> bool:
        with self._lock:
            return not self._lines


class RunningAgents:
    """The agents of one runner, by session."""

    def __init__(self) -> None:
        self._agents: dict[str, RunningAgent] = {}
        self._lock = threading.Lock()

    def __iter__(self) -> Any:
        with self._lock:
            return iter([*self._agents.values()])

    def __len__(self) -> int:
        return sum(agent.end is None for agent in self)

    def add(self, agent: RunningAgent) -> None:
        """Add an agent, and end an earlier one of its session: two would do everything twice."""
        with self._lock:
            earlier_agent = self._agents.get(agent.session)
            self._agents[agent.session] = agent
        if earlier_agent is not None and earlier_agent is not agent and earlier_agent.child is not None:
            earlier_agent.child.end_now()

    def find(self, message: Mapping[str, Any]) -> RunningAgent | None:
        """Return the agent that a message is about."""
        with self._lock:
            return self._agents.get(str(message.get("session")))

    def remove(self, agent: RunningAgent) -> None:
        with self._lock:
            if self._agents.get(agent.session) is agent:
                del self._agents[agent.session]

    def end_all(self, end: Callable[[Child], None] = Child.end) -> None:
        for agent in self:
            if agent.child is not None and agent.end is None:
                end(agent.child)
