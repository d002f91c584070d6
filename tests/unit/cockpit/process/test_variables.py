"""Environment variables by type."""

from collections.abc import Callable
from functools import partial

import pytest
from django.core.exceptions import ImproperlyConfigured

from cockpit.process import variables

Reader = Callable[[str], object]
READERS: dict[str, tuple[Reader, object]] = {
    "host": (partial(variables.host, default="127.0.0.1"), "127.0.0.1"),
    "port": (partial(variables.port, default="8700"), 8700),
    "whole number": (partial(variables.whole_number, default="64", least=1, most=99), 64),
    "seconds": (partial(variables.seconds, default="5", least=0, most=10), 5.0),
    "switch": (variables.switch, True),
    "objects": (partial(variables.objects_by_name, title="tools"), {}),
}


@pytest.mark.parametrize("kind", READERS)
def test_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    read, default = READERS[kind]
    monkeypatch.setenv("FORKPOINT_X", "")
    assert read("FORKPOINT_X") == default


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("host", "bad host!"),
        ("host", "http://a.example"),
        ("port", "65536"),
        ("port", "-1"),
        ("whole number", "abc"),
        ("whole number", "0"),
        ("seconds", "nan"),
        ("seconds", "11"),
        ("switch", "yes"),
        ("objects", "[]"),
        ("objects", "{"),
        ("objects", '{"a": 1}'),
    ],
)
def test_wrong_value_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, kind: str, text: str) -> None:
    monkeypatch.setenv("FORKPOINT_X", text)
    with pytest.raises(ImproperlyConfigured, match="FORKPOINT_X"):
        READERS[kind][0]("FORKPOINT_X")


@pytest.mark.parametrize(
    "text", ["localhost", "0.0.0.0", "::1", "::", "::ffff:10.0.0.1", "fe80::1%eth0", "desk-1.example.com", "desk_web"]
)
def test_names_and_addresses_are_hosts(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("FORKPOINT_X", text)
    assert variables.host("FORKPOINT_X", default="") == text
