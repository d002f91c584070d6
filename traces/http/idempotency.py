"""Requests that may come twice: the same idempotency key makes one thing, and a different request under it is refused.

Keys belong to whoever sends them, and are kept as digests.
"""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Final, NamedTuple

from django.db import transaction
from django.utils.crypto import salted_hmac

from traces.core.canonical import digest
from traces.core.json_types import JSONValue
from traces.errors import ProblemError
from traces.models import RequestKey

LONGEST: Final = 200
WHERE: Final = "Idempotency-Key"
_SECRET_BYTES: Final = 32  # 256 bits: beyond guessing at any rate


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


def made(kind: str, key: Key | None, asked: JSONValue) -> str:
    """What this request made when it came before, empty for nothing; raises `KeyConflict`.

    For those who prepare at length what `once` then makes: a repetition need not wait for that.
    """
    if key is None or (row := RequestKey.objects.filter(key=_name(kind, key)).first()) is None:
        return ""
    _check(row, key, asked)
    return row.made


def once(kind: str, key: Key | None, asked: JSONValue, make: Callable[[], str]) -> str:
    """What `make` makes, in a transaction, or what it made when this came before; raises `KeyConflict`."""
    with transaction.atomic():
        if key is None:
            return make()
        row = _row(kind, key, asked)
        if not row.made:
            row.made = make()
            row.save(update_fields=["made"])
    return row.made


def agree(kind: str, key: Key | None, asked: JSONValue) -> None:
    """Raise `KeyConflict` for another request under the same key, where asking again finds what was made."""
    if key is not None:
        _row(kind, key, asked)


def unguessable(kind: str, key: Key | None, asked: JSONValue) -> str:
    """Beyond guessing. Whoever repeats a request gets the same one, which is nevertheless stored nowhere."""
    if key is None:
        return secrets.token_urlsafe(_SECRET_BYTES)
    drawn = salted_hmac(kind, digest([key.caller, key.text, asked]), algorithm="sha256").digest()
    return urlsafe_b64encode(drawn).rstrip(b"=").decode()


def _row(kind: str, key: Key, asked: JSONValue) -> RequestKey:
    """The row of a key, new or known. Of two that come at once the second waits for the first."""
    row, _ = RequestKey.objects.get_or_create(key=_name(kind, key), defaults={"asked": digest(asked)})
    _check(row, key, asked)
    return row


def _name(kind: str, key: Key) -> str:
    return digest([kind, key.caller, key.text])


def _check(row: RequestKey, key: Key, asked: JSONValue) -> None:
    if row.asked != digest(asked):
        raise KeyConflict(key)
