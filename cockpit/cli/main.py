"""Running the command line, and what is said of a command that fails."""

import sys
from typing import Any

from typer.exceptions import TyperException

from cockpit.cli.app import app
from cockpit.cli.errors import Exit, Failure


def run() -> None:
    """Run the command line; failures go to standard error, and with --json to standard output too."""
    try:
        sys.exit(app(standalone_mode=False))
    except Failure as failure:
        _tell(failure)
        sys.exit(failure.exit)
    except TyperException as error:  # of the arguments themselves
        _tell_usage(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output, as `head` does, has seen enough.
        sys.stderr.close()
        sys.exit(0)


def _tell_usage(error: TyperException) -> None:
    from cockpit.cli import output

    if "--json" in sys.argv:
        output.document(Failure(error.format_message(), exit=Exit.BAD_INPUT, code="validation_error").as_json())
    shown: Any = error  # every one of them can, and the class does not say so
    shown.show()


def _tell(failure: Failure) -> None:
    from cockpit.cli import output

    where: dict[str, Any] = failure.as_json()
    if "--json" in sys.argv:
        output.document(where)
    output.error(f"{failure}" + (f" (at {failure.where})" if failure.where else ""))
