"""Key of the digests that replace redacted values."""

import fcntl
import os
import secrets
from functools import cache
from pathlib import Path

from django.conf import settings


def redaction_key() -> bytes:
    """Return the configured key, or the one of this installation, which the first use creates."""
    if settings.REDACTION_KEY:
        return str(settings.REDACTION_KEY).encode()
    return _key_of(Path(settings.REDACTION_KEY_FILE))


@cache
def _key_of(path: Path) -> bytes:
    """Read the key from a file that only its owner can read; write it once if the file is new."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "r+") as file:
        # Only one of several processes that start at once generates the key.
        fcntl.flock(file, fcntl.LOCK_EX)
        key = file.read()
        if not key:
            key = secrets.token_urlsafe(48)
            file.write(key)
    return key.encode()
