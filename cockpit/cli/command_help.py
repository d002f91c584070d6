"""Help of the commands: arguments are listed by what they are, without the names of Python types."""

from collections.abc import Callable
from typing import Any, Final

import typer
from typer.core import TyperCommand
from typer.models import CommandFunctionType

_PROGRAM: Final = "forkpoint.program"


class _Command(TyperCommand):
    # Typer does not export the types of the context and the formatter.
    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options. Typer appends the Python type to the name of an argument."""
        records = [(param.param_type_name, param.get_help_record(ctx)) for param in self.get_params(ctx)]
        arguments = [
            (record[0].partition(" <")[0], record[1]) for kind, record in records if record and kind == "argument"
        ]
        options = [record for kind, record in records if record and kind == "option"]
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class ProgramCommand(_Command):
    """A command that can be followed by a program to run: `forkpoint calibrate RUN -- python agent.py`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Set the words of the program apart, which no option may be taken from."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_PROGRAM] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])


def program_of(ctx: typer.Context) -> list[str]:
    """Return the words of the program that follows a `ProgramCommand`."""
    return [*ctx.meta[_PROGRAM]]


class CommandGroup(typer.Typer):
    """Commands with this help."""

    def command(self, *args: Any, **settings: Any) -> Callable[[CommandFunctionType], CommandFunctionType]:
        return super().command(*args, **{"cls": _Command, **settings})
