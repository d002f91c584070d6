"""Lanes: a thread, or a task of asyncio that runs beside others. Calls of one lane come in the same order each time."""

import itertools
import os
import sys
import threading
from typing import Any, Final
from weakref import WeakKeyDictionary

_numbers: Final = itertools.count(1)
_threads: Final = threading.local()
_tasks: Final[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()
# The callback by which a thread waits for a task: it does nothing else meanwhile.
_WAITING: Final = "run_until_complete"


def current_lane() -> str:
    """Return the name of the lane that runs this code."""
    return f"{os.getpid()}-{_task_number() or _thread_number()}"


def _task_number() -> int:
    """Return the number of the current task; 0 without one, and for the one that its thread waits for."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None or (task := asyncio.current_task()) is None:
        return 0
    callbacks = getattr(task, "_callbacks", None) or ()
    if any(_WAITING in getattr(callback, "__qualname__", "") for callback, *_ in callbacks):
        return 0
    return _tasks.setdefault(task, next(_numbers))


def _thread_number() -> int:
    number: int | None = getattr(_threads, "number", None)
    if number is None:
        # Not the thread's own number: another thread gets that later.
        number = _threads.number = next(_numbers)
    return number
