"""What is noted of the gateway's sessions."""

from types import SimpleNamespace

import pytest

from cockpit.http import gateway_sessions as sessions


def test_calls_of_a_run_are_noted() -> None:
    sessions.note_calls("run-with-calls")
    assert (sessions.has_calls("run-with-calls"), sessions.has_calls("run-without-calls")) == (True, False)


def test_calls_are_recorded_without_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[str] = []

    def fail(key: str, *_: object) -> None:
        attempts.append(key)
        raise ConnectionError

    monkeypatch.setattr(sessions, "cache", SimpleNamespace(get=fail, set=fail))
    for _ in range(3):
        sessions.note_calls("run-during-an-outage")
    assert (len(attempts), sessions.has_calls("run-during-an-outage")) == (1, True)
