"""The commands `profiles` and `policies`, and their options."""

from typing import Annotated

import typer

from cockpit.cli.options import Json, Kind, Token, Url

Name = Annotated[str, typer.Argument(metavar="NAME", help="Lower case letters, digits, dots, dashes.")]
Ref = Annotated[str, typer.Argument(metavar="NAME|DIGEST", help="A name, a digest, or its unique beginning.")]
Given = Annotated[str, typer.Argument(metavar="FILE|NAME|DIGEST", help="JSON; - reads standard input.")]


def commands(kind: Kind, help: str) -> typer.Typer:
    """List, show, save and forget, for one kind of document."""
    group = typer.Typer(help=help, invoke_without_command=True)

    @group.callback()
    def listed(context: typer.Context, json: Json = False, url: Url = None, token: Token = None) -> None:
        from cockpit.cli.commands import profiles

        if context.invoked_subcommand is None:
            profiles.listing(kind, json=json, url=url, token=token)

    @group.command("show")
    def show(ref: Ref, json: Json = False, url: Url = None, token: Token = None) -> None:
        """Print one as it was written."""
        from cockpit.cli.commands import profiles

        profiles.show(kind, ref, json=json, url=url, token=token)

    @group.command("save")
    def save(name: Name, given: Given, json: Json = False, url: Url = None, token: Token = None) -> None:
        """Store one under a name; a name that is taken moves to it."""
        from cockpit.cli.commands import profiles

        profiles.save(kind, name, given, json=json, url=url, token=token)

    @group.command("forget")
    def forget(name: Name, json: Json = False, url: Url = None, token: Token = None) -> None:
        """Take a name away; what it named stays."""
        from cockpit.cli.commands import profiles

        profiles.forget(kind, name, json=json, url=url, token=token)

    return group
