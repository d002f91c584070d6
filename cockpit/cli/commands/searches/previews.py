"""Plans of searches, shown before anything runs."""

from collections.abc import Callable
from typing import Any

from cockpit.cli import output
from cockpit.cli.client import Api, connect
from cockpit.cli.commands.replay import with_local_model
from cockpit.cli.errors import Exit

Plan = dict[str, Any]


def show_preview(
    make: Callable[[Api], Plan], show: Callable[[Plan], None], *, json: bool, url: str | None, token: str | None
) -> Exit:
    """Let the server make a plan, and print it with its cost. A refusal is bad input."""
    with connect(url, token) as api:
        if api.local:
            with_local_model()
        plan = make(api)
    if json:
        output.document({"plan": plan})
    else:
        show(plan)
    return Exit.BAD_INPUT if plan["refusals"] else Exit.OK
