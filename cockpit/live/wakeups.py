"""Subscriptions to wake-ups. During an outage of the channel layer, readers poll instead."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final

import structlog
from channels.layers import get_channel_layer

from traces.notify import ACCESS

log = structlog.get_logger("cockpit.live.consumer")
# Pause before a retry.
_PAUSE_S: Final = 1.0
_RENEW_S: Final = 5.0
_PATIENCE_S: Final = 0.5


class Subscription:
    """The wake-ups of one group, and those of access; each one sets `event`.

    A slow or unavailable layer does not block: readers start without it. Once the group is joined, `event` is set for
    changes in the meantime.
    """

    def __init__(self, group: str, event: asyncio.Event) -> None:
        self._group, self._event = group, event
        self._groups = (group, ACCESS)
        self._has_access_changed = False
        self._layer: Any = get_channel_layer()
        self._channel = ""
        self._join_event = asyncio.Event()
        self._has_missed = False
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start listening. Wake-ups missed during an outage set `event` afterwards."""
        work: list[Coroutine[Any, Any, None]] = [self._listen(), self._renew()]
        self._tasks = [asyncio.create_task(coroutine) for coroutine in work]
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._join_event.wait()
        except TimeoutError:
            self._has_missed = True

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._channel:
            with suppress(Exception):  # the membership expires
                for group in self._groups:
                    await self._layer.group_discard(group, self._channel)

    def take_access_change(self) -> bool:
        """Return whether anyone's access has changed since the last call."""
        has_changed, self._has_access_changed = self._has_access_changed, False
        return has_changed

    async def _listen(self) -> None:
        while True:
            try:
                if not self._channel:
                    await self._join()
                message = await self._layer.receive(self._channel)
                if message.get("group") == ACCESS:
                    self._has_access_changed = True
                self._event.set()
            except Exception as error:  # noqa: BLE001  # any error of the layer; it may recover
                log.warning("wake_ups_missing", group=self._group, error=f"{type(error).__name__}: {error}")
                self._channel, self._has_missed = "", True
                await asyncio.sleep(_PAUSE_S)

    async def _join(self) -> None:
        channel = await self._layer.new_channel()
        for group in self._groups:
            await self._layer.group_add(group, channel)
        self._channel = channel
        self._join_event.set()
        if self._has_missed:
            self._event.set()
            self._has_missed = False

    async def _renew(self) -> None:
        """Renew the membership regularly: an emptied Redis loses it without an error."""
        while True:
            await asyncio.sleep(_RENEW_S)
            if self._channel:
                with suppress(Exception):  # `_listen` logs the error
                    for group in self._groups:
                        await self._layer.group_add(group, self._channel)
