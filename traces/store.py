"""The content-addressed store: small artifacts in the database, large ones in the artifact storage."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import local
from typing import Final

import orjson
import zstandard
from django.db import connection

from traces import artifact_files, bulk
from traces.canonical import digest_bytes
from traces.json_types import JSONValue
from traces.models import Artifact
from traces.packing import pack, unpack
from traces.parts import MissingPart, Splitter, join_many
from traces.problems import ArtifactCorrupt, ArtifactMissing

INLINE: Final = 64 * 1024  # encoded bytes; larger ones would make every scan of the table slow
MAX_SIZE: Final = 256 * 1024 * 1024  # of one artifact, decoded
JSON_TYPE: Final = "application/json"
_COMPRESS_FROM: Final = 128  # shorter ones do not get smaller
_PACKED: Final = "refs"  # encodings: one of these, both in this order, or nothing
_ZSTD: Final = "zstd"
_WORTH: Final = 0.9  # keep the plain bytes unless at least a tenth is saved
_COLUMNS: Final = ("sha256", "size", "media_type", "encoding", "data")
_local = local()


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredBytes:
    """The bytes of an artifact as they were given."""

    sha256: str
    media_type: str
    data: bytes


def put_many(parts: Mapping[str, bytes], *, media_type: str = JSON_TYPE) -> None:
    """Store bytes under their SHA-256. What is there already stays as it is."""
    known = present(parts)
    # In one order for all writers: two that store the same parts then wait for each other, and never in a circle.
    rows = [_row(sha256, parts[sha256], media_type) for sha256 in sorted(parts.keys() - known)]
    bulk.insert(Artifact, _COLUMNS, rows, ignore_conflicts=True)


def put(data: bytes, *, media_type: str) -> str:
    """Store bytes and return their name."""
    sha256 = digest_bytes(data)
    put_many({sha256: data}, media_type=media_type)
    return sha256


def save(value: JSONValue) -> str:
    """Store a value in parts and return its digest."""
    splitter = Splitter()
    digest = splitter.split(value)
    put_many(splitter.parts)
    return digest


def present(digests: Iterable[str]) -> set[str]:
    """Those of `digests` that are stored."""
    found: set[str] = set()
    table, name = connection.ops.quote_name(Artifact._meta.db_table), connection.ops.quote_name("sha256")
    with connection.cursor() as cursor:
        for chunk in bulk.chunks(digests):
            # Asked before every write: the ORM takes longer to prepare such a question than the database to answer it.
            cursor.execute(f"SELECT {name} FROM {table} WHERE {name} IN ({', '.join(['%s'] * len(chunk))})", chunk)
            found.update(sha256 for (sha256,) in cursor.fetchall())
    return found


def read(digests: Iterable[str]) -> Iterator[StoredBytes]:
    """The artifacts that are there, each checked against its name; raises `ArtifactCorrupt`."""
    for chunk in bulk.chunks(digests):
        rows = Artifact.objects.filter(sha256__in=chunk).values_list(*_COLUMNS)
        for sha256, size, kind, encoding, data in rows:
            whole = _checked(sha256, size, encoding, data)
            yield StoredBytes(sha256=sha256, media_type=kind or JSON_TYPE, data=whole)


def read_one(sha256: str) -> StoredBytes:
    """One artifact; raises `ArtifactMissing`."""
    for found in read([sha256]):
        return found
    raise ArtifactMissing(sha256)


def load(digests: Iterable[str]) -> dict[str, JSONValue]:
    """Stored values with their references as they are; missing ones are absent."""
    return {found.sha256: orjson.loads(found.data) for found in read(digests)}


def payload(digest: str) -> JSONValue:
    """One whole value; raises `parts.MissingPart`."""
    return payloads([digest])[digest]


def payloads(digests: Iterable[str]) -> dict[str, JSONValue]:
    """Whole values in few queries; raises `parts.MissingPart`.

    Equal parts are one object in all of them, so that a long conversation takes little memory: never change them.
    """
    return join_many((digest for digest in digests if digest), load)


def available(digests: Iterable[str]) -> dict[str, JSONValue]:
    """Like `payloads`, without those of which a part is missing."""
    wanted = {digest for digest in digests if digest}
    try:
        return payloads(wanted)
    except MissingPart:
        return {digest: value for one in wanted for digest, value in _one_if_whole(one)}


def _one_if_whole(digest: str) -> Iterator[tuple[str, JSONValue]]:
    try:
        yield digest, payload(digest)
    except MissingPart:
        return


def _row(sha256: str, data: bytes, media_type: str) -> tuple[str, int, str, str, bytes | None]:
    encoding, kept = _encoded(data, media_type)
    kind = "" if media_type == JSON_TYPE else media_type
    if len(kept) <= INLINE:
        return sha256, len(data), kind, encoding, kept
    artifact_files.keep(_place(sha256, encoding), kept)
    return sha256, len(data), kind, encoding, None


def _encoded(data: bytes, media_type: str) -> tuple[str, bytes]:
    """The fewest bytes for `data`, and what was done to it."""
    packed = pack(data) if media_type == JSON_TYPE else data
    name = "" if packed is data else _PACKED
    if len(packed) >= _COMPRESS_FROM:
        compressed = _compressor().compress(packed)
        if len(compressed) < _WORTH * len(packed):
            return name + _ZSTD, compressed
    return name, packed


def _checked(sha256: str, size: int, encoding: str, data: bytes | memoryview | None) -> bytes:
    kept = _file(sha256, encoding) if data is None else bytes(data)
    decoded = _decoded(sha256, kept, size) if encoding.endswith(_ZSTD) else kept
    if encoding.startswith(_PACKED):
        decoded = unpack(decoded)
    if digest_bytes(decoded) != sha256:
        raise ArtifactCorrupt(sha256, "its bytes hash to something else")
    return decoded


def _decoded(sha256: str, data: bytes, size: int) -> bytes:
    if size > MAX_SIZE:
        raise ArtifactCorrupt(sha256, f"it says that it has {size} bytes")
    try:
        return _decompressor().decompress(data, max_output_size=size)
    except zstandard.ZstdError as error:
        raise ArtifactCorrupt(sha256, str(error)) from error


def _file(sha256: str, encoding: str) -> bytes:
    place = _place(sha256, encoding)
    found = artifact_files.read(place)
    if found is None:
        raise ArtifactCorrupt(sha256, f"the artifact storage has no {place}")
    return found


def _place(sha256: str, encoding: str) -> str:
    packed, compressed = encoding.startswith(_PACKED), encoding.endswith(_ZSTD)
    return f"{sha256[:2]}/{sha256[2:4]}/{sha256}{'.refs' if packed else ''}{'.zst' if compressed else ''}"


def _compressor() -> zstandard.ZstdCompressor:
    """One for each thread: they are not safe to share, and dear to make."""
    if not hasattr(_local, "compressor"):
        _local.compressor = zstandard.ZstdCompressor(level=3, write_content_size=True)
    made: zstandard.ZstdCompressor = _local.compressor
    return made


def _decompressor() -> zstandard.ZstdDecompressor:
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    made: zstandard.ZstdDecompressor = _local.decompressor
    return made
