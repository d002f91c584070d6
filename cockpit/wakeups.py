"""Hearing wake-ups. Without the channel layer there are none: views catch up by themselves until it is back."""

import asyncio
from contextlib import suppress
from typing import Any, Final

import structlog
from channels.layers import get_channel_layer

log = structlog.get_logger("cockpit.live")
_PAUSE_S: Final = 1.0  # before it is tried again


class Subscription:
    """The wake-ups of one group, each of which sets `woken`."""

    def __init__(self, group: str, woken: asyncio.Event) -> None:
        self._group, self._woken = group, woken
        self._layer: Any = get_channel_layer()
        self._channel = ""
        self._listening: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """From now on nothing is missed, if the layer is there."""
        with suppress(Exception):  # `_listen` tries again and says what is wrong
            await self._join()
        self._listening = asyncio.create_task(self._listen())

    async def refresh(self) -> None:
        """Join again: a Redis that was emptied has forgotten who listens."""
        if self._channel:
            with suppress(Exception):  # as above
                await self._layer.group_add(self._group, self._channel)

    async def stop(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        if self._channel:
            with suppress(Exception):  # it expires by itself
                await self._layer.group_discard(self._group, self._channel)

    async def _join(self) -> None:
        channel = await self._layer.new_channel()
        await self._layer.group_add(self._group, channel)
        self._channel = channel

    async def _listen(self) -> None:
        while True:
            try:
                if not self._channel:
                    await self._join()
                    self._woken.set()  # by what nobody heard
                await self._layer.receive(self._channel)
                self._woken.set()
            except Exception as error:  # noqa: BLE001  # of the layer, of any kind; it may come back
                log.warning("wake_ups_missing", group=self._group, error=f"{type(error).__name__}: {error}")
                self._channel = ""
                await asyncio.sleep(_PAUSE_S)
