"""Tools behind an HTTP endpoint."""

import json
import os
from collections.abc import Mapping
from typing import Any, Final

import httpx2

from replay.live import egress, timeouts
from replay.live.providers.failures import retry_after_s
from replay.live.tools.types import HttpTool, Tool, ToolCall, ToolFailure, ToolResult
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus

HEADER: Final = "Forkpoint-Replay"
CONNECT_S: Final = 10.0
_MOST_BYTES: Final = 8 * 1024 * 1024
_RETRYABLE: Final = frozenset({408, 429, 500, 502, 503, 504, 529})
_NOT_RUN: Final = frozenset({429})  # refused before it did anything
_REFUSED: Final = frozenset({401, 403, 407})  # the configuration is at fault, not what the agent asked for
_ANSWERED_DETAIL: Final = 300


def run(tool: Tool, http: HttpTool, call: ToolCall) -> ToolResult:
    destination = egress.Destination(host=http.url.host or "", operator=True)
    headers = {**http.headers, **secrets(http.headers_env), HEADER: call.replay}
    request: dict[str, Any] = _query(call.arguments) if http.method == "GET" else {"json": call.arguments}
    limit = tool.entry.timeout_s

    def look() -> None:
        if call.is_cancelled():
            raise timeouts.GivenUp

    try:
        with (
            egress.read_limits(look, most_bytes=2 * _MOST_BYTES, longest_s=limit),
            egress.client([destination], connect_s=CONNECT_S, read_s=limit) as client,
            client.stream(http.method, str(http.url), headers=headers, **request) as response,
        ):
            return _answered(tool, response, _body(tool, response))
    except (httpx2.TransportError, egress.EgressRefusal, egress.EndlessAnswer, egress.CompressedAnswer) as error:
        raise failed(tool, error) from error


def secrets(names: Mapping[str, str]) -> dict[str, str]:
    """The values that the environment holds; raises `ToolFailure` for a variable that is not set."""
    if missing := [variable for variable in names.values() if variable not in os.environ]:
        detail = f"the environment variable {missing[0]} is not set"
        raise ToolFailure(detail, code="auth", retryable=False, may_have_run=False)
    return {name: os.environ[variable] for name, variable in names.items()}


def failed(tool: Tool, error: Exception) -> ToolFailure:
    """No answer came. Only what failed before the request went out has certainly not run."""
    if isinstance(error, egress.EgressRefusal):
        return ToolFailure(str(error), code="egress_refused", retryable=False, may_have_run=False)
    if isinstance(error, egress.CompressedAnswer):
        return ToolFailure(
            f"{tool.name} answered, but {error}", code="invalid_response", retryable=False, may_have_run=True
        )
    before = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
    if isinstance(error, httpx2.TimeoutException | egress.EndlessAnswer):
        detail = f"{tool.name} did not answer in {tool.entry.timeout_s:g} s"
        return ToolFailure(detail, code="timeout", retryable=True, may_have_run=not before)
    detail = f"the connection to {tool.name} failed: {type(error).__name__}"
    return ToolFailure(detail, code="network", retryable=True, may_have_run=not before)


def _query(arguments: JSONValue) -> dict[str, Any]:
    given = arguments if isinstance(arguments, dict) else {}
    return {"params": {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}}


def _body(tool: Tool, response: httpx2.Response) -> bytes:
    data = b""
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > _MOST_BYTES:
            detail = f"{tool.name} answered with more than {_MOST_BYTES // 1024**2} MiB"
            raise ToolFailure(detail, code="invalid_response", retryable=False, may_have_run=True)
    return data


def _answered(tool: Tool, response: httpx2.Response, data: bytes) -> ToolResult:
    """A 4xx is an answer that the agent would see; what waiting or the operator can mend is a failure."""
    status = response.status_code
    text = data.decode(response.encoding or "utf-8", errors="replace")
    if status in _RETRYABLE or status in _REFUSED or 300 <= status < 400:
        # Who refuses credentials may repeat them.
        said = "it refused the credentials" if status in _REFUSED else text[:_ANSWERED_DETAIL]
        raise ToolFailure(
            f"{tool.name} answered {status}: {said}",
            code=_code(status),
            retryable=status in _RETRYABLE,
            may_have_run=status >= 500 or status == 408,
            retry_after_s=retry_after_s(response.headers) if status in _RETRYABLE else None,
            status=status,
        )
    return ToolResult(output=_value(text), status=StepStatus.OK if status < 400 else StepStatus.ERROR)


def _code(status: int) -> str:
    if status in _REFUSED:
        return "auth"
    if status in _RETRYABLE:
        return "rate_limited" if status in _NOT_RUN else "tool_unavailable"
    return "redirected"


def _value(text: str) -> JSONValue:
    try:
        value: JSONValue = json.loads(text)
    except ValueError:
        return text
    return value
