"""The command groups `token`, `bundle`, `backup` and `export`."""

from pathlib import Path
from typing import Annotated

import typer

from cockpit.cli.command_help import CommandGroup
from cockpit.cli.errors import finish
from cockpit.cli.options import RUN, Json, Run, Token, Url

tokens = CommandGroup(no_args_is_help=True, help="Manage API tokens of the local store.")
bundles = CommandGroup(no_args_is_help=True, help="Export and import runs as portable files.")
backups = CommandGroup(no_args_is_help=True, help="Back up the whole local store as one file, and restore it.")
exports = CommandGroup(no_args_is_help=True, help="Export runs to other systems.")


@tokens.command("create")
def token_create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Owner or purpose of the token.")],
    role: Annotated[
        str, typer.Option(metavar="sender|viewer|debugger|admin", help="What the token may do.")
    ] = "viewer",
    json: Json = False,
) -> None:
    """Create an API token. It is shown only once."""
    from cockpit.cli.commands import serve

    serve.create_token(name, role=role, json=json)


@exports.command("langfuse")
def export_langfuse(
    run: Run,
    target: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the Langfuse target in FORKPOINT_TELEMETRY, if there are several."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the export is complete.")] = True,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Export a run to Langfuse as a trace. Repeating an export creates no duplicates."""
    from cockpit.cli.commands import export as export_command

    finish(export_command.langfuse(run, target=target, wait=wait, json=json, url=url, token=token))


@bundles.command("export")
def bundle_export(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help=RUN)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write.")],
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Export runs to a file that any Forkpoint can import: a bundle, or a zip file with a bundle of each run."""
    from cockpit.cli.commands import import_files

    import_files.export(runs, output, json=json, url=url, token=token)


@bundles.command("import")
def bundle_import(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE", help="Bundles, or zip files of bundles.")],
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Import bundles."""
    from cockpit.cli.commands import import_files

    finish(import_files.run(paths, app=None, format="bundle", json=json, url=url, token=token))


@backups.command("create")
def backup_create(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="New file. It contains all recordings and keys.")],
    json: Json = False,
) -> None:
    """Write a backup of the local store; a server may run meanwhile."""
    from cockpit.cli.commands.store import backup

    backup.create(target, json=json)


@backups.command("restore")
def backup_restore(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    json: Json = False,
) -> None:
    """Restore a backup into an empty store: a new FORKPOINT_HOME, or one without runs."""
    from cockpit.cli.commands.store import backup

    backup.restore(source, json=json)
