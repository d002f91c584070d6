"""Commands that a user of Claude Code ran in a session, and what names its run and its tags."""

from typing import Any

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelRequest


def session(*texts: str, **fields: Any) -> RecordedRun:
    """Read a session of requests; one that begins with `answer` is an answer of the model."""
    lines: list[dict[str, Any]] = []
    for number, text in enumerate(texts):
        role = "assistant" if text.startswith("answer") else "user"
        message = {"role": role, "content": text, **({"id": f"m{number}"} if role == "assistant" else {})}
        parent = f"u{number - 1}" if number else None
        lines.append({"uuid": f"u{number}", "parentUuid": parent, "sessionId": "s1", "type": role, "message": message})
    (run,) = fixtures.read("claude-code", [*lines, fields] if fields else lines)
    return run


CLEAR = "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"
REVIEW = (
    "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>42</command-args>"
)


def test_local_commands_begin_no_turn() -> None:
    output = "<local-command-stdout></local-command-stdout>"
    shell = ("<bash-input>ls</bash-input>", "<bash-stdout>dune.md</bash-stdout><bash-stderr></bash-stderr>")
    run = session(CLEAR, output, *shell, "Is Dune in stock?", "answer: yes", type="tag", tag="shop", sessionId="s1")
    (turn,) = fixtures.steps(run, StepType.TURN)
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (turn.name, run.name, run.tags) == ("Is Dune in stock?", "Is Dune in stock?", ("shop",))
    assert len([*ModelRequest(model.input).messages]) == 5


def test_command_for_the_model_begins_a_turn() -> None:
    run = session(REVIEW, "answer: fine")
    assert len(fixtures.steps(run, StepType.TURN)) == 1
    assert run.name == "/review 42"
