"""The commands `profiles` and `policies`."""

from typing import Annotated

import typer

from cockpit.cli.command_help import CommandGroup
from cockpit.cli.options import Json, Kind, Token, Url

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name: lower-case letters, digits, dots and dashes.")]
Ref = Annotated[str, typer.Argument(metavar="NAME|DIGEST", help="Name, digest or unique prefix of a digest.")]
Source = Annotated[
    str, typer.Argument(metavar="FILE|NAME|DIGEST", help="JSON file, - for standard input, or a saved document.")
]


def commands(kind: Kind, help: str) -> CommandGroup:
    """Create the commands list, show, save and forget for one kind of document."""
    group = CommandGroup(help=help, invoke_without_command=True)

    @group.callback()
    def list_all(context: typer.Context, json: Json = False, url: Url = None, token: Token = None) -> None:
        from cockpit.cli.commands import profiles

        if context.invoked_subcommand is None:
            profiles.listing(kind, json=json, url=url, token=token)

    @group.command("show")
    def show(ref: Ref, json: Json = False, url: Url = None, token: Token = None) -> None:
        """Print a saved document."""
        from cockpit.cli.commands import profiles

        profiles.show(kind, ref, json=json, url=url, token=token)

    @group.command("save")
    def save(name: Name, source: Source, json: Json = False, url: Url = None, token: Token = None) -> None:
        """Save a document under a name. An existing name is updated."""
        from cockpit.cli.commands import profiles

        profiles.save(kind, name, source, json=json, url=url, token=token)

    @group.command("forget")
    def forget(name: Name, json: Json = False, url: Url = None, token: Token = None) -> None:
        """Remove a name; the document stays stored."""
        from cockpit.cli.commands import profiles

        profiles.forget(kind, name, json=json, url=url, token=token)

    return group
