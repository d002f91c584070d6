"""The configuration in effect, as anybody may see it who administers the server."""

import pytest

from cockpit.http.config_report import hide_secrets


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgres://ada:pw@db:5432/fp", "postgres://ada:***@db:5432/fp"),
        ("postgres://ada:p@w@db/fp", "postgres://ada:***@db/fp"),
        ("postgres://ada:p/w:@@db/fp", "postgres://ada:***@db/fp"),
        ("postgres://ada@db/fp?sslmode=require", "postgres://ada@db/fp?sslmode=require"),
        ("postgres://db/fp?sslpassword=pw&sslmode=require", "postgres://db/fp?sslpassword=***&sslmode=require"),
        ("redis://:pw@cache:6379/0", "redis://:***@cache:6379/0"),
        ("rediss://cache:6379/0?PASSWORD=pw", "rediss://cache:6379/0?PASSWORD=***"),
        ("redis://cache:6379/0", "redis://cache:6379/0"),
        ("", ""),
    ],
)
def test_no_url_is_shown_with_its_password(url: str, shown: str) -> None:
    assert hide_secrets(url) == shown
