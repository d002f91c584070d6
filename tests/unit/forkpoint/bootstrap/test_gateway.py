"""The end of a recording through the gateway."""

import io
from typing import Any
from urllib.error import HTTPError

import pytest

from forkpoint.bootstrap import gateway

SESSION = {"session": "s", "run": "r"}


class SlowServer:
    """A server on which a run appears after some questions."""

    url = "http://server"

    def __init__(self, *, has_calls: bool, questions: int) -> None:
        self.has_calls = has_calls
        self.questions = questions

    def send(self, method: str, path: str, body: Any = None) -> Any:
        if method == "POST":
            return {"has_calls": self.has_calls}
        self.questions -= 1
        if self.questions >= 0:
            raise HTTPError(path, 404, "", {}, io.BytesIO())  # type: ignore[arg-type]  # as urllib's own
        return {"id": "run-1"}


@pytest.mark.parametrize(
    ("has_calls", "questions", "line"),
    [
        (True, 20, "Recorded: http://server/runs/run-1"),
        (True, 1_000, "The recording has not appeared yet"),
        (False, 20, "Nothing was recorded"),
    ],
)
def test_large_recording_is_awaited(
    has_calls: bool, questions: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(1_000_000))
    monkeypatch.setattr("forkpoint.bootstrap.gateway.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("forkpoint.bootstrap.gateway.time.sleep", lambda _: None)
    gateway._finish(SlowServer(has_calls=has_calls, questions=questions), SESSION, 0)  # type: ignore[arg-type]
    assert line in capsys.readouterr().err
