"""Client of Langfuse's ingestion API: sends batches of events, and reads the result of each event."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import httpx2
from django.conf import settings

from replay.core.values.json_output import as_json
from replay.hooks.configuration import LangfusePlace
from replay.langfuse.core.events import Event
from replay.live import egress
from replay.live.http_failures import retry_after_s
from traces.core.json_types import JSONObject

_CONNECT_S: Final = 10.0
_READ_S: Final = 60.0
_LONGEST_S: Final = 120.0  # shorter than the silence after which another worker takes over
_MOST_BYTES: Final = 4 * 1024 * 1024  # of a receipt
_WAIT: Final = frozenset({408, 425, 429})
_TOO_LARGE: Final = 413
_MAX_MESSAGE: Final = 300


class Unavailable(Exception):
    """Langfuse did not accept the batch; `lasting`: retries will not help."""

    def __init__(self, detail: str, *, lasting: bool = False, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.lasting = lasting
        self.retry_after_s = retry_after_s


class TooLarge(Exception):
    """The batch exceeds the server's size limit."""


@dataclass(kw_only=True)
class Receipt:
    """Result of a batch by event id: accepted, worth a retry, or rejected permanently with a reason."""

    accepted_ids: set[str] = field(default_factory=set)
    retry_ids: set[str] = field(default_factory=set)
    rejections: dict[str, str] = field(default_factory=dict)


class Langfuse:
    """One connection to one project."""

    def __init__(self, place: LangfusePlace) -> None:
        keys = place.keys()
        if keys is None:
            names = " and ".join(filter(None, (place.public_key_env, place.secret_key_env)))
            raise Unavailable(f"no keys: set {names} in the environment of the workers", lasting=True)
        self.place = place
        self.keys = keys
        self.url = f"{str(place.base_url).rstrip('/')}/api/public/ingestion"
        destination = egress.Destination(host=place.base_url.host or "", operator=True)
        self.http = egress.client([destination], connect_s=_CONNECT_S, read_s=_READ_S)

    def close(self) -> None:
        self.http.close()

    def send(self, events: Sequence[Event]) -> Receipt:
        """Send a batch; raises `Unavailable` and `TooLarge`."""
        body: JSONObject = {"batch": [event.envelope for event in events], "metadata": self._metadata(len(events))}
        headers = {
            "content-type": "application/json",
            "x_langfuse_sdk_name": "forkpoint",
            "x_langfuse_sdk_version": settings.VERSION,
            "x_langfuse_public_key": self.keys[0],
        }
        try:
            with egress.read_limits(lambda: None, max_bytes=_MOST_BYTES, max_s=_LONGEST_S):
                response = self.http.post(self.url, content=as_json(body), headers=headers, auth=self.keys)
        except egress.EgressRefusal as error:
            raise Unavailable(str(error), lasting=True) from error
        except (httpx2.HTTPError, egress.EndlessAnswer) as error:
            raise Unavailable(f"{self.place.base_url.host}: {error or type(error).__name__}") from error
        return _read(response, events, self.place.base_url.host or "")

    def _metadata(self, size: int) -> JSONObject:
        return {
            "batch_size": size,
            "sdk_integration": "default",
            "sdk_name": "forkpoint",
            "sdk_version": settings.VERSION,
            "public_key": self.keys[0],
        }


def _read(response: httpx2.Response, events: Sequence[Event], host: str) -> Receipt:
    status = response.status_code
    if status == _TOO_LARGE:
        raise TooLarge
    if status in _WAIT or status >= 500:
        raise Unavailable(f"{host} answered {status}", retry_after_s=retry_after_s(response.headers))
    if status not in {200, 201, 207}:
        raise Unavailable(f"{host} answered {status}: {_excerpt(response)}", lasting=True)
    try:
        answer = response.json()
        successes, errors = answer["successes"], answer["errors"]
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(f"{host} answered with something other than an ingestion result") from error
    receipt = Receipt(accepted_ids={str(result["id"]) for result in successes})
    for result in errors:
        _add_error(receipt, result, host)
    reported_ids = receipt.accepted_ids | receipt.retry_ids | receipt.rejections.keys()
    receipt.retry_ids |= {event.id for event in events} - reported_ids
    return receipt


def _add_error(receipt: Receipt, error: JSONObject, host: str) -> None:
    """Sort one event's error into the receipt, by the same rules as for a request's status."""
    status = error.get("status")
    detail = f"{error.get('message') or ''} {error.get('error') or ''}".strip()[:_MAX_MESSAGE]
    if not isinstance(status, int) or status in _WAIT or status >= 500:
        receipt.retry_ids.add(str(error.get("id")))
    elif status in {401, 403}:
        raise Unavailable(f"{host} answered {status}: {detail}", lasting=True)
    else:
        receipt.rejections[str(error.get("id"))] = f"{status} {detail}"


def _excerpt(response: httpx2.Response) -> str:
    return response.text[:_MAX_MESSAGE]
