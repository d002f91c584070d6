"""Values that differ each time, recorded as tool steps: a rerun gives the recorded ones."""

from datetime import UTC, datetime
from uuid import UUID

from forkpoint.capture.process_run import process_run
from forkpoint.entropy import new_uuid, random_bytes
from forkpoint.recorder import recorder
from forkpoint.vocabulary import ValueTool

# The precision of a float.
_BITS = 53


def now() -> datetime:
    """Return the time in UTC; in a rerun the recorded one."""
    _begin_run()
    return datetime.fromisoformat(_read_clock())


def random() -> float:
    """Return a random number from 0 to 1, without 1; in a rerun the recorded one."""
    _begin_run()
    return _draw_number()


def uuid() -> UUID:
    """Return a random id; in a rerun the recorded one."""
    _begin_run()
    return UUID(_draw_id())


@recorder.tool(ValueTool.NOW)
def _read_clock() -> str:
    return datetime.now(UTC).isoformat()


@recorder.tool(ValueTool.RANDOM)
def _draw_number() -> float:
    return (int.from_bytes(random_bytes(8), "big") >> (64 - _BITS)) * 2.0**-_BITS


@recorder.tool(ValueTool.UUID)
def _draw_id() -> str:
    return str(new_uuid())


def _begin_run() -> None:
    """Begin the run of a program that is recorded as a whole, so that the value belongs to it."""
    with recorder.suppress_errors():
        process_run()
