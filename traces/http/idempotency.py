"""Idempotency keys: a repeated request returns the first result; reusing a key for another request is rejected.

Keys belong to their caller and are stored as digests.
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

MAX_KEY_LENGTH: Final = 200
HEADER: Final = "Idempotency-Key"
# 256 bits cannot be guessed.
_SECRET_BYTES: Final = 32


class Key(NamedTuple):
    """An idempotency key and its caller."""

    text: str
    caller: str


class KeyConflict(ProblemError):
    """An idempotency key that was used for a different request."""

    code = "conflict"
    status = 409

    def __init__(self, key: Key) -> None:
        super().__init__(f"the idempotency key “{key.text}” was used for a different request", where=HEADER)


def find_made(kind: str, key: Key | None, request: JSONValue) -> str:
    """Return the stored result of a repeated request, or an empty text; raise `KeyConflict`.

    For callers with a long preparation before `make_once`: a repeated request can skip it.
    """
    if key is None or (row := RequestKey.objects.filter(key=_name(kind, key)).first()) is None:
        return ""
    _check(row, key, request)
    return row.made


def make_once(kind: str, key: Key | None, request: JSONValue, make: Callable[[], str]) -> str:
    """Run `make` in a transaction and return its result; return the stored one for a repeated request.

    Raise `KeyConflict`.
    """
    with transaction.atomic():
        if key is None:
            return make()
        row = _row(kind, key, request)
        if not row.made:
            row.made = make()
            row.save(update_fields=["made"])
    return row.made


def check_key(kind: str, key: Key | None, request: JSONValue) -> None:
    """Raise `KeyConflict` for a different request under the same key. The handler itself must be idempotent."""
    if key is not None:
        _row(kind, key, request)


def derive_secret(kind: str, key: Key | None, request: JSONValue) -> str:
    """Return a secret token. A repeated request gets the same token, although it is not stored."""
    if key is None:
        return secrets.token_urlsafe(_SECRET_BYTES)
    token = salted_hmac(kind, digest([key.caller, key.text, request]), algorithm="sha256").digest()
    return urlsafe_b64encode(token).rstrip(b"=").decode()


def _row(kind: str, key: Key, request: JSONValue) -> RequestKey:
    """Get or create the row of a key. Of two concurrent requests, the second waits for the first."""
    row, _ = RequestKey.objects.get_or_create(key=_name(kind, key), defaults={"asked": _keyed_digest(request)})
    _check(row, key, request)
    return row


def _name(kind: str, key: Key) -> str:
    return digest([kind, key.caller, key.text])


def _check(row: RequestKey, key: Key, request: JSONValue) -> None:
    if row.asked != _keyed_digest(request):
        raise KeyConflict(key)


def _keyed_digest(request: JSONValue) -> str:
    """Digest a request, which may contain secrets, so that nobody without the server's key can try values for them."""
    return salted_hmac("forkpoint.idempotency", digest(request), algorithm="sha256").hexdigest()
