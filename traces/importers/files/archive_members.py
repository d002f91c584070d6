"""Members of archives of recordings, zip or tar, each read like a file of its own. Pure.

Nothing is unpacked to disk, and one member at a time is in memory. Limits are those of the archive's own size.
"""

import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import IO, Any, Final, cast

from traces.importers.files import file_opener
from traces.importers.files.archives import MAGIC, MOST_MEMBERS, Archive
from traces.importers.files.errors import BadFile

# At this place of the first member's header.
_TAR_MAGIC: Final = b"ustar"
_TAR_START: Final = 257
# Bytes of a file that show whether it is an archive.
HEAD: Final = _TAR_START + len(_TAR_MAGIC)
# Of macOS: copies of attributes, named like the files.
_ATTRIBUTES: Final = "__MACOSX"
_BROKEN: Final = (tarfile.TarError, EOFError, OSError, ValueError, OverflowError)


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A file of an archive; `read` raises `BadFile` and works until the next member is requested."""

    name: str
    read: Callable[[], bytes]


def is_zip(head: bytes) -> bool:
    """True if a file begins like a zip file."""
    return head.startswith(MAGIC)


def is_tar(head: bytes) -> bool:
    """True if a file begins like a tar file, POSIX or GNU."""
    return head[_TAR_START:HEAD] == _TAR_MAGIC


def is_archive(head: bytes) -> bool:
    """True if a file begins like an archive of either kind."""
    return is_zip(head) or is_tar(head)


def zip_members(data: bytes) -> Iterator[Member]:
    """Yield the members of a zip file in its order, without hidden ones."""
    archive = Archive(data)
    return (Member(name=name, read=partial(archive.read, name)) for name in archive.names if not _is_hidden(name))


def tar_members(stream: IO[bytes]) -> Iterator[Member]:
    """Yield the members of a tar file in its order, without hidden ones and folders."""
    try:
        with tarfile.open(fileobj=cast(Any, _EndingStream(stream)), mode="r|") as archive:
            for number, info in enumerate(archive):
                if number == MOST_MEMBERS:
                    raise BadFile(f"the tar file has more than {MOST_MEMBERS} members", "byte 0")
                if not info.isdir() and not _is_hidden(info.name):
                    yield Member(name=info.name, read=partial(_read, archive, info))
    except _BROKEN as error:
        raise BadFile(f"the tar file is damaged: {error}", "byte 0") from error


class _EndingStream:
    """A stream that fails at its end: `tarfile` passes a member over by its size, and reads on however far that is."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._has_ended = False

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        if not data and self._has_ended:
            raise EOFError("it ends inside of a member")
        self._has_ended = not data
        return data


def _read(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    # A sparse file is far larger than what the archive contains of it.
    member = archive.extractfile(info) if info.isreg() and not info.issparse() else None
    if member is None:
        raise BadFile("a link or special file in a tar file", "byte 0")
    try:
        return file_opener.read_all(member)
    except _BROKEN as error:
        raise BadFile(f"this member of the tar file is damaged: {error}", info.name) from error


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return _ATTRIBUTES in parts or any(part.startswith(".") and part not in {".", ".."} for part in parts)
