"""Help of the commands."""

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from cockpit.cli.app import app


def parameters(command: Any, *names: str) -> Iterator[tuple[str, Any]]:
    for parameter in command.params:
        yield " ".join(names), parameter
    for name, subcommand in getattr(command, "commands", {}).items():
        yield from parameters(subcommand, *names, name)


PARAMETERS = list(parameters(get_command(app)))
# The SDK parses the arguments of these commands, and prints their help.
SDK_COMMANDS = {"hook", "mcp-shim", "record", "rerun", "runner"}


@pytest.mark.parametrize("command", sorted({name for name, _ in PARAMETERS if name not in SDK_COMMANDS}))
def test_help_names_no_python_type(command: str) -> None:
    text = CliRunner().invoke(app, [*command.split(), "--help"]).output
    assert "Usage:" in text
    assert "<" not in text.replace("<=", "")


@pytest.mark.parametrize(("command", "parameter"), [entry for entry in PARAMETERS if entry[0] not in SDK_COMMANDS])
def test_every_option_is_explained(command: str, parameter: Any) -> None:
    assert parameter.help, f"{command} {parameter.name}"
