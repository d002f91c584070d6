"""Read the file of a backup, after all of it was verified. Pure."""

import hashlib
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Final

from cockpit.backups.errors import UnusableBackup
from cockpit.backups.manifest import MANIFEST, Manifest, Member, check_members, check_name, parse_manifest

_CHUNK: Final = 1024 * 1024
# Millions of members.
_LONGEST_MANIFEST: Final = 1024 * 1024 * 1024


class Archive:
    """A verified archive."""

    def __init__(self, tar: tarfile.TarFile, headers: dict[str, tarfile.TarInfo], manifest: Manifest) -> None:
        self.manifest = manifest
        self._tar = tar
        self._headers = headers

    def __contains__(self, name: str) -> bool:
        return name in self._headers

    def open(self, name: str) -> BufferedReader:
        return _content(self._tar, self._headers[name])

    def read(self, name: str) -> bytes:
        with self.open(name) as content:
            return content.read()

    def copy(self, name: str, target: IO[bytes]) -> None:
        with self.open(name) as content:
            while data := content.read(_CHUNK):
                target.write(data)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an archive and verify all of it; raise `UnusableBackup`, or OSError if it cannot be read."""
    with path.open("rb") as file, _tar(file) as tar:
        yield _verify(tar)


@contextmanager
def _tar(file: IO[bytes]) -> Iterator[tarfile.TarFile]:
    try:
        tar = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115  # closed below
    except tarfile.TarError as error:
        raise UnusableBackup("it is not a backup of Forkpoint") from error
    with tar:
        yield tar


def _verify(tar: tarfile.TarFile) -> Archive:
    headers: dict[str, tarfile.TarInfo] = {}
    members: list[Member] = []
    try:
        for header in tar:
            _check_header(header, headers)
            headers[header.name] = header
            if header.name != MANIFEST:
                members.append(Member(name=header.name, size=header.size, sha256=_digest(tar, header)))
        manifest = _manifest(tar, headers)
    except tarfile.TarError as error:
        place = next(reversed(headers), "")
        raise UnusableBackup(f"it is cut off or damaged in or behind the member {place}") from error
    check_members(members, manifest)
    return Archive(tar, headers, manifest)


def _check_header(header: tarfile.TarInfo, headers: dict[str, tarfile.TarInfo]) -> None:
    check_name(header.name)
    if MANIFEST in headers:
        raise UnusableBackup(f"the member {header.name} is behind {MANIFEST}")
    if header.type not in {tarfile.REGTYPE, tarfile.AREGTYPE} or header.issparse():
        raise UnusableBackup(f"the member {header.name} is not a regular file")
    if header.name in headers:
        raise UnusableBackup(f"the member {header.name} exists twice")


def _manifest(tar: tarfile.TarFile, headers: dict[str, tarfile.TarInfo]) -> Manifest:
    header = headers.get(MANIFEST)
    if header is None:
        raise UnusableBackup(f"it has no {MANIFEST}: it is cut off, or not a backup of Forkpoint")
    if header.size > _LONGEST_MANIFEST:
        raise UnusableBackup(f"{MANIFEST} is too long")
    with _content(tar, header) as content:
        return parse_manifest(content.read())


def _digest(tar: tarfile.TarFile, header: tarfile.TarInfo) -> str:
    with _content(tar, header) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _content(tar: tarfile.TarFile, header: tarfile.TarInfo) -> BufferedReader:
    content = tar.extractfile(header)
    assert isinstance(content, BufferedReader), "regular files have content"
    return content
