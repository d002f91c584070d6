"""Edits of messages in the requests of a running agent, and in the later requests that continue them."""

from pathlib import Path
from typing import Any

import pytest

from tests.clients.model_server import ANSWER, ModelServer
from tests.integration.recordings.forks.test_model_calls import new, profile
from tests.services.server import Server
from tests.support.gateway_agents import AGENTS, TOOL_AGENT
from tests.support.gateway_runs import LIVE, fork_of, labels, record, rerun, run_of

ADDITION = {"op": "insert", "index": 0, "content": "In verse."}


def texts(models: ModelServer, before: int) -> list[list[str]]:
    """Return the texts of the user's messages in each new request."""
    requests = [body.get("input") or body["messages"] for _, body in new(models, before)]
    return [[_text(item["content"]) for item in items if item.get("role") == "user"] for items in requests]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(str(block.get("text", block["type"])) for block in content)


@pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
def test_later_calls_continue_an_edited_conversation(
    server: Server, models: ModelServer, tmp_path: Path, api: str
) -> None:
    run = run_of(record(server, AGENTS[api], "plain"))
    # Of each API its own: an answer of another one is an answer to the same question.
    before, date = len(models.requests), f"Date in {api}?"
    edits = [{"op": "replace", "index": 0, "content": date}, {"op": "insert", "index": 7, "content": "In prose."}]
    options = ["--overrides", profile(tmp_path, {"match": {"step": 1}, "messages": edits}), "--live"]
    result = rerun(server, run, AGENTS[api], "plain", options=options)
    assert (result.returncode, result.stdout.strip()) == (0, ANSWER), result.stderr
    beginnings = [" ".join(request).partition(" tool_result")[0] for request in texts(models, before)]
    assert beginnings == [f"{date} In prose."] * 3
    fork, _ = fork_of(server, result)
    steps = [step for step in fork.steps(6) if step["type"] == "model"]
    assert labels(steps) == [LIVE] * 3
    contents = [str(step["input"]["messages"][:2]) for step in steps]
    assert [(date in text, "In prose." in text) for text in contents] == [(True, True)] * 3
    assert not any("history" in step["detail"] for step in steps)


def test_call_with_edits_of_its_own_starts_from_the_recorded_messages(
    server: Server, models: ModelServer, run: str, tmp_path: Path
) -> None:
    before = len(models.requests)
    change = {"op": "replace", "index": 0, "content": "Date?"}
    entries = [{"match": {"step": 1}, "messages": [change]}, {"match": {"step": 4}, "messages": [ADDITION]}]
    options = ["--overrides", profile(tmp_path, *entries), "--live"]
    result = rerun(server, run, AGENTS["chat"], "plain", options=options)
    assert (result.returncode, result.stdout.strip()) == (0, ANSWER), result.stderr
    added = ["In verse.", "Weather and time?"]
    assert texts(models, before) == [["Date?"], added, added]


def test_edits_apply_to_a_call_whose_contents_changed_before(
    server: Server, models: ModelServer, tmp_path: Path
) -> None:
    log = str(tmp_path / "log")
    run = run_of(record(server, TOOL_AGENT, log))
    before = len(models.requests)
    entries: list[Any] = [
        {"match": {"type": "tool", "name": "get_weather"}, "tool": {"output": {"degrees": 3}}},
        # The second model call, after three values and two tools.
        {"match": {"step": 7}, "messages": [ADDITION]},
    ]
    options = ["--overrides", profile(tmp_path, *entries), "--live"]
    result = rerun(server, run, TOOL_AGENT, log, options=options)
    assert result.returncode == 0, result.stderr
    assert [(len(found), found[0]) for found in texts(models, before)] == [(2, "In verse.")] * 2
    requests = [body["messages"] for _, body in new(models, before)]
    assert ['"degrees": 3' in str(messages) for messages in requests] == [True, True]


def test_other_conversation_is_not_edited(server: Server, models: ModelServer, run: str, tmp_path: Path) -> None:
    before = len(models.requests)
    change = {"op": "replace", "index": 0, "content": "Place?"}
    options = ["--overrides", profile(tmp_path, {"match": {"step": 1}, "messages": [change]}), "--live"]
    request = '{"model": "m1", "messages": [{"role": "user", "content": "Else?"}, *messages]}'
    other = f'ask_openai("chat/completions", {request})\n'
    program = AGENTS["chat"].replace("print(", f"{other}print(")
    result = rerun(server, run, program, "plain", options=options)
    assert result.returncode == 0, result.stderr
    assert texts(models, before) == [["Place?"]] * 3 + [["Else?", "Weather and time?"]]
