"""Report events to the rerun that this process is a part of."""

from typing import Protocol

from forkpoint.transport.writer import Line


class Session(Protocol):
    """The rerun."""

    def report(self, lines: list[str]) -> None:
        """Report events; without an answer the process ends."""


class SessionSink:
    """Events on the way to a rerun. The writer's thread waits until the server has them, so that none is lost."""

    dropped_events = 0

    def __init__(self, session: Session) -> None:
        self._session = session
        self._count = 0

    def write(self, lines: list[Line]) -> None:
        if lines:
            self._session.report([line.text for line in lines])
            self._count += len(lines)

    def flush(self, timeout_s: float) -> bool:
        return True

    def close(self, timeout_s: float) -> None:
        """Do nothing: what was written has arrived."""

    def stats(self) -> dict[str, int]:
        return {"sent": self._count}

    def reset(self) -> None:
        self._count = 0
