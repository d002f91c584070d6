"""Failures of live calls, told apart by status code and exception type, never by words in a message."""

import email.utils
import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

import httpx2
from pydantic import ValidationError

from replay.live.egress import CompressedAnswer, EgressRefusal, EndlessAnswer
from replay.live.providers.types import Provider, ProviderError

_CODES: Final = {
    400: "bad_request",
    401: "auth",
    403: "auth",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    422: "bad_request",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
# 520 to 524 are what Cloudflare, which stands before some providers, says of a server that it did not reach.
_RETRYABLE: Final = frozenset({408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
# What an error inside a stream calls itself: its code, and whether the same call may succeed later.
_IN_STREAM: Final = {
    "overloaded_error": ("overloaded", True),
    "rate_limit_error": ("rate_limited", True),
    "timeout_error": ("timeout", True),
    "invalid_request_error": ("bad_request", False),
    "authentication_error": ("auth", False),
    "permission_error": ("auth", False),
    "not_found_error": ("not_found", False),
    "request_too_large": ("too_large", False),
    "insufficient_quota": ("quota", False),
    "billing_hard_limit_reached": ("quota", False),
    "billing_error": ("quota", False),
}
# Codes that come with status 429 although waiting does not help.
_FINAL_CODES: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_DETAIL: Final = 500
INCOMPLETE: Final = "incomplete_stream"


def classified(error: Exception, provider: Provider, key: str) -> ProviderError:
    """The `ProviderError` for whatever came out of an SDK or the transport below it."""
    if isinstance(error, ProviderError):
        return error
    for cause in _causes(error):
        if isinstance(cause, EgressRefusal):
            return ProviderError(str(cause), code="egress_refused", retryable=False)
        if isinstance(cause, CompressedAnswer) and cause.response.is_error:
            return _of_status(cause, cause.response.status_code, provider, key)
        if isinstance(cause, EndlessAnswer | CompressedAnswer):
            return garbage(provider, str(cause), retryable=False)
        if isinstance(cause, httpx2.TimeoutException):
            return ProviderError(f"{provider.name} did not answer in time", code="timeout", retryable=True)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 300:
        return _of_status(error, status, provider, key)
    if isinstance(error, json.JSONDecodeError | ValidationError | UnicodeError | RecursionError):
        return garbage(provider, "its stream is not what the protocol says")
    if isinstance(error, httpx2.TransportError) or any(isinstance(c, httpx2.TransportError) for c in _causes(error)):
        return ProviderError(
            f"the connection to {provider.name} failed: {_root(error)}", code="network", retryable=True
        )
    return _of_stream(error, provider, key)


def garbage(provider: Provider, what: str, *, retryable: bool = True) -> ProviderError:
    return ProviderError(f"{provider.name} answered, but {what}", code="invalid_response", retryable=retryable)


def incomplete(provider: Provider) -> ProviderError:
    return ProviderError(f"{provider.name} ended its answer in the middle", code=INCOMPLETE, retryable=True)


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds that `Retry-After` asks for: a number, or a date."""
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        return _until(text, now or datetime.now(UTC))
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(text: str, now: datetime) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _of_status(error: Exception, status: int, provider: Provider, key: str) -> ProviderError:
    response = getattr(error, "response", None)
    # An error that came inside a stream carries the status 200 of the stream's own response.
    headers = response.headers if isinstance(response, httpx2.Response) else {}
    final = _error_code(error) in _FINAL_CODES
    return ProviderError(
        _status_detail(error, status, provider, key),
        code="quota" if final else _CODES.get(status, "server_error" if status >= 500 else "refused"),
        retryable=status in _RETRYABLE and not final,
        retry_after_s=retry_after_s(headers),
        status=status,
    )


def _status_detail(error: Exception, status: int, provider: Provider, key: str) -> str:
    if status in {401, 403}:
        return _refused(provider, str(status))
    if 300 <= status < 400:
        return f"{provider.name} answered with a redirect ({status}), which is not followed"
    return f"{provider.name} answered {status}: {_message(error, str(error), key)}"


def _refused(provider: Provider, how: str) -> str:
    """The provider's own words often repeat part of the key."""
    name = provider.api_key_env or "no key is configured"
    return f"{provider.name} refused the credentials ({how}): check the key ({name})"


def _of_stream(error: Exception, provider: Provider, key: str) -> ProviderError:
    """An error event inside a stream: the SDKs raise it without a failing status."""
    kind = _error_code(error)
    code, retryable = _IN_STREAM.get(kind, ("server_error", True))
    said = f"{provider.name} broke off with an error: {_message(error, _root(error), key)}"
    return ProviderError(_refused(provider, kind) if code == "auth" else said, code=code, retryable=retryable)


def _error_code(error: Exception) -> str:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    found = (inner.get("code") or inner.get("type")) if isinstance(inner, dict) else None
    return found if isinstance(found, str) else ""


def _message(error: Exception, otherwise: str, key: str) -> str:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    text = inner.get("message") if isinstance(inner, dict) else None
    said = text if isinstance(text, str) and text else otherwise
    return (said.replace(key, "[key]") if key else said)[:_DETAIL]


def _causes(error: BaseException) -> Iterator[BaseException]:
    at: BaseException | None = error
    while at is not None:
        yield at
        at = at.__cause__ or at.__context__


def _root(error: BaseException) -> str:
    last = list(_causes(error))[-1]
    return str(last) or type(last).__name__
