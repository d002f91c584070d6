"""The files of large artifacts, in a folder or on S3: written once, and never believed without their hash."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Final
from uuid import uuid4

from django.core.files.storage import Storage, storages

from traces.errors import StorageAway, StorageRefuses

_PROBES: Final = "probes"
_SERVER_FAILED: Final = 500
_TOO_MANY: Final = 429


def keep(place: str, data: bytes) -> None:
    """Write once; what a crash left half-written is written again."""
    with _reaching():
        storage = _storage()
        if storage.exists(place):
            if storage.size(place) == len(data):
                return
            storage.delete(place)
        written = storage.save(place, BytesIO(data))
        if written != place:  # another process wrote the same bytes at the same moment
            storage.delete(written)


def read(place: str) -> bytes | None:
    """None where no such file is kept."""
    with _reaching():
        try:
            with _storage().open(place) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None


def check() -> None:
    """Write, read and delete a probe file; raises `StorageAway` or `StorageRefuses` where that fails."""
    content = uuid4().bytes
    with _reaching():
        storage = _storage()
        place = storage.save(f"{_PROBES}/{content.hex()}", BytesIO(content))
        try:
            with storage.open(place) as file:
                if file.read() != content:
                    raise StorageRefuses("the artifact storage did not give a probe file back as it was written")
        finally:
            storage.delete(place)


@contextmanager
def _reaching() -> Iterator[None]:
    try:
        yield
    except StorageRefuses:
        raise
    except Exception as error:
        if (told := _s3_trouble(error) or _folder_trouble(error)) is None:
            raise
        raise told from error


def _folder_trouble(error: Exception) -> StorageAway | StorageRefuses | None:
    """A full or disconnected disk may be mended soon; a forbidden one is a mistake."""
    if not isinstance(error, OSError):
        return None
    forbidden = isinstance(error, PermissionError) or error.errno == errno.EROFS
    return (StorageRefuses if forbidden else StorageAway)(f"the artifact storage failed: {error}")


def _s3_trouble(error: Exception) -> StorageAway | StorageRefuses | None:
    """What a failure of S3 means; None for any other."""
    if not type(error).__module__.startswith(("botocore.", "boto3.", "s3transfer.")):
        return None
    from botocore import exceptions as failures  # noqa: PLC0415 - slow to import, and only there with the extra `s3`

    # The transfer manager's own exceptions say only that it gave up.
    cause = error if isinstance(error, failures.ClientError | failures.BotoCoreError) else error.__context__
    if isinstance(cause, failures.ClientError):
        status = cause.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        kind = StorageAway if status >= _SERVER_FAILED or status == _TOO_MANY else StorageRefuses
        return kind(f"the artifact storage answered: {cause}")
    if isinstance(cause, failures.HTTPClientError | failures.ConnectionError | failures.IncompleteReadError):
        return StorageAway(f"the artifact storage does not answer: {cause}")
    return StorageRefuses(f"the artifact storage cannot be used: {error}")


def _storage() -> Storage:
    return storages["artifacts"]
