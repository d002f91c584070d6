"""Questions about an agent's calls on a terminal."""

from io import StringIO
from typing import Any

import pytest

from forkpoint.bootstrap.terminal_operator import ask

QUESTION = {"sequence_no": 3, "text": "The agent calls send", "arguments": {"to": "Bern"}, "may_run": True}


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        ("r\n", {"action": "run"}),
        ("what?\nF\n", {"action": "fallback"}),
        ('o\n{"id": 1}\n', {"action": "answer", "output": {"id": 1}}),
        ("o\nsent to Bern\n", {"action": "answer", "output": "sent to Bern"}),
        ("", {"action": "fallback"}),
    ],
)
def test_choice_is_the_answer(lines: str, answer: dict[str, Any]) -> None:
    writer = StringIO()
    assert ask(QUESTION, StringIO(lines), writer) == {"sequence_no": 3, **answer}
    assert "The agent calls send" in writer.getvalue()


def test_call_that_may_not_run_is_not_offered_to_run() -> None:
    writer = StringIO()
    assert ask({**QUESTION, "may_run": False}, StringIO("r\nf\n"), writer)["action"] == "fallback"
    assert "[r]un" not in writer.getvalue()


def test_question_cannot_hide_its_call() -> None:
    writer = StringIO()
    arguments = {"note": "\x9b2J" + "x" * 3_000, "path": "/etc"}
    ask({**QUESTION, "text": "The agent calls \x1b[2Jsend", "arguments": arguments}, StringIO("f\n"), writer)
    assert "The agent calls ␛[2Jsend" in writer.getvalue()
    assert "\x9b" not in writer.getvalue()
    assert "more characters, which are not shown here" in writer.getvalue()
