"""Worker shutdown: sessions are handed over to other workers after the call in flight."""

import mmap
import time
from typing import Final

GRACE_S: Final = 3.0  # for a repeatable call in flight

# Shared with the worker's forked processes, which do not receive the signal themselves.
_flag = mmap.mmap(-1, 1)
_noticed_at: list[float] = []


def request() -> None:
    _flag[0] = 1


def is_requested() -> bool:
    return _flag[0] == 1


def out_of_time() -> bool:
    """True if the grace period of a call in flight is over."""
    if not is_requested():
        return False
    if not _noticed_at:
        _noticed_at.append(time.monotonic())
    return time.monotonic() - _noticed_at[0] > GRACE_S


def reset() -> None:
    """Clear the request when the worker has ended but the process continues."""
    _flag[0] = 0
    _noticed_at.clear()
