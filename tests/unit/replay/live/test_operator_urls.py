"""Checks of the spelling of URLs."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from replay.live import tools
from replay.live.operator_urls import spelling_problem
from replay.live.providers import configuration

PLAIN = [
    "http://127.0.0.1:8123/v1",
    "https://api.example.com/v1",
    "http://[::1]:8080/",
    "http://169.254.169.254/",
    "http://tools.internal.",
    "http://xn--bcher-kva.example",
    "http://10.example.com",
]
DISGUISED_URLS = [
    "http://2852039166/",
    "http://0251.0376.0251.0376/",
    "http://0xa9fea9fe/",
    "http://169.254.43518/",
    "http://127.1/",
    "http://[::ffff:169.254.169.254]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://127.0.0.1./",
    "http://①②⑦.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http://api.example.com@10.0.0.8/",
    "http://me:secret@tools.internal/",
    "http://a b/",
    "http://api.example.com\\@10.0.0.8/",
    "http://[::g]/",
    "http://127\u30020\u30020\u30021/",
    "http://1\u00ad27.0.0.1/",
    "http://loc\u200balhost/",
    "http:127.0.0.1/",
    "http:///127.0.0.1/",
]


@pytest.mark.parametrize("url", PLAIN)
def test_plain_addresses_are_accepted(url: str) -> None:
    assert spelling_problem(url) == ""


@pytest.mark.parametrize("url", DISGUISED_URLS)
def test_disguised_addresses_are_refused(url: str, settings: Settings) -> None:
    assert spelling_problem(url)
    settings.TOOLS = {"lookup": {"http": {"url": url}}}
    with pytest.raises(ImproperlyConfigured, match="lookup"):
        tools.configured_tools()
    settings.PROVIDERS = {"mine": {"protocol": "openai", "base_url": url}}
    with pytest.raises(ImproperlyConfigured, match="mine"):
        configuration.configured_providers()
