"""Streams of providers that are asked without an SDK: server-sent events, or a line of JSON for each event."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import httpx2
import orjson

from replay.live.providers.failures import Interruption, garbage, incomplete
from replay.live.providers.types import OnText, Provider, StreamResult, Usage
from traces.core.json_access import as_object, as_string, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.formats.tracing.client_calls import model_answer

_DATA: Final = "data:"


class HttpFailure(Exception):
    """An answer that is an error; `body` is what it contains, if that is JSON."""

    def __init__(self, response: httpx2.Response) -> None:
        try:
            self.body: JSONValue = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            self.body = None
        super().__init__(as_string(as_object(self.body).get("error")) or response.text)
        self.response = response
        self.status_code = response.status_code


class EventStream:
    """The events of a response."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response

    def __iter__(self) -> Iterator[JSONObject]:
        for line in self.response.iter_lines():
            if line.startswith((_DATA, "{")):
                event = as_object(orjson.loads(line.removeprefix(_DATA)))
                if event.get("error"):
                    raise Interruption(event)
                yield event


@contextmanager
def open_stream(
    client: httpx2.Client, url: str, headers: Mapping[str, str], body: Mapping[str, Any]
) -> Iterator[EventStream]:
    """Send a request; raises `HttpFailure`."""
    with client.stream("POST", url, headers=dict(headers), json=dict(body)) as response:
        if not response.is_success:
            response.read()
            raise HttpFailure(response)
        yield EventStream(response)


class JsonAssembly(ABC):
    """Assembles the answer from the events of a stream, as the recording of such a stream is read."""

    api: ClassVar[str]

    def __init__(self, provider: Provider, on_text: OnText) -> None:
        self._provider = provider
        self._on_text = on_text
        self._events: list[JSONObject] = []
        self._has_ended = False

    @abstractmethod
    def join(self, events: list[Any]) -> JSONValue:
        """Return the answer that the API gives without streaming."""

    @abstractmethod
    def text_of(self, event: JSONObject) -> str:
        """Return what an event adds to the text of the answer."""

    @abstractmethod
    def is_end(self, event: JSONObject) -> bool:
        """Return whether the answer is complete with an event."""

    def add(self, event: JSONObject) -> int:
        """Add one event; returns the number of characters of its text."""
        self._events.append(event)
        self._has_ended = self._has_ended or self.is_end(event)
        text = self.text_of(event)
        if text:
            self._on_text(text)
        return len(text)

    def result(self, *, is_whole: bool) -> StreamResult:
        if not self._has_ended and not is_whole:
            raise incomplete(self._provider)
        answer = model_answer({"api": self.api, "response": self.join([*self._events])})
        message = as_object(as_object(answer.output).get("message"))
        if not message:
            raise garbage(self._provider, "its answer contains no message")
        return StreamResult(
            message=message,
            finish_reason=as_text(as_object(answer.output).get("finish_reason")),
            usage=Usage(
                tokens_in=answer.usage.tokens_in,
                tokens_out=answer.usage.tokens_out,
                tokens_cached=answer.usage.tokens_cached,
            ),
            served_model=as_text(first_member(as_object(self._events[-1]), "model", "modelVersion")),
        )
