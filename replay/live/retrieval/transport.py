"""One HTTP exchange with a store or an embeddings endpoint, under egress control."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from replay.live import egress
from replay.live.http_failures import AUTH_STATUSES, RETRYABLE, failure_code, retry_after_s
from replay.live.providers.types import ProviderError
from traces.core.json_types import JSONObject, JSONValue

_CONNECT_S: Final = 10.0
_MOST_BYTES: Final = 16 * 1024 * 1024
_MAX_MESSAGE: Final = 300


@dataclass(frozen=True, kw_only=True)
class Server:
    """The server of an exchange: `name` is used in errors; `operator`: the operator configured the URL."""

    name: str
    url: str
    headers: Mapping[str, str]
    timeout_s: float
    operator: bool = True

    def ask(self, path: str, body: JSONObject | None = None) -> JSONValue:
        """POST `body`, or GET if there is none, and return the JSON answer; raises `ProviderError`."""
        destination = egress.Destination(host=urlsplit(self.url).hostname or "", operator=self.operator)
        request: dict[str, Any] = {} if body is None else {"json": body}
        url = self.url.rstrip("/") + path if path else self.url
        method = "GET" if body is None else "POST"
        try:
            with (
                egress.read_limits(lambda: None, max_bytes=2 * _MOST_BYTES, max_s=self.timeout_s),
                egress.client([destination], connect_s=_CONNECT_S, read_s=self.timeout_s) as client,
                client.stream(method, url, headers=dict(self.headers), **request) as response,
            ):
                return self._read(response, self._body(response))
        except egress.EgressRefusal as error:
            raise ProviderError(str(error), code="egress_refused", retryable=False) from error
        except egress.CompressedAnswer as error:
            raise self.invalid_response(str(error)) from error
        except (httpx2.TimeoutException, egress.EndlessAnswer) as error:
            detail = f"{self.name} did not answer in {self.timeout_s:g} s"
            raise ProviderError(detail, code="timeout", retryable=True) from error
        except httpx2.TransportError as error:
            detail = f"the connection to {self.name} failed: {type(error).__name__}"
            raise ProviderError(detail, code="network", retryable=True) from error

    def invalid_response(self, problem: str) -> ProviderError:
        return ProviderError(f"{self.name} answered, but {problem}", code="invalid_response", retryable=False)

    def _body(self, response: httpx2.Response) -> bytes:
        data = bytearray()
        for chunk in response.iter_bytes():
            data += chunk
            if len(data) > _MOST_BYTES:
                raise self.invalid_response(f"with more than {_MOST_BYTES // 1024**2} MiB")
        return bytes(data)

    def _read(self, response: httpx2.Response, data: bytes) -> JSONValue:
        status = response.status_code
        if status >= 300:
            raise self._refusal(status, data, response.headers)
        try:
            value: JSONValue = json.loads(data)
        except ValueError as error:
            raise self.invalid_response("the answer is not JSON") from error
        return value

    def _refusal(self, status: int, data: bytes, headers: Mapping[str, str]) -> ProviderError:
        retryable = status in RETRYABLE
        message = data.decode(errors="replace")[:_MAX_MESSAGE]
        if status in AUTH_STATUSES:
            detail = f"{self.name} rejected the credentials ({status})"  # its message may repeat part of them
        elif status < 400:
            detail = f"{self.name} answered with a redirect ({status}), which is not followed"
        else:
            detail = f"{self.name} answered {status}: {message}"
        return ProviderError(
            detail,
            code=failure_code(status),
            retryable=retryable,
            retry_after_s=retry_after_s(headers) if retryable else None,
            status=status,
        )
