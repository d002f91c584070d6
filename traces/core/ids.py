"""Time-ordered identifiers."""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import uuid_utils.compat

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Bits of a UUIDv7 below its milliseconds.
_BITS: Final = 80


def new_id() -> UUID:
    """Return a UUIDv7, which sorts by creation time."""
    return uuid_utils.compat.uuid7()


def id_bound(time: datetime) -> UUID:
    """Return an id above those of all earlier milliseconds, and below those that follow."""
    return UUID(int=max(int((time - _EPOCH).total_seconds() * 1000), 0) << _BITS)
