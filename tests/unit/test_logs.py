"""What stands in the log."""

import sys
from types import SimpleNamespace

import pytest

from cockpit import logs


def _failed() -> Exception:
    key = "sk-very-secret"
    try:
        raise ValueError("it broke")
    except ValueError as error:
        assert key
        return error


@pytest.mark.parametrize("terminal", [True, False])
def test_a_traceback_shows_no_values_of_variables(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: terminal))
    said = {"event": "request_failed", "level": "error", "exc_info": _failed()}
    for process in logs.config("WARNING")["formatters"]["structured"]["processors"][1:]:
        said = process(None, "error", said)
    assert "it broke" in str(said)
    assert "test_logs.py" in str(said)
    assert "sk-very-secret" not in str(said).replace('key = "sk-very-secret"', "")
