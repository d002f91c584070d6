"""Commands that run an agent on this machine: to record it, or again."""

from pathlib import Path
from typing import Annotated, Final

import typer

from cockpit.cli.command_help import CommandGroup
from cockpit.cli.errors import finish
from cockpit.cli.options import AllowHosts, AllowTools, Json, Token, Url

agents = CommandGroup()
# The SDK parses the arguments of its commands; they are here so that the help lists them.
_SDK_SETTINGS: Final = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@agents.command(add_help_option=False, context_settings=_SDK_SETTINGS)
def record(arguments: Annotated[list[str] | None, typer.Argument(metavar="-- COMMAND...")] = None) -> None:
    """Run a program and record its model and tool calls, without changing its code."""
    from forkpoint.bootstrap import record as recording

    raise typer.Exit(recording.record(arguments or []))


@agents.command(add_help_option=False, context_settings=_SDK_SETTINGS)
def rerun(arguments: Annotated[list[str] | None, typer.Argument(metavar="RUN -- COMMAND...")] = None) -> None:
    """Run an agent again, with its model calls answered from the recording of a run."""
    from forkpoint.bootstrap import rerun as agent

    raise typer.Exit(agent.rerun(arguments or []))


@agents.command(add_help_option=False, context_settings=_SDK_SETTINGS)
def runner(arguments: Annotated[list[str] | None, typer.Argument(metavar="--app APP -- COMMAND...")] = None) -> None:
    """Wait for replays of an app in which its agent is to run again, and start it on this machine."""
    from forkpoint.runner import command

    raise typer.Exit(command.run(arguments or []))


@agents.command("mcp-shim", add_help_option=False, context_settings=_SDK_SETTINGS)
def mcp_shim(arguments: Annotated[list[str] | None, typer.Argument(metavar="-- COMMAND...")] = None) -> None:
    """Stand before an MCP server on standard streams, to record its calls and to answer them in reruns."""
    from forkpoint.mcp_shim import command

    raise typer.Exit(command.mcp_shim(arguments or []))


@agents.command(add_help_option=False, context_settings=_SDK_SETTINGS)
def hook(arguments: Annotated[list[str] | None, typer.Argument(metavar="[--timeout SECONDS]")] = None) -> None:
    """Answer shell commands of Claude Code and Codex in reruns: the `PreToolUse` hook that both call."""
    from forkpoint.bootstrap import hook as coding_agents

    raise typer.Exit(coding_agents.hook(arguments or []))


@agents.command()
def ci(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="-- COMMAND...",
            help="Program to run for each golden run; {input} in its arguments is the recorded input.",
        ),
    ],
    golden: Annotated[list[Path], typer.Option("--golden", metavar="PATH", help="Golden run, or a folder of them.")],
    accept: Annotated[
        bool, typer.Option("--accept", help="Replace golden runs that differ, with live calls where needed.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report for JUnit readers.")] = None,
    reports: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the comparison of each difference as a page.")
    ] = None,
    allow_tools: AllowTools = None,
    allow_hosts: AllowHosts = None,
    network: Annotated[
        str, typer.Option(metavar="listed|open", help="Hosts to which a Python agent may connect.")
    ] = "listed",
    freeze: Annotated[
        bool,
        typer.Option(
            "--freeze",
            help="Start the clock of a Python or Node agent when the recording started, and seed what it draws.",
        ),
    ] = False,
    client: Annotated[str, typer.Option(metavar="codex|other", help="Client that COMMAND is, as in `rerun`.")] = "",
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Replay golden runs with an agent, without live calls; exit with 5 if it does something else than recorded."""
    from cockpit.cli.agent_store import confinement
    from cockpit.cli.commands.golden import replays

    settings = replays.Settings(
        words=words,
        client=client,
        confinement=confinement(network, allow_hosts or [], is_frozen=freeze),
        tools_to_run=allow_tools or [],
        is_accepting=accept,
        junit=junit,
        reports=reports,
        json=json,
    )
    finish(replays.run(golden, settings, url=url, token=token))
