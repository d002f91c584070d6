"""Tools behind an HTTP endpoint."""

import json
import os
from collections.abc import Mapping
from typing import Any, Final

import httpx2

from replay.live import egress, timeouts
from replay.live.http_failures import AUTH_STATUSES, RETRYABLE, retry_after_s
from replay.live.tools.types import HttpTool, Tool, ToolCall, ToolFailure, ToolResult
from traces.core.json_access import as_object
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus

HEADER: Final = "Forkpoint-Replay"
CONNECT_S: Final = 10.0
_MOST_BYTES: Final = 8 * 1024 * 1024
# Rejected before the tool ran.
_NOT_RUN: Final = frozenset({429})
_ANSWERED_DETAIL: Final = 300


def run(tool: Tool, http: HttpTool, call: ToolCall) -> ToolResult:
    destination = egress.Destination(host=http.url.host or "", operator=True)
    headers = {**http.headers, **secrets(http.headers_env), HEADER: call.replay}
    request: dict[str, Any] = _query(call.arguments) if http.method == "GET" else {"json": call.arguments}
    limit = tool.entry.timeout_s

    def check() -> None:
        if call.is_cancelled():
            raise timeouts.GivenUp

    try:
        with (
            egress.read_limits(check, max_bytes=2 * _MOST_BYTES, max_s=limit),
            egress.client([destination], connect_s=CONNECT_S, read_s=limit) as client,
            client.stream(http.method, str(http.url), headers=headers, **request) as response,
        ):
            return _result(tool, response, _body(tool, response))
    except (httpx2.TransportError, egress.EgressRefusal, egress.EndlessAnswer, egress.CompressedAnswer) as error:
        raise to_failure(tool, error) from error


def secrets(names: Mapping[str, str]) -> dict[str, str]:
    """Read secrets from the environment; raises `ToolFailure` if a variable is not set."""
    if missing := [variable for variable in names.values() if variable not in os.environ]:
        detail = f"the environment variable {missing[0]} is not set"
        raise ToolFailure(detail, code="auth", retryable=False, may_have_run=False)
    return {name: os.environ[variable] for name, variable in names.items()}


def to_failure(tool: Tool, error: Exception) -> ToolFailure:
    """Convert an error without an answer.

    Only a failure before the request was sent has certainly not run.
    """
    if isinstance(error, egress.EgressRefusal):
        return ToolFailure(str(error), code="egress_refused", retryable=False, may_have_run=False)
    if isinstance(error, egress.CompressedAnswer):
        return ToolFailure(
            f"{tool.name} answered, but {error}", code="invalid_response", retryable=False, may_have_run=True
        )
    is_unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
    if isinstance(error, httpx2.TimeoutException | egress.EndlessAnswer):
        detail = f"{tool.name} did not answer in {tool.entry.timeout_s:g} s"
        return ToolFailure(detail, code="timeout", retryable=True, may_have_run=not is_unsent)
    detail = f"the connection to {tool.name} failed: {type(error).__name__}"
    return ToolFailure(detail, code="network", retryable=True, may_have_run=not is_unsent)


def _query(arguments: JSONValue) -> dict[str, Any]:
    parameters = as_object(arguments)
    return {
        "params": {name: value if isinstance(value, str) else json.dumps(value) for name, value in parameters.items()}
    }


def _body(tool: Tool, response: httpx2.Response) -> bytes:
    data = b""
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > _MOST_BYTES:
            detail = f"{tool.name} answered with more than {_MOST_BYTES // 1024**2} MiB"
            raise ToolFailure(detail, code="invalid_response", retryable=False, may_have_run=True)
    return data


def _result(tool: Tool, response: httpx2.Response, data: bytes) -> ToolResult:
    """Convert a response: a 4xx is an answer for the agent, unless a retry or the operator can fix it."""
    status = response.status_code
    text = data.decode(response.encoding or "utf-8", errors="replace")
    if status in RETRYABLE or status in AUTH_STATUSES or 300 <= status < 400:
        # The message about rejected credentials may repeat them.
        message = "it rejected the credentials" if status in AUTH_STATUSES else text[:_ANSWERED_DETAIL]
        raise ToolFailure(
            f"{tool.name} answered {status}: {message}",
            code=_code(status),
            retryable=status in RETRYABLE,
            may_have_run=status >= 500 or status == 408,
            retry_after_s=retry_after_s(response.headers) if status in RETRYABLE else None,
            status=status,
        )
    return ToolResult(output=_value(text), status=StepStatus.OK if status < 400 else StepStatus.ERROR)


def _code(status: int) -> str:
    if status in AUTH_STATUSES:
        return "auth"
    if status in RETRYABLE:
        return "rate_limited" if status in _NOT_RUN else "tool_unavailable"
    return "redirected"


def _value(text: str) -> JSONValue:
    try:
        value: JSONValue = json.loads(text)
    except ValueError:
        return text
    return value
