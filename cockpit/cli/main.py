"""Entry point of the command line, and the reporting of failures."""

import gc
import sys
from typing import Any, Final

from typer.exceptions import TyperException

from cockpit.cli.app import app
from cockpit.cli.errors import Exit, Failure

# Imports create 200,000 objects that stay; Python's 700 would search them for garbage hundreds of times.
_OBJECTS_PER_COLLECTION: Final = 50_000


def run() -> None:
    """Run the command line. Failures go to standard error, and with --json also to standard output."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    try:
        sys.exit(app(standalone_mode=False))
    except Failure as failure:
        _report(failure)
        sys.exit(failure.exit)
    except TyperException as error:
        _report_usage(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output closed it, as `head` does.
        sys.stderr.close()
        sys.exit(0)


def _report_usage(error: TyperException) -> None:
    from cockpit.cli import output

    if "--json" in sys.argv:
        output.document(Failure(error.format_message(), exit=Exit.BAD_INPUT, code="validation_error").as_json())
    # Every subclass has `show`; the base class does not declare it.
    usage_error: Any = error
    usage_error.show()


def _report(failure: Failure) -> None:
    from cockpit.cli import output

    if "--json" in sys.argv:
        output.document(failure.as_json())
    output.error(f"{failure}" + (f" (at {failure.location})" if failure.location else ""))
