"""Telemetry sinks: HTTP endpoints and JSONL files."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import httpx2

from replay.core.values.json_output import as_json
from replay.hooks.callers import headers
from replay.hooks.configuration import HttpPlace, TelemetryEntry, missing_secrets
from replay.live import egress
from replay.live.http_failures import retry_after_s
from traces.core.json_types import JSONObject, JSONValue

_CONNECT_S: Final = 5.0
_MOST_BYTES: Final = 1024 * 1024  # of an answer, which is ignored
_WAIT: Final = frozenset({408, 425, 429})
_UNSAFE: Final = frozenset("/\\\0")


class Unreachable(Exception):
    """The target did not accept the events, but may accept them later."""

    def __init__(self, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class PermanentFailure(Exception):
    """The target will never accept these events."""


class Delivery(Protocol):
    def send(self, envelopes: Sequence[JSONObject]) -> None:
        """Deliver in order; raises `Unreachable` or `PermanentFailure`."""

    def close(self) -> None:
        """Release resources; nothing is sent afterwards."""


def create_delivery(entry: TelemetryEntry) -> Delivery:
    if entry.http is not None:
        return HttpDelivery(entry.http, timeout_s=entry.timeout_s, single=entry.batch == 1)
    return FileDelivery(entry.jsonl or "")


class HttpDelivery:
    """Posts each envelope alone, as Krabs does, or in lists if batches are configured."""

    def __init__(self, http: HttpPlace, *, timeout_s: float, single: bool) -> None:
        self.http = http
        self.single = single
        self.timeout_s = timeout_s
        destination = egress.Destination(host=http.host, operator=True)
        self.client = egress.client([destination], connect_s=min(_CONNECT_S, timeout_s), read_s=timeout_s)

    def send(self, envelopes: Sequence[JSONObject]) -> None:
        if missing := missing_secrets(self.http.headers_env):
            raise PermanentFailure(f"the environment variable {missing[0]} is not set")
        if self.single:
            for envelope in envelopes:
                self._post(envelope, envelope)
        else:
            self._post([*envelopes], envelopes[0])

    def close(self) -> None:
        self.client.close()

    def _post(self, body: JSONValue, first: JSONObject) -> None:
        headers_sent = {"content-type": "application/json", **headers(self.http, first)}
        try:
            with egress.read_limits(lambda: None, max_bytes=_MOST_BYTES, max_s=self.timeout_s):
                response = self.client.post(str(self.http.url), content=as_json(body), headers=headers_sent)
        except egress.EgressRefusal as error:
            raise PermanentFailure(str(error)) from error
        except (httpx2.HTTPError, egress.EndlessAnswer) as error:
            raise Unreachable(f"{self.http.host} could not be reached: {error or type(error).__name__}") from error
        status = response.status_code
        if status in _WAIT or status >= 500:
            raise Unreachable(f"{self.http.host} answered {status}", retry_after_s(response.headers))
        if not response.is_success:
            raise PermanentFailure(f"{self.http.host} answered {status}")


class FileDelivery:
    """Appends lines; an incomplete last line of the file is terminated first."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def send(self, envelopes: Sequence[JSONObject]) -> None:
        by_path: dict[str, list[bytes]] = {}
        for envelope in envelopes:
            session = "".join(sign for sign in str(envelope.get("session_id") or "none") if sign not in _UNSAFE)
            lines = by_path.setdefault(self.pattern.replace("{session_id}", session), [])
            lines.append(as_json(envelope) + b"\n")
        try:
            for path, lines in by_path.items():
                _append(Path(path).expanduser(), b"".join(lines))
        except OSError as error:
            raise Unreachable(f"{error.filename or self.pattern}: {error.strerror}") from error

    def close(self) -> None:
        """Do nothing: files are open only during writes."""


def _append(path: Path, data: bytes) -> None:
    """Append in one write, so that the lines of several processes do not mix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            data = b"\n" + data
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)
