"""Commands that delete runs and bring them back."""

from typing import Annotated

import typer

from cockpit.cli.command_help import CommandGroup
from cockpit.cli.errors import finish
from cockpit.cli.options import Json, Token, Url

retention = CommandGroup()


@retention.command()
def delete(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Ids, unique prefixes, external ids, or `last`.")],
    includes_citations: Annotated[
        bool, typer.Option("--cited", help="Delete runs that forks or reports cite, too; these lose the contents.")
    ] = False,
    at_once: Annotated[
        bool, typer.Option("--at-once", help="Remove the contents now; the runs cannot be restored.")
    ] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Delete runs, the revisions that they continue, and everything that only they use."""
    from cockpit.cli.commands.retention import delete as delete_command

    finish(
        delete_command.delete(
            runs, includes_citations=includes_citations, at_once=at_once, json=json, url=url, token=token
        )
    )


@retention.command()
def restore(
    run: Annotated[str, typer.Argument(metavar="ID", help="Full id of a deleted run.")],
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Restore a deleted run whose contents still exist."""
    from cockpit.cli.commands.retention import delete as delete_command

    delete_command.restore(run, json=json, url=url, token=token)


@retention.command()
def purge(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be deleted and what would be kept.")
    ] = False,
    unused_files: Annotated[
        bool,
        typer.Option(
            "--unused-files",
            help="Only remove files of the local store's artifacts that no artifact has, and that are a day old.",
        ),
    ] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Delete runs whose retention has ended, and remove deleted runs that can no longer be restored."""
    from cockpit.cli.commands.retention import purge as purge_command

    if unused_files:
        purge_command.remove_unused_files(dry_run=dry_run, json=json, url=url)
        return
    purge_command.purge(dry_run=dry_run, json=json, url=url, token=token)
