"""Lanes: a thread, or a task or greenlet that runs beside others. Calls of one come in the same order each time."""

import itertools
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from forkpoint.entropy import random_bytes
from forkpoint.lanes.task_chains import is_awaited_by_thread

P = ParamSpec("P")
R = TypeVar("R")
# Lanes are numbered by their first calls, and tasks of asyncio by the order in which they were made. In a program that
# does the same again, most get the same numbers again.
_thread_numbers: Final = itertools.count(1)
_branch_numbers: Final = itertools.count(1)
_TASK_NAME: Final = re.compile(r"Task-(\d{1,20})", re.ASCII)
_threads: Final = threading.local()
_job_numbers: Final[WeakKeyDictionary[Any, Iterator[int]]] = WeakKeyDictionary()
_branches: Final[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()
# Numbers of processes are not enough: containers count on their own.
_processes: Final[dict[int, str]] = {}
_awaited_tasks: Final[WeakKeyDictionary[Any, bool]] = WeakKeyDictionary()


def current_lane() -> str:
    """Return the name of the lane that runs this code, and behind a slash the task, or job of a pool, that it works on.

    A thread works on many, one after the other. Which thread of a pool does a job, is another one each time.
    """
    if (process := _processes.get(os.getpid())) is None:
        process = _processes[os.getpid()] = random_bytes(4).hex()
    if (task := _asyncio_task()) is not None:
        number = _task_number(task)
        place = f"{_thread_number() if _is_awaited(task) else number}/{number}"
    elif (branch := _trio_task() or _greenlet()) is not None:
        place = _branch_number(branch)
    else:
        place = f"{_thread_number()}{getattr(_threads, 'job', '')}"
    return f"{process}-{place}"


def as_job(pool: Any, function: Callable[P, R]) -> Callable[P, R]:
    """Return a function as the next job of a pool of threads: its calls are known by the number of the job."""
    job = f"/{next(_job_numbers.setdefault(pool, itertools.count(1)))}"

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        outer_job, _threads.job = getattr(_threads, "job", ""), job
        try:
            return function(*args, **kwargs)
        finally:
            _threads.job = outer_job

    return run


def _thread_number() -> int:
    number: int | None = getattr(_threads, "number", None)
    if number is None:
        # Not the thread's own number: another thread gets that later.
        number = _threads.number = next(_thread_numbers)
    return number


def _task_number(task: Any) -> str:
    """Return the number by which asyncio names a task unless the program names it."""
    # Not every library's tasks have names.
    get_name = getattr(task, "get_name", None)
    name = None if get_name is None else _TASK_NAME.fullmatch(str(get_name()))
    return f"task{name[1]}" if name else _branch_number(task)


def _branch_number(branch: Any) -> str:
    if (number := _branches.get(branch)) is None:
        number = _branches.setdefault(branch, next(_branch_numbers))
    return f"branch{number}"


def _asyncio_task() -> Any:
    """Return the current task of asyncio; None without one."""
    asyncio = sys.modules.get("asyncio")
    return None if asyncio is None or asyncio._get_running_loop() is None else asyncio.current_task()


def _is_awaited(task: Any) -> bool:
    """Return whether the thread of a task waits for it."""
    if (is_awaited := _awaited_tasks.get(task)) is None:
        # Decided at its first call: who waits for it does so until it ends.
        is_awaited = _awaited_tasks[task] = is_awaited_by_thread(task)
    return is_awaited


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
