"""Write the file of a backup, member by member. Pure."""

import hashlib
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO

from cockpit.backups.errors import BackupError
from cockpit.backups.manifest import MANIFEST, Manifest, Member


class ArchiveWriter:
    """Adds members to an archive, and notes their sizes and hashes."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self.members: list[Member] = []
        self._tar = tar
        self._time = int(time.time())

    def add(self, name: str, content: IO[bytes], size: int) -> None:
        """Add a member; raise `BackupError` if its content ends early."""
        reader = _HashingReader(content)
        try:
            self._tar.addfile(self._header(name, size), reader)
        except OSError as error:
            if error.errno is not None:
                raise
            raise BackupError(f"{name} became shorter while it was read") from error
        self.members.append(Member(name=name, size=size, sha256=reader.hexdigest()))

    def add_bytes(self, name: str, content: bytes) -> None:
        self.add(name, BytesIO(content), len(content))

    def add_file(self, name: str, path: Path) -> None:
        with path.open("rb") as file:
            self.add(name, file, path.stat().st_size)

    def close(self, manifest: Manifest) -> None:
        """Add the manifest, which is last: a file without it is incomplete."""
        content = manifest.model_dump_json(indent=1).encode()
        self._tar.addfile(self._header(MANIFEST, len(content)), BytesIO(content))

    def _header(self, name: str, size: int) -> tarfile.TarInfo:
        header = tarfile.TarInfo(name)
        header.size, header.mode, header.mtime = size, 0o600, self._time
        return header


@contextmanager
def write_archive(file: IO[bytes]) -> Iterator[ArchiveWriter]:
    """Write an archive into an open file."""
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        yield ArchiveWriter(tar)


class _HashingReader:
    """Hashes what is read from a file."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._content.read(size)
        self._hash.update(data)
        return data

    def hexdigest(self) -> str:
        return self._hash.hexdigest()
