"""Hearing wake-ups. Without the channel layer there are none: views catch up by themselves until it is back."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final

import structlog
from channels.layers import get_channel_layer

log = structlog.get_logger("cockpit.live.consumer")
_PAUSE_S: Final = 1.0  # before it is tried again
_RENEW_S: Final = 5.0
_PATIENCE_S: Final = 0.5


class Subscription:
    """The wake-ups of one group, each of which sets `woken`.

    A layer that is away or slow holds nobody up: who reads begins without it, and `woken` is set once it has been
    joined, for what changed meanwhile.
    """

    def __init__(self, group: str, woken: asyncio.Event) -> None:
        self._group, self._woken = group, woken
        self._layer: Any = get_channel_layer()
        self._channel = ""
        self._joined = asyncio.Event()
        self._missed = False
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """From now on nothing is missed, or `woken` is set when it is over."""
        work: list[Coroutine[Any, Any, None]] = [self._listen(), self._renew()]
        self._tasks = [asyncio.create_task(one) for one in work]
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._joined.wait()
        except TimeoutError:
            self._missed = True

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._channel:
            with suppress(Exception):  # it expires by itself
                await self._layer.group_discard(self._group, self._channel)

    async def _listen(self) -> None:
        while True:
            try:
                if not self._channel:
                    await self._join()
                await self._layer.receive(self._channel)
                self._woken.set()
            except Exception as error:  # noqa: BLE001  # of the layer, of any kind; it may come back
                log.warning("wake_ups_missing", group=self._group, error=f"{type(error).__name__}: {error}")
                self._channel, self._missed = "", True
                await asyncio.sleep(_PAUSE_S)

    async def _join(self) -> None:
        channel = await self._layer.new_channel()
        await self._layer.group_add(self._group, channel)
        self._channel = channel
        self._joined.set()
        if self._missed:
            self._woken.set()
            self._missed = False

    async def _renew(self) -> None:
        """A Redis that was emptied has forgotten who listens, and does not say so."""
        while True:
            await asyncio.sleep(_RENEW_S)
            if self._channel:
                with suppress(Exception):  # `_listen` says what is wrong
                    await self._layer.group_add(self._group, self._channel)
