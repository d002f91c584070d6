"""Classification of failed live calls, by status code and exception type, never by message text."""

import json
from collections.abc import Iterator
from typing import Final

import httpx2
from pydantic import ValidationError

from replay.live.egress import CompressedAnswer, EgressRefusal, EndlessAnswer
from replay.live.http_failures import RETRYABLE, failure_code, retry_after_s
from replay.live.providers.types import Provider, ProviderError
from traces.core.json_access import as_object, as_string
from traces.core.json_types import JSONObject, JSONValue

# Type of an error event inside a stream: its code, and whether the same call may succeed later.
_IN_STREAM: Final = {
    "overloaded_error": ("overloaded", True),
    "rate_limit_error": ("rate_limited", True),
    "timeout_error": ("timeout", True),
    "invalid_request_error": ("bad_request", False),
    "authentication_error": ("auth", False),
    "permission_error": ("auth", False),
    "not_found_error": ("not_found", False),
    "request_too_large": ("too_large", False),
    "rate_limit_exceeded": ("rate_limited", True),
    "invalid_prompt": ("bad_request", False),
    "insufficient_quota": ("quota", False),
    "billing_hard_limit_reached": ("quota", False),
    "billing_error": ("quota", False),
}
# Codes that come with status 429, although waiting does not help.
_FINAL_CODES: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_DETAIL: Final = 500
INCOMPLETE: Final = "incomplete_stream"


class Interruption(Exception):
    """An error in place of an answer that a provider had accepted to give; `body` is what it says."""

    def __init__(self, body: JSONValue) -> None:
        super().__init__(as_string(as_object(body).get("error")) or "it gave no reason")
        self.body = body


def classify(error: Exception, provider: Provider, key: str) -> ProviderError:
    """Convert any exception of an SDK or its transport to a `ProviderError`."""
    if isinstance(error, ProviderError):
        return error
    for cause in _causes(error):
        if isinstance(cause, EgressRefusal):
            return ProviderError(str(cause), code="egress_refused", retryable=False)
        if isinstance(cause, CompressedAnswer) and cause.response.is_error:
            return _status_error(cause, cause.response.status_code, provider, key)
        if isinstance(cause, EndlessAnswer | CompressedAnswer):
            return garbage(provider, str(cause), retryable=False)
        if isinstance(cause, httpx2.TimeoutException):
            return ProviderError(f"{provider.name} did not answer in time", code="timeout", retryable=True)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 300:
        return _status_error(error, status, provider, key)
    if isinstance(error, json.JSONDecodeError | ValidationError | UnicodeError | RecursionError):
        return garbage(provider, "its answer violates the protocol")
    if isinstance(error, httpx2.TransportError) or any(isinstance(c, httpx2.TransportError) for c in _causes(error)):
        return ProviderError(
            f"the connection to {provider.name} failed: {_root(error)}", code="network", retryable=True
        )
    return _stream_error(error, provider, key)


def garbage(provider: Provider, problem: str, *, retryable: bool = True) -> ProviderError:
    return ProviderError(f"{provider.name} answered, but {problem}", code="invalid_response", retryable=retryable)


def incomplete(provider: Provider) -> ProviderError:
    return ProviderError(f"{provider.name} ended its answer before it was complete", code=INCOMPLETE, retryable=True)


def _status_error(error: Exception, status: int, provider: Provider, key: str) -> ProviderError:
    response = getattr(error, "response", None)
    # An error inside a stream has the status 200 of the stream's response.
    headers = response.headers if isinstance(response, httpx2.Response) else {}
    final = _error_code(error) in _FINAL_CODES
    return ProviderError(
        _status_detail(error, status, provider, key),
        code="quota" if final else failure_code(status),
        retryable=status in RETRYABLE and not final,
        retry_after_s=retry_after_s(headers),
        status=status,
    )


def _status_detail(error: Exception, status: int, provider: Provider, key: str) -> str:
    if status in {401, 403}:
        return _credentials_problem(provider, str(status))
    if 300 <= status < 400:
        return f"{provider.name} answered with a redirect ({status}), which is not followed"
    return f"{provider.name} answered {status}: {_message(error, str(error), key)}"


def _credentials_problem(provider: Provider, reason: str) -> str:
    """Describe rejected credentials without the provider's message, which often repeats part of the key."""
    name = provider.api_key_env or "no key is configured"
    return f"{provider.name} rejected the credentials ({reason}): check the key ({name})"


def _stream_error(error: Exception, provider: Provider, key: str) -> ProviderError:
    """Convert an error event inside a stream, which the SDKs raise without a failing status."""
    kind = _error_code(error)
    code, retryable = _IN_STREAM.get(kind, ("server_error", True))
    message = f"{provider.name} interrupted its answer with an error: {_message(error, _root(error), key)}"
    return ProviderError(
        _credentials_problem(provider, kind) if code == "auth" else message, code=code, retryable=retryable
    )


def _error_code(error: Exception) -> str:
    details = _error_details(error)
    return as_string(details.get("code") or details.get("type"))


def _error_details(error: Exception) -> JSONObject:
    """Return the error object in the body of a response."""
    body = as_object(getattr(error, "body", None))
    return as_object(body.get("error", body))


def _message(error: Exception, fallback: str, key: str) -> str:
    message = as_string(_error_details(error).get("message")) or fallback
    return (message.replace(key, "[key]") if key else message)[:_DETAIL]


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _root(error: BaseException) -> str:
    last = list(_causes(error))[-1]
    return str(last) or type(last).__name__
