"""Help of the commands: arguments are listed by what they are, without the names of Python types."""

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand
from typer.models import CommandFunctionType


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


class CommandGroup(typer.Typer):
    """Commands with this help."""

    def command(self, *args: Any, **settings: Any) -> Callable[[CommandFunctionType], CommandFunctionType]:
        return super().command(*args, **{"cls": _Command, **settings})
