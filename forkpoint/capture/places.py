"""Where a library's call belongs: the open run or step, the run of the process, or a run of its own."""

from typing import NamedTuple

from forkpoint.capture.process_run import process_run
from forkpoint.recorder import recorder
from forkpoint.scopes import RunScope, Scope


class Place(NamedTuple):
    """The scope around a call. `own_run` is set if it was made for the call, which has to end it."""

    parent: Scope
    own_run: RunScope | None = None


def find_place(name: str = "") -> Place:
    """Return the place of a call that begins now; a run made for it gets the name."""
    scope = recorder.enclosing_scope()
    if scope is not None and not scope.has_ended:
        return Place(scope)
    if (run := process_run()) is not None:
        return Place(run)
    run = recorder.run(name)
    run.is_implicit = True
    return Place(run.begin(), run)
