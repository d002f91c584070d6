"""Lanes: a thread, or a task or greenlet that runs beside others. Calls of one come in the same order each time."""

import itertools
import os
import sys
import threading
from contextlib import suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

from forkpoint.entropy import random_bytes
from forkpoint.lanes.task_chains import is_awaited_by_thread

_counter: Final = itertools.count(1)
_threads: Final = threading.local()
_branches: Final[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()
# Numbers of processes are not enough: containers count on their own.
_processes: Final[dict[int, str]] = {}
_awaited_tasks: Final[WeakKeyDictionary[Any, bool]] = WeakKeyDictionary()


def current_lane() -> str:
    """Return the name of the lane that runs this code."""
    if (process := _processes.get(os.getpid())) is None:
        process = _processes[os.getpid()] = random_bytes(4).hex()
    branch = _asyncio_task() or _trio_task() or _greenlet()
    return f"{process}-{_thread_number() if branch is None else _branches.setdefault(branch, next(_counter))}"


def _thread_number() -> int:
    number: int | None = getattr(_threads, "number", None)
    if number is None:
        # Not the thread's own number: another thread gets that later.
        number = _threads.number = next(_counter)
    return number


def _asyncio_task() -> Any:
    """Return the current task of asyncio; None without one, and for one that its thread waits for."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None or (task := asyncio.current_task()) is None:
        return None
    if (is_awaited := _awaited_tasks.get(task)) is None:
        # Decided at its first call: who waits for it does so until it ends.
        is_awaited = _awaited_tasks[task] = is_awaited_by_thread(task)
    return None if is_awaited else task


def _trio_task() -> Any:
    trio = sys.modules.get("trio")
    # It raises outside of tasks.
    with suppress(RuntimeError):
        return None if trio is None else trio.lowlevel.current_task()
    return None


def _greenlet() -> Any:
    """Return the current greenlet, as of gevent; None for the one in which its thread began."""
    greenlet = sys.modules.get("greenlet")
    current = None if greenlet is None else greenlet.getcurrent()
    return current if current is not None and current.parent is not None else None
