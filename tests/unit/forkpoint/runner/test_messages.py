"""What a runner accepts from its server."""

from typing import Any

import pytest

from forkpoint.runner.command import option_parser
from forkpoint.runner.messages import Start, Unacceptable

RERUN = {
    "id": "r1",
    "attempt": 1,
    "run": "r0",
    "seed": "external id",
    "started_at": "2026-01-01",
    "opened_at": "2026-01-02T00:00:00+00:00",
    "answered_at": None,
    "input": "Hi",
    "path": "/gateway/a.b-c",
    "placeholder_key": "k",
}
MESSAGE = {"type": "start", "session": "s1", "attempt": 1, "rerun": RERUN, "variables": {}}


def test_input_session_and_allowed_variables_are_accepted() -> None:
    start = Start.parse({**MESSAGE, "variables": {"CITY": "Oslo"}}, ["CITY"])
    assert (start.session, start.rerun["input"], start.variables) == ("s1", "Hi", {"CITY": "Oslo"})


@pytest.mark.parametrize(
    "change",
    [
        {"command": ["rm", "-rf", "/"]},
        {"variables": {"LD_PRELOAD": "/tmp/evil.so"}},
        {"variables": {"CITY": 1}},
        {"variables": {"CITY": "Oslo", "FORKPOINT_HOSTS": "*"}},
        {"variables": {"CITY=Oslo": "Oslo"}},
        {"variables": {"CITY": "Oslo\0LD_PRELOAD=/tmp/evil.so"}},
        {"variables": []},
        {"rerun": {**RERUN, "path": "@evil.example/gateway/x"}},
        {"rerun": {**RERUN, "path": "/gateway/../admin"}},
        {"rerun": {**RERUN, "path": ".evil.example/gateway/x"}},
        {"rerun": {**RERUN, "attempt": "1/../2"}},
        {"rerun": {**RERUN, "command": "rm"}},
        {"rerun": {**RERUN, "variables": {"CITY": "Oslo"}}},
        {"env_allow": ["LD_PRELOAD"]},
        {"rerun": {**RERUN, "placeholder_key": "a\0b"}},
        {"rerun": {**RERUN, "opened_at": "now"}},
        {"rerun": None},
        {"rerun": {name: value for name, value in RERUN.items() if name != "input"}},
        {"session": "../s"},
        {"attempt": "1"},
    ],
)
def test_everything_else_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Unacceptable):
        Start.parse({**MESSAGE, **change}, ["CITY"])


@pytest.mark.parametrize("name", ["FORKPOINT_HOSTS", "OPENAI_BASE_URL", "A=B", ""])
def test_variables_of_the_runner_itself_cannot_be_allowed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        option_parser().parse_args(["--app", "desk", "--env-allow", name])
    assert "--env-allow" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "-1", "101", "two", "1.5", ""])
def test_number_of_agents_at_once_is_checked_before_the_server_is_asked(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit:
        option_parser().parse_args(["--app", "desk", f"--parallel={text}"])
    assert exit.value.code == 2
    assert "is not a number from 1 to 100" in capsys.readouterr().err


@pytest.mark.parametrize("tools", ["send", [1], None])
def test_tools_that_really_run_are_a_list_of_names(tools: Any) -> None:
    start = Start.parse({**MESSAGE, "rerun": {**RERUN, "real_tools": ["send"]}}, [], ["send"])
    assert start.rerun["real_tools"] == ["send"]
    with pytest.raises(Unacceptable):
        Start.parse({**MESSAGE, "rerun": {**RERUN, "real_tools": tools}}, [])


def test_tool_that_really_runs_needs_consent_or_review() -> None:
    rerun = {**RERUN, "real_tools": ["look", "send"], "reviewed_tools": ["look"]}
    assert Start.parse({**MESSAGE, "rerun": rerun}, [], ["send"])
    with pytest.raises(Unacceptable, match="really run send, which --allow-tool does not name"):
        Start.parse({**MESSAGE, "rerun": rerun}, [], ["erase"])
