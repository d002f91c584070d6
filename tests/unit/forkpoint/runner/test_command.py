"""How a runner ends."""

import os
import signal
from collections.abc import Iterator
from typing import Any, Self

import pytest

from forkpoint.bootstrap.gateway import CannotRun
from forkpoint.bootstrap.rerun import Agent
from forkpoint.runner.command import Runner, option_parser, run


class Connection:
    """A connection that is opened while the runner is asked to end, and that the server never closes."""

    def __enter__(self) -> Self:
        os.kill(os.getpid(), signal.SIGTERM)
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, text: str) -> None:
        raise AssertionError("the runner announces itself")


@pytest.fixture
def signals() -> Iterator[None]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
def test_runner_that_is_stopped_while_it_connects_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(runner: Runner) -> Any:
        return Connection()

    monkeypatch.setattr(Runner, "_connect", connect)
    options = option_parser().parse_args(["--app", "desk"])
    assert Runner(options, Agent(["true"], {"FORKPOINT_URL": "http://127.0.0.1:1"})).serve() == 0


@pytest.mark.parametrize("name", ["FORKPOINT_HOSTS", "OPENAI_BASE_URL"])
def test_variables_that_limit_the_agent_cannot_be_allowed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        option_parser().parse_args(["--app", "desk", "--env-allow", name])
    assert f"{name} is set by the runner itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "LD_AUDIT", "PYTHONPATH", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS"]
)
def test_variables_that_load_code_cannot_be_allowed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        option_parser().parse_args(["--app", "desk", "--env-allow", name])
    assert f"{name} decides which code runs" in capsys.readouterr().err


def test_runner_keeps_the_key_of_another_address() -> None:
    options = option_parser().parse_args(["--app", "desk"])
    environment = {"FORKPOINT_URL": "http://127.0.0.1:1", "OPENAI_BASE_URL": "http://gpu:8000/v1"}
    with pytest.raises(CannotRun, match="OPENAI_BASE_URL is set"):
        Runner(options, Agent(["true"], environment))


def test_agents_that_are_servers_run_one_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--app", "desk", "--input", "http", "--input-url", "http://127.0.0.1:1", "--parallel", "2", "--", "true"]
    with pytest.raises(SystemExit):
        run(words)
    assert "--input http needs --parallel 1" in capsys.readouterr().err
