"""Requests that may come twice: the same idempotency key makes one thing, and a different request under it is refused.

Keys belong to whoever sends them, and are kept as digests.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from django.db import transaction

from traces.canonical import digest
from traces.json_types import JSONValue
from traces.models import RequestKey
from traces.problems import ProblemError

LONGEST: Final = 200
WHERE: Final = "Idempotency-Key"


class Key(NamedTuple):
    """What a caller sent along, so that sending it again does nothing again."""

    text: str
    caller: str


class KeyConflict(ProblemError):
    """The key was used for something else."""

    code = "conflict"
    status = 409

    def __init__(self, key: Key) -> None:
        super().__init__(f"the idempotency key {key.text!r} was used for another request", where=WHERE)


def once(kind: str, key: Key | None, asked: JSONValue, make: Callable[[], str]) -> str:
    """What `make` makes, or what it made when this came before; raises `KeyConflict`."""
    if key is None:
        return make()
    with transaction.atomic():
        row = _row(kind, key, asked)
        if not row.made:
            row.made = make()
            row.save(update_fields=["made"])
    return row.made


def agree(kind: str, key: Key | None, asked: JSONValue) -> None:
    """Raise `KeyConflict` for another request under the same key, where asking again finds what was made."""
    if key is not None:
        _row(kind, key, asked)


def _row(kind: str, key: Key, asked: JSONValue) -> RequestKey:
    """The row of a key, new or known. Of two that come at once the second waits for the first."""
    said = digest(asked)
    row, _ = RequestKey.objects.get_or_create(key=digest([kind, key.caller, key.text]), defaults={"asked": said})
    if row.asked != said:
        raise KeyConflict(key)
    return row
