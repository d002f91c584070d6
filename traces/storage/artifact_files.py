"""Files of large artifacts, in a folder or on S3: written once, verified by their hash at every read."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from io import BytesIO
from typing import Final
from uuid import uuid4

from django.core.files.storage import Storage, storages

from traces.errors import StorageAway, StorageRefuses
from traces.storage.artifact_folder import ArtifactFolder

_PROBES: Final = "probes"
_SERVER_FAILED: Final = 500
_TOO_MANY: Final = 429


def write(path: str, data: bytes) -> None:
    """Write a file once; an incomplete or damaged one is replaced."""
    with _storage_errors():
        storage = _storage()
        if not storage.exists(path) or storage.size(path) != len(data) or read(path) != data:
            storage.save(path, BytesIO(data))


def read(path: str) -> bytes | None:
    """Return the bytes of a file; None if it does not exist."""
    with _storage_errors():
        try:
            with _storage().open(path) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None


def delete(path: str) -> None:
    """Delete a file; does nothing if it does not exist."""
    with _storage_errors():
        _storage().delete(path)


def remove_old_parts() -> None:
    """Remove the parts of files that killed processes left. S3 has none."""
    if isinstance(storage := _storage(), ArtifactFolder):
        with _storage_errors():
            storage.remove_old_parts()


def names(pattern: re.Pattern[str], *, before: datetime) -> Iterator[str]:
    """Yield the paths of the files that match a pattern and were last written before a time."""
    with _storage_errors():
        storage = _storage()
        for path in _all_names(storage):
            if pattern.fullmatch(path):
                with suppress(FileNotFoundError):
                    if storage.get_modified_time(path) < before:
                        yield path


def _all_names(storage: Storage, folder: str = "") -> Iterator[str]:
    try:
        folders, files = storage.listdir(folder)
    except FileNotFoundError:
        return
    yield from (folder + name for name in sorted(files))
    for name in sorted(folders):
        yield from _all_names(storage, f"{folder}{name}/")


def check() -> None:
    """Write, read and delete a probe file; raise `StorageAway` or `StorageRefuses` if that fails."""
    content = uuid4().bytes
    with _storage_errors():
        storage = _storage()
        path = storage.save(f"{_PROBES}/{content.hex()}", BytesIO(content))
        try:
            with storage.open(path) as file:
                if file.read() != content:
                    raise StorageRefuses("the artifact storage returned a probe file with different content")
        finally:
            storage.delete(path)


@contextmanager
def _storage_errors() -> Iterator[None]:
    """Translate errors of the storage."""
    try:
        yield
    except StorageRefuses:
        raise
    except Exception as error:
        if (problem := s3_problem(error) or _folder_problem(error)) is None:
            raise
        raise problem from error


def _folder_problem(error: Exception) -> StorageAway | StorageRefuses | None:
    """Translate an error of the file system: a full or disconnected disk may recover, missing permissions do not."""
    if not isinstance(error, OSError):
        return None
    forbidden = isinstance(error, PermissionError) or error.errno == errno.EROFS
    return (StorageRefuses if forbidden else StorageAway)(f"the artifact storage failed: {error}")


def s3_problem(error: Exception) -> StorageAway | StorageRefuses | None:
    """Translate an error of S3; None for any other error."""
    if not type(error).__module__.startswith(("botocore.", "boto3.", "s3transfer.")):
        return None
    from botocore import exceptions as failures  # noqa: PLC0415 - slow to import, and only present with the extra `s3`

    # The transfer manager's own exceptions do not contain the cause.
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
