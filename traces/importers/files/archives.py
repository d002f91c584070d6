"""Zip files of recordings: members are read into memory, within limits. Supports zstd compression."""

import io
import zipfile
import zlib
from functools import cached_property
from typing import Final

from traces.importers.files import file_opener
from traces.importers.files.errors import BadFile

MAGIC: Final = b"PK\x03\x04"
MOST_MEMBERS: Final = 200_000
MOST_BYTES: Final = 4 * 2**30  # of all members together
# Compression method 93 of the zip format, which Python's `zipfile` supports from 3.14 on.
_ZSTD: Final = 93
_LOCAL_HEADER: Final = 30
_BROKEN: Final = (zipfile.BadZipFile, EOFError, RuntimeError, ValueError, OSError, zlib.error)


class Archive:
    """A zip file. Among members with the same name, the last one is used."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _BROKEN as error:
            raise BadFile(f"the zip file is damaged: {error}", "byte 0") from error
        self._check()

    @property
    def unpacked_size(self) -> int:
        """Return the bytes of all members as the file states them."""
        return sum(info.file_size for info in self._zip.infolist())

    @cached_property
    def names(self) -> list[str]:
        return list(self._members)

    def read(self, name: str) -> bytes:
        """Return the bytes of a member. Raises `BadFile` if it is damaged, encrypted or too large."""
        info = self._members[name]
        if info.flag_bits & 1:
            raise BadFile("this member of the zip file is encrypted", name)
        try:
            if info.compress_type == _ZSTD:
                return file_opener.read_all(file_opener.decompress(io.BytesIO(self._compressed_data(info))))
            with self._zip.open(info) as member:
                return file_opener.read_all(member)
        except _BROKEN as error:
            raise BadFile(f"this member of the zip file is damaged: {error}", name) from error
        except BadFile as problem:
            raise problem.prefix_location(name) from problem

    @cached_property
    def _members(self) -> dict[str, zipfile.ZipInfo]:
        return {info.filename: info for info in self._zip.infolist() if not info.is_dir()}

    def _check(self) -> None:
        infos = self._zip.infolist()
        if len(infos) > MOST_MEMBERS:
            raise BadFile(f"the zip file has more than {MOST_MEMBERS} members", "byte 0")
        if self.unpacked_size > MOST_BYTES:
            raise BadFile(f"the zip file decompresses to more than {MOST_BYTES // 2**30} GiB", "byte 0")
        file_opener.check_ratio(self.unpacked_size, len(self._data))

    def _compressed_data(self, info: zipfile.ZipInfo) -> bytes:
        """Return the compressed bytes of a member, which follow its header, name and extra fields."""
        header = self._data[info.header_offset : info.header_offset + _LOCAL_HEADER]
        if len(header) < _LOCAL_HEADER or not header.startswith(MAGIC):
            raise BadFile("the zip file is damaged: a member's header is missing", f"byte {info.header_offset}")
        start = info.header_offset + _LOCAL_HEADER
        start += int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        return self._data[start : start + info.compress_size]
