"""Random bytes of the SDK's own: it draws none of an agent's, which `--freeze` repeats in a rerun."""

import os
import uuid

# That of the operating system, also after `--freeze` has replaced it for the agent.
random_bytes = os.urandom


def new_uuid() -> uuid.UUID:
    """Return a random id."""
    return uuid.UUID(bytes=random_bytes(16), version=4)
