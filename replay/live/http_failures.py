"""HTTP answers that report a failure: what failed, and when the same call may succeed."""

import email.utils
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

# Cloudflare, which some servers use, answers 520 to 524 if it cannot reach the server.
RETRYABLE: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
# The configuration is at fault, not the request.
AUTH_STATUSES: Final = frozenset({401, 403, 407})
_CODES: Final = {
    400: "bad_request",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    422: "bad_request",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
    **dict.fromkeys(AUTH_STATUSES, "auth"),
}


def failure_code(status: int) -> str:
    """Return the error code of a status."""
    return _CODES.get(status, "server_error" if status >= 500 else "refused")


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that a `Retry-After` header asks for, as a number or a date."""
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        return _seconds_until(text, now or datetime.now(UTC))
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _seconds_until(text: str, now: datetime) -> float | None:
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())
