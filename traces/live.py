"""Wake-ups for live views: a hint that something changed, never the data itself."""

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction


def touch(group: str) -> None:
    """On commit, wake whoever watches `group`: `runs`, `run.<id>` or `replay.<id>`.

    A wake-up that cannot be sent is logged and dropped: the change is stored, and views catch up by themselves.
    """

    def wake() -> None:  # a named function: Django names what failed, which a partial has no name for
        _wake(group)

    transaction.on_commit(wake, robust=True)


def _wake(group: str) -> None:
    layer = get_channel_layer()
    if layer is not None:
        async_to_sync(layer.group_send)(group, {"type": "wake"})
