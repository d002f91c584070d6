"""Middleware of requests."""

import pytest

from cockpit.http.middleware import path_without_token


@pytest.mark.parametrize(
    ("path", "logged"),
    [
        ("/api/v1/share/s3cret/runs/1", "/api/v1/share/…/runs/1"),
        ("/share/s3cret", "/share/…"),
        ("/api/v1/shares/1", "/api/v1/shares/1"),
    ],
)
def test_logs_do_not_contain_the_tokens_of_share_links(path: str, logged: str) -> None:
    assert path_without_token(path) == logged
