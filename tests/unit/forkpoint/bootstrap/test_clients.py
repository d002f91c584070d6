"""How programs are pointed at the gateway."""

import tomllib

import pytest

from forkpoint.bootstrap.clients import command, variables

URL = "http://127.0.0.1:8700/gateway/s"


@pytest.mark.parametrize(
    "program",
    [
        ["codex"],
        ["/opt/bin/codex"],
        [r"C:\tools\codex.cmd"],
        ["npx", "--yes", "@openai/codex@0.169.0"],
        ["pnpm", "dlx", "@openai/codex"],
        ["node", "/lib/node_modules/@openai/codex/bin/codex.js"],
    ],
)
def test_codex_gets_the_address_as_arguments(program: list[str]) -> None:
    words = command([*program, "exec", "--json", "codex"], URL)
    assert words[: len(program)] == program
    assert words[-3:] == ["exec", "--json", "codex"]
    flag, choice, other_flag, provider = words[len(program) : -3]
    assert (flag, other_flag) == ("-c", "-c")
    settings = tomllib.loads(f"{choice}\n{provider}")
    assert settings["model_providers"][settings["model_provider"]] == {
        "name": "Forkpoint",
        "base_url": f"{URL}/openai/v1",
        "wire_api": "responses",
        "env_key": "OPENAI_API_KEY",
    }


@pytest.mark.parametrize(
    "words",
    [["python", "codex.py"], ["npx"], ["node", "--trace-warnings"], ["./agent", "codex"], ["npm", "run", "codex"]],
)
def test_other_commands_stay_as_they_are(words: list[str]) -> None:
    assert command(words, URL) == words


def test_client_that_is_named_wins() -> None:
    assert command(["codex", "exec"], URL, "other") == ["codex", "exec"]
    assert command(["./agent", "exec"], URL, "codex")[:2] == ["./agent", "-c"]


def test_variables() -> None:
    values = variables({"PYTHONHASHSEED": "7", "PATH": "/bin"}, URL)
    assert "PATH" not in values
    assert "PYTHONHASHSEED" not in values
    assert values["PYTHONUNBUFFERED"] == values["OPENAI_AGENTS_DISABLE_TRACING"] == "1"
    assert (values["OPENAI_BASE_URL"], values["ANTHROPIC_BASE_URL"]) == (f"{URL}/openai/v1", f"{URL}/anthropic")
