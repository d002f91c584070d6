"""Streams of answers, passed through unchanged and recorded when they end."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from forkpoint.capture.model_calls import ModelCall
from forkpoint.encoding import Late

# Puts the events of a stream together to one answer.
Assemble = Callable[[list[Any]], Any]


class _Recording:
    """The events of one stream."""

    def __init__(self, call: ModelCall, assemble: Assemble) -> None:
        self.events: list[Any] = []
        self._call = call
        self._assemble = assemble

    def finish(self) -> None:
        self._call.finish(self._answer())

    def fail(self, error: BaseException) -> None:
        if isinstance(error, GeneratorExit):
            self.cut_off()
        else:
            self._call.fail(error, self._answer())

    def cut_off(self) -> None:
        self._call.cut_off(self._answer())

    def _answer(self) -> Late:
        """Return the answer, which is put together on the background thread: a stream has hundreds of events."""
        events, assemble = list(self.events), self._assemble
        return Late(lambda: assemble(events))


class RecordedIterator:
    """An iterator that records what passes through it."""

    def __init__(self, iterator: Iterator[Any], call: ModelCall, assemble: Assemble) -> None:
        self._iterator = iterator
        self._recording = _Recording(call, assemble)

    def __iter__(self) -> "RecordedIterator":
        return self

    def __next__(self) -> Any:
        try:
            event = next(self._iterator)
        except StopIteration:
            self._recording.finish()
            raise
        except BaseException as error:
            self._recording.fail(error)
            raise
        self._recording.events.append(event)
        return event

    def cut_off(self) -> None:
        self._recording.cut_off()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)

    def __del__(self) -> None:
        self._recording.cut_off()


class RecordedAsyncIterator:
    """An asynchronous iterator that records what passes through it."""

    def __init__(self, iterator: AsyncIterator[Any], call: ModelCall, assemble: Assemble) -> None:
        self._iterator = iterator
        self._recording = _Recording(call, assemble)

    def __aiter__(self) -> "RecordedAsyncIterator":
        return self

    async def __anext__(self) -> Any:
        try:
            event = await anext(self._iterator)
        except StopAsyncIteration:
            self._recording.finish()
            raise
        except BaseException as error:
            self._recording.fail(error)
            raise
        self._recording.events.append(event)
        return event

    def cut_off(self) -> None:
        self._recording.cut_off()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)

    def __del__(self) -> None:
        self._recording.cut_off()
