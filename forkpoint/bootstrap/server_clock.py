"""Times of the server by the clock of this machine, which may be another machine's."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True)
class ServerClock:
    """How far the clock of this machine is ahead of the server's, in seconds; 0 where both may be the same."""

    ahead_s: float = 0.0

    @classmethod
    def read(cls, answered_at: str, asked_at: float, received_at: float) -> "ServerClock":
        """Return the clock of a server that stated its time in an answer.

        Times of this machine are in seconds since 1970. However long the answer took, a time between the question and
        its arrival may be that of the same clock. Any other is taken to be in the middle of the two.
        """
        stated_s = datetime.fromisoformat(answered_at).timestamp()
        return cls(0.0 if asked_at <= stated_s <= received_at else (asked_at + received_at) / 2 - stated_s)

    def local_time(self, time: str) -> str:
        """Return a time of the server as this machine's clock showed it."""
        local = datetime.fromisoformat(time).astimezone(UTC) + timedelta(seconds=self.ahead_s)
        return local.isoformat()

    def local_seconds(self, time: str) -> float:
        """Return a time of the server by this machine's clock, in seconds since 1970."""
        return datetime.fromisoformat(self.local_time(time)).timestamp()
