"""Model calls of a rerun as they are stored: the events of a request and of its answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import orjson

from replay.models import RerunCall
from replay.reruns.core.matcher import RecordedRequest
from replay.reruns.recordings import REQUEST_HEADERS, RecordedResponse, read_response
from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject
from traces.importers.formats.tracing.client_calls import model_request
from traces.recordings import segment_redaction
from traces.redaction_policies import services as policies
from traces.storage.compression import compress, decompress


def store(call_id: int, lines: bytes, *, app: str) -> None:
    """Store the events of a call as the app's policy allows, before the call is made and before its answer is given."""
    data = segment_redaction.redact_data(lines, policies.redaction_of(app)).data
    RerunCall.objects.filter(id=call_id).update(exchange=compress(data))


@dataclass(frozen=True)
class Exchange:
    """A stored call with its request and, from its end on, its answer."""

    call: RerunCall

    @cached_property
    def lines(self) -> bytes:
        return decompress(self.call.exchange or b"")

    @property
    def key(self) -> str:
        """The key of the model step."""
        return as_text(self._request_event.get("step_id"))

    @property
    def request(self) -> RecordedRequest:
        payload = as_object(self._request_event.get("payload"))
        strict: JSONObject = {
            "provider": payload.get("provider"),
            "model": payload.get("model_id"),
            **as_object(payload.get(REQUEST_HEADERS)),
        }
        return RecordedRequest(no=self.call.id, request=as_object(model_request(payload)), strict=strict)

    @property
    def is_complete(self) -> bool:
        """Whether the outcome of the call is known."""
        return bool(self._answer)

    @property
    def has_answer(self) -> bool:
        """Whether the provider answered, with an error or in full."""
        return self._answer.get("status") == "success" or "http_status" in as_object(self._answer.get("attributes"))

    @property
    def response(self) -> RecordedResponse | None:
        """The answer as it came; None if it was redacted."""
        return read_response(self._answer)

    @property
    def _answer(self) -> JSONObject:
        return next((as_object(event.get("payload")) for event in self._events("model_result")), {})

    @property
    def _request_event(self) -> JSONObject:
        return next(self._events("model_called"), {})

    def _events(self, type: str) -> Iterator[JSONObject]:
        events = (as_object(orjson.loads(line)) for line in self.lines.splitlines())
        return (event for event in events if event.get("event_type") == type)
