"""Files that only their owner can read, and that appear at once and in full. Pure."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replace_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of another one, or of none, when the block is done."""
    part = path.with_name(f"{path.name}.new")
    try:
        with create_file(part) as file:
            yield file
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextmanager
def create_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a new file, which is on the disk when the block is done. An older one is removed."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        # A full disk is reported without a name.
        error.filename = error.filename or str(path)
        raise


def sync_folder(folder: Path) -> None:
    """Make the names of files in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
