"""Capture queued tasks, so that tests run them in place of a worker."""

from collections.abc import Callable
from uuid import UUID

import pytest

from traces import enqueue


def capture_tasks(
    monkeypatch: pytest.MonkeyPatch, *tasks: str, callback: Callable[[str, str], object] | None = None
) -> list[str]:
    """Capture these tasks, or all, instead of queueing them; list their ids and pass each to `callback`."""
    send_task, captured_ids = enqueue.send, list[str]()

    def send(task: str, *ids: UUID | str) -> bool:
        if tasks and task not in tasks:
            return send_task(task, *ids)
        for id in map(str, ids):
            captured_ids.append(id)
            if callback is not None:
                callback(task, id)
        return True

    monkeypatch.setattr(enqueue, "send", send)
    return captured_ids
