"""What the HTTP statuses of failed calls mean, and parsing of `Retry-After` headers."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from replay.live.http_failures import RETRYABLE, failure_code, retry_after_s

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        (" 2.5 ", 2.5),
        ("0", 0.0),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("soon", None),
        ("Sun, 22 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 22 Nov 2026 13:00:30 +0100", 30.0),
        ("Sun, 22 Nov 2026 11:00:00 GMT", 0.0),
        ("Sun, 99 Nov 2026 11:00:00 GMT", None),
    ],
)
def test_retry_after_seconds_and_dates(header: str, seconds: float | None) -> None:
    assert retry_after_s({"retry-after": header}, NOW) == seconds


@given(st.text() | st.from_regex(r"\w{3}, \d{1,2} \w{3} \d{1,9} \d\d:\d\d:\d\d [+-]\d{1,9}", fullmatch=True))
@example("Mon, 01 Jan 99999 00:00:00 GMT")
@example("Mon, 01 Jan 0001 00:00:00 +2359")
@example("Mon, 01 Jan 9999 23:59:59 -2359")
@example("Mon, 01 Jan 2024 00:00:00 +99999999999999999999")
@example("1e999")
def test_retry_after_is_never_negative(header: str) -> None:
    seconds = retry_after_s({"retry-after": header}, NOW)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("status", "code", "may_succeed_later"),
    [
        (400, "bad_request", False),
        (407, "auth", False),
        (413, "too_large", False),
        (418, "refused", False),
        (425, "refused", True),
        (501, "server_error", False),
        (522, "server_error", True),
        (529, "overloaded", True),
    ],
)
def test_status_has_one_meaning_for_every_server(status: int, code: str, may_succeed_later: bool) -> None:
    assert (failure_code(status), status in RETRYABLE) == (code, may_succeed_later)
