"""Work that tests do themselves, in the place of a worker."""

from collections.abc import Callable
from uuid import UUID

import pytest

from traces import enqueue


def held(monkeypatch: pytest.MonkeyPatch, *tasks: str, into: Callable[[str, str], object] | None = None) -> list[str]:
    """Queue none of these tasks, by name, or nothing at all; what would be queued is in the list, and told `into`."""
    really, queued = enqueue.send, list[str]()

    def send(task: str, *ids: UUID | str) -> bool:
        if tasks and task not in tasks:
            return really(task, *ids)
        for id in map(str, ids):
            queued.append(id)
            if into is not None:
                into(task, id)
        return True

    monkeypatch.setattr(enqueue, "send", send)
    return queued
