"""Run archives: one zip file with the bundles of several runs.

The bundles are stored without compression, because they are compressed already. So each is a section of the file and is
imported from there like an uploaded file, and neither direction holds more than one run in memory.
"""

import io
import struct
import zipfile
from collections.abc import Sequence
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO, Final

from traces.errors import NotSealed, TooLarge
from traces.imports import portable_runs
from traces.models import Run
from traces.reading.progress import NamedFile
from traces.reading.sections import Section
from traces.schemas import MAX_ARCHIVE_RUNS

SUFFIX: Final = ".forkpoint.zip"
_IN_MEMORY: Final = 16 * 1024 * 1024
_COPY: Final = 1024 * 1024
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
# The last record of a zip file without a comment: the directory's entries, its size and its start.
_END: Final = struct.Struct("<4s4xHHLLH")
_END_MAGIC: Final = b"PK\x05\x06"
# Before the last record, of a directory whose true size is elsewhere.
_LOCATOR_SIZE: Final = 20
_LOCATOR_MAGIC: Final = b"PK\x06\x07"
_HEADER: Final = struct.Struct("<4s22xHH")
_HEADER_MAGIC: Final = b"PK\x03\x04"
# Entries of our names have about 100 bytes.
_MAX_DIRECTORY: Final = MAX_ARCHIVE_RUNS * 256


def export(runs: Sequence[Run], file: IO[bytes], *, max_bytes: int) -> None:
    """Write the bundles of sealed runs; raise `NotSealed`, or `TooLarge` beyond `max_bytes`."""
    if live := [str(run.id) for run in runs if run.sealed_at is None]:
        raise NotSealed(f"these runs can be exported once they have ended: {', '.join(live)}")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for run in runs:
            with SpooledTemporaryFile(max_size=_IN_MEMORY) as bundle:
                portable_runs.export(run, bundle)
                if file.tell() + bundle.tell() > max_bytes:
                    raise TooLarge(f"these runs take more than {max_bytes} bytes together: export fewer at once")
                _add(archive, f"{run.id}{SUFFIX}", bundle)


def unpack(files: Sequence[NamedFile]) -> list[NamedFile]:
    """Return the files, and instead of each run archive the bundles in it."""
    return [part for file in files for part in _bundles_of(file) or [file]]


def _add(archive: zipfile.ZipFile, name: str, bundle: IO[bytes]) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.file_size = bundle.tell()
    bundle.seek(0)
    with archive.open(info, "w") as member:
        copyfileobj(bundle, member, _COPY)


def _bundles_of(item: NamedFile) -> list[NamedFile]:
    """Return the bundles of a run archive as sections of its file; nothing for any other file."""
    file = item.file
    size = file.seek(0, io.SEEK_END) if file.seekable() else 0
    try:
        infos = _directory(file, size)
        is_archive = all(_is_bundle(info) for info in infos)
        # Overlapping entries would multiply the work.
        if not is_archive or sum(info.file_size for info in infos) > size:
            return []
        return [_section(item, info) for info in infos]
    except (zipfile.BadZipFile, struct.error, ValueError, OSError, NotImplementedError):
        return []
    finally:
        if file.seekable():
            file.seek(0)


def _directory(file: IO[bytes], size: int) -> list[zipfile.ZipInfo]:
    """Return the entries of a zip file; none if its directory is larger than that of a run archive."""
    if size < _LOCATOR_SIZE + _END.size:
        return []
    file.seek(size - _LOCATOR_SIZE - _END.size)
    if file.read(_LOCATOR_SIZE).startswith(_LOCATOR_MAGIC):
        return []
    magic, _, _, directory_size, _, _ = _END.unpack(file.read(_END.size))
    if magic != _END_MAGIC or directory_size > _MAX_DIRECTORY:
        return []
    with zipfile.ZipFile(file) as archive:
        return archive.infolist()


def _is_bundle(info: zipfile.ZipInfo) -> bool:
    is_plain = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1
    return is_plain and info.filename.endswith(SUFFIX)


def _section(item: NamedFile, info: zipfile.ZipInfo) -> NamedFile:
    """Return the bundle that follows its header, name and extra fields."""
    item.file.seek(info.header_offset)
    magic, name_size, extra_size = _HEADER.unpack(item.file.read(_HEADER.size))
    if magic != _HEADER_MAGIC:
        raise zipfile.BadZipFile(info.filename)
    start = info.header_offset + _HEADER.size + name_size + extra_size
    section = Section(item.file, start, info.file_size)
    return NamedFile(name=f"{item.name}/{info.filename}", file=io.BufferedReader(section))
