"""Rate limits count every request, whatever happens at the beginning or the end of a window."""

from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.cache import cache

from traces.http.throttling import TooManyRequests, Window

_ADDRESS = "192.0.2.7"


def _window() -> Window:
    return Window(name=uuid4().hex, limit=2, seconds=60)


def test_requests_that_begin_a_window_at_once_are_all_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    window = _window()
    add = cache.add

    def add_second(*arguments: Any) -> bool:
        monkeypatch.undo()
        window.count(_ADDRESS, "too many")
        return bool(add(*arguments))

    monkeypatch.setattr(cache, "add", add_second)
    window.count(_ADDRESS, "too many")
    with pytest.raises(TooManyRequests):
        window.count(_ADDRESS, "too many")


@pytest.mark.skipif(settings.EMBEDDED, reason="counts in memory, in one step")
def test_every_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old one ends while its number is looked up: Redis would begin another one that never ends."""
    window = _window()
    redis_cache: Any = cache
    client = redis_cache._cache.get_client()
    exists = type(client).exists

    def exists_until_then(self: Any, key: str) -> Any:
        count = exists(self, key)
        self.delete(key)
        return count

    window.count(_ADDRESS, "too many")
    monkeypatch.setattr(type(client), "exists", exists_until_then)
    window.count(_ADDRESS, "too many")
    monkeypatch.undo()
    [key] = client.keys(f"*{window.name}*")
    assert 0 < client.ttl(key) <= window.seconds
