"""Whether this worker was asked to end: its replays then go to other workers, each after the call that it is in."""

import mmap
import time
from typing import Final

GRACE_S: Final = 3.0  # how long a call that can be made again may still take

# Shared with the processes that the worker forks, which get no signal of their own.
_begun = mmap.mmap(-1, 1)
_noticed_at: list[float] = []


def request() -> None:
    _begun[0] = 1


def is_requested() -> bool:
    return _begun[0] == 1


def out_of_time() -> bool:
    """Whether a call in the middle has had its grace."""
    if not is_requested():
        return False
    if not _noticed_at:
        _noticed_at.append(time.monotonic())
    return time.monotonic() - _noticed_at[0] > GRACE_S


def reset() -> None:
    """The worker has ended, and this process lives on."""
    _begun[0] = 0
    _noticed_at.clear()
