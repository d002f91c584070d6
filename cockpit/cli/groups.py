"""Groups of commands: tokens, bundles, exports to other systems."""

from pathlib import Path
from typing import Annotated

import typer

from cockpit.cli.errors import Exit
from cockpit.cli.options import Json, Run, Token, Url

tokens = typer.Typer(no_args_is_help=True, help="API tokens of the store on this machine.")
bundles = typer.Typer(no_args_is_help=True, help="Runs as portable files.")
exports = typer.Typer(no_args_is_help=True, help="Runs to other systems.")


def finish(exit: Exit) -> None:
    """End the command with its exit code."""
    if exit:
        raise typer.Exit(exit)


@tokens.command("create")
def token_create(
    name: Annotated[str, typer.Argument(help="Whose it is, or what for.")],
    role: Annotated[str, typer.Option(metavar="viewer|debugger|admin")] = "viewer",
    json: Json = False,
) -> None:
    """Make an API token. It is shown once."""
    from cockpit.cli.commands import serve

    serve.create_token(name, role=role, json=json)


@exports.command("langfuse")
def export_langfuse(
    run: Run,
    target: Annotated[
        str | None, typer.Option(help="A Langfuse of FORKPOINT_TELEMETRY by its name, where there are several.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until Langfuse has everything.")] = True,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Send a run to Langfuse as a trace; sent again, nothing is doubled there."""
    from cockpit.cli.commands import export as export_command

    finish(export_command.langfuse(run, target=target, wait=wait, json=json, url=url, token=token))


@bundles.command("export")
def bundle_export(
    run: Run,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Write a run to one file that any other Forkpoint can import."""
    from cockpit.cli.commands import import_files

    import_files.export(run, output, json=json, url=url, token=token)


@bundles.command("import")
def bundle_import(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE...")],
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Import bundles."""
    from cockpit.cli.commands import import_files

    finish(import_files.run(paths, app=None, format="bundle", json=json, url=url, token=token))
