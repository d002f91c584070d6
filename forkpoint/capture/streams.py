"""Streams of answers, passed through unchanged and recorded when they end."""

from collections.abc import Awaitable, Callable
from typing import Any

from forkpoint.capture.model_calls import ModelCall
from forkpoint.encoding import Late

# Puts the events of a stream together to one answer.
Assemble = Callable[[list[Any]], Any]


class StreamRecording:
    """The events of one stream."""

    def __init__(self, call: ModelCall, assemble: Assemble) -> None:
        self._events: list[Any] = []
        self._call = call
        self._assemble = assemble

    def take(self, fetch: Callable[[], Any]) -> Any:
        """Return the next event, and record it, the end of the stream, or its error."""
        try:
            event = fetch()
        except StopIteration:
            self._call.finish(self._answer())
            raise
        except BaseException as error:
            self._call.fail(error, self._answer())
            raise
        self._events.append(event)
        return event

    async def take_async(self, fetch: Callable[[], Awaitable[Any]]) -> Any:
        """Return the next event of an asynchronous stream, likewise."""
        try:
            event = await fetch()
        except StopAsyncIteration:
            self._call.finish(self._answer())
            raise
        except BaseException as error:
            self._call.fail(error, self._answer())
            raise
        self._events.append(event)
        return event

    def cut_off(self) -> None:
        """Record that the consumer stopped reading, unless the stream has ended."""
        self._call.cut_off(self._answer())

    def _answer(self) -> Late:
        """Return the answer, which is put together on the background thread: a stream has hundreds of events."""
        events, assemble = list(self._events), self._assemble
        return Late(lambda: assemble(events))


class _RecordedStream:
    """What the iterators share."""

    def __init__(self, iterator: Any, call: ModelCall, assemble: Assemble) -> None:
        self._iterator = iterator
        self._recording = StreamRecording(call, assemble)

    def cut_off(self) -> None:
        self._recording.cut_off()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)

    def __del__(self) -> None:
        self._recording.cut_off()


class RecordedIterator(_RecordedStream):
    """An iterator that records what passes through it."""

    def __iter__(self) -> "RecordedIterator":
        return self

    def __next__(self) -> Any:
        return self._recording.take(self._iterator.__next__)


class RecordedAsyncIterator(_RecordedStream):
    """An asynchronous iterator that records what passes through it."""

    def __aiter__(self) -> "RecordedAsyncIterator":
        return self

    async def __anext__(self) -> Any:
        return await self._recording.take_async(self._iterator.__anext__)


def record_in_place(stream: Any, call: ModelCall, assemble: Assemble) -> None:
    """Record a stream of a class whose users check it: the object stays, and gets a subclass of its class."""
    recording = StreamRecording(call, assemble)
    base = type(stream)
    methods: dict[str, Any] = {"__del__": lambda self: recording.cut_off()}
    if hasattr(base, "__next__"):
        methods["__next__"] = lambda self: recording.take(lambda: base.__next__(self))
    if hasattr(base, "__anext__"):
        methods["__anext__"] = lambda self: recording.take_async(lambda: base.__anext__(self))
    stream.__class__ = type(base.__name__, (base,), methods)
