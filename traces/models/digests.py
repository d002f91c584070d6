"""Digests as columns."""

from collections.abc import Sequence
from typing import Any, Final

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

_LENGTH: Final = 64
_BYTES: Final = 32


def digest_key(digest: str) -> bytes:
    """Return the bytes of a digest in hexadecimal digits; none, which name nothing, for any other text."""
    try:
        return bytes.fromhex(digest) if len(digest) == _LENGTH else b""
    except ValueError:
        return b""


def digest_keys(digests: Sequence[str]) -> list[bytes]:
    """Return the bytes of many digests, as fast as those of a few."""
    try:
        return split_digests("".join(digests)) if set(map(len, digests)) == {_LENGTH} else [*map(digest_key, digests)]
    except ValueError:
        return [*map(digest_key, digests)]


def split_digests(text: str) -> list[bytes]:
    """Return the bytes of digests in a text of nothing else; raise `ValueError` for any other text."""
    data = bytes.fromhex(text)
    if len(text) % _LENGTH or len(text) != 2 * len(data):
        raise ValueError("the text contains more than digests")
    return [data[start : start + _BYTES] for start in range(0, len(data), _BYTES)]


class DigestField(models.Field):  # type: ignore[type-arg]  # generic in the stubs only
    """A SHA-256: 64 hexadecimal digits in Python, 32 bytes in the database."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "bytea" if connection.vendor == "postgresql" else "blob"

    def get_prep_value(self, value: Any) -> Any:
        return digest_key(value) if isinstance(value, str) else value

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        return None if value is None else bytes(value).hex()
