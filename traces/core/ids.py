"""Time-ordered identifiers."""

from uuid import UUID

import uuid_utils.compat


def new_id() -> UUID:
    """Return a UUIDv7, which sorts by creation time."""
    return uuid_utils.compat.uuid7()
