"""Chains of asyncio's tasks, of which each waits for the next one: their calls come in one order."""

import sys
from typing import Any, Final

# The callback by which a thread waits for a task: it does nothing else meanwhile.
_WAITING: Final = "run_until_complete"
# The callback by which `gather` waits, and the one of `wait_for` in Python 3.11. Those of `wait` and `shield` are none:
# who waits by them may go on before the task has ended.
_GATHERING: Final = "gather.<locals>._done_callback"
_TIMING: Final = "_release_waiter"
# Among more open tasks, one is beside the chain: to look at all of them for each would take the square of their number.
_MOST_TASKS: Final = 32


def is_awaited_by_thread(task: Any) -> bool:
    """Return whether a thread waits for its current task: directly, or by a chain of tasks beside which none is open.

    Then all other calls of the thread come before the task or after it. Beside another open task, the order may be
    another one next time.
    """
    if _is_awaited_directly(task):
        return True
    open_tasks = sys.modules["asyncio"].all_tasks() - {task}
    if len(open_tasks) > _MOST_TASKS:
        return False
    while not _is_awaited_directly(task):
        parent = next((parent for parent in open_tasks if _waits_for(parent, task)), None)
        if parent is None:
            return False
        open_tasks.discard(parent)
        task = parent
    return not open_tasks


def _is_awaited_directly(task: Any) -> bool:
    return any(_WAITING in getattr(callback, "__qualname__", "") for callback in _callbacks(task))


def _callbacks(task: Any) -> list[Any]:
    return [callback for callback, *_ in getattr(task, "_callbacks", None) or ()]


def _waits_for(parent: Any, task: Any) -> bool:
    future = getattr(parent, "_fut_waiter", None)
    return future is not None and (future is task or any(_completes(callback, future) for callback in _callbacks(task)))


def _completes(callback: Any, future: Any) -> bool:
    """Return whether a callback of a task completes a future, which only the tasks that it waits for can complete."""
    if getattr(getattr(callback, "func", None), "__name__", "") == _TIMING:
        return any(value is future for value in callback.args)
    if getattr(callback, "__qualname__", "") == _GATHERING:
        return any(cell.cell_contents is future for cell in callback.__closure__ if cell.cell_contents is not None)
    # A group of tasks.
    return getattr(getattr(callback, "__self__", None), "_on_completed_fut", None) is future
