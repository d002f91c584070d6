"""When a run that is still arriving is assembled and when it is sealed. Pure.

A recording is sealed by the first of these: the client finalizes it; its root step has ended and nothing arrived for
the quiet period; nothing arrived for the idle limit, in which case its end was never recorded. If the server was
restarted meanwhile, the process that sends may have died with it: then the quiet period, from the restart, is enough,
unless more arrives. For example, with a quiet period of 5 s and an idle limit of 15 min:

    arrivals                                   sealed
    0 s: root and children, all ended          5 s
    0 s: a child; 60 s: the root, ended        65 s
    0 s: a child                               15 min, `partial`
    0 s: a child; 1 s: the client finalizes    1 s
    0 s: a child; 60 s: the server restarts    65 s, `partial`
    the same; 62 s: a child                    62 s and 15 min, `partial`
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

# Collects the batches of one flush; short enough to be seen at once.
FIRST_LOOK: Final = timedelta(milliseconds=200)
# Assembling a recording takes at most this share of the time, whatever its length.
_MAX_SHARE: Final = 0.1
LONGEST_PAUSE: Final = timedelta(seconds=30)


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long to wait for more: after the root step ended, and if it never ends."""

    quiet: timedelta
    idle: timedelta


def seal_time(
    arrived_at: datetime,
    patience: Patience,
    *,
    has_ended: bool,
    is_final: bool,
    interrupted_at: datetime | None = None,
) -> datetime:
    """Return when a recording is sealed if nothing else arrives. `interrupted_at`: the server was restarted then."""
    if is_final:
        return arrived_at
    usual_time = arrived_at + (patience.quiet if has_ended else patience.idle)
    if interrupted_at is None or interrupted_at < arrived_at:
        return usual_time
    return min(usual_time, interrupted_at + patience.quiet)


def next_refresh(end: datetime, cost: timedelta) -> datetime:
    """Return when a recording may be assembled again, after an assembly that ended at `end` and took `cost`.

    Each assembly reads all segments, so a growing recording would otherwise cost more with every segment.
    """
    return end + min(cost / _MAX_SHARE, LONGEST_PAUSE)
