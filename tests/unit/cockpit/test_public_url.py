"""FORKPOINT_URL: where people reach the server."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from cockpit import settings


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("", ""),
        ("https://forkpoint.example.com/", "https://forkpoint.example.com"),
        ("http://10.0.0.7:8700/tools/forkpoint", "http://10.0.0.7:8700/tools/forkpoint"),
    ],
)
def test_public_addresses_are_kept(monkeypatch: pytest.MonkeyPatch, value: str, url: str) -> None:
    monkeypatch.setenv("FORKPOINT_URL", value)
    assert settings.public_url() == url


@pytest.mark.parametrize("value", ["forkpoint.example.com", "ftp://a.example", "https://", "https://a.example/?x=1"])
def test_other_addresses_are_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("FORKPOINT_URL", value)
    with pytest.raises(ImproperlyConfigured, match="FORKPOINT_URL"):
        settings.public_url()
