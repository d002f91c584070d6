"""The content-addressed store: small artifacts in the database, large ones in the artifact storage."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import local
from typing import Final

import orjson
import structlog
import zstandard
from django.db import connection

from traces.core.canonical import digest_bytes
from traces.core.json_types import JSONValue
from traces.errors import ArtifactCorrupt, ArtifactMissing
from traces.models import Artifact
from traces.payloads import missing_parts
from traces.payloads.digest_packing import pack, unpack
from traces.payloads.missing_parts import Readable
from traces.payloads.parts import MissingPart, join_many
from traces.payloads.splitter import Splitter
from traces.storage import artifact_files, bulk

INLINE: Final = 64 * 1024  # encoded bytes; larger ones would make every scan of the table slow
MAX_SIZE: Final = 256 * 1024 * 1024  # of one artifact, decoded
JSON_TYPE: Final = "application/json"
_COMPRESS_FROM: Final = 128  # shorter ones do not get smaller
_PACKED: Final = "refs"  # encodings: one of these, both in this order, or nothing
_ZSTD: Final = "zstd"
_WORTH: Final = 0.9  # keep the plain bytes unless at least a tenth is saved
_COLUMNS: Final = ("sha256", "size", "media_type", "encoding", "data")
_SCANNED: Final = 500  # artifacts in memory at a time when all are read
_local = local()
log = structlog.get_logger("traces.storage.artifacts")


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredBytes:
    """The bytes of an artifact as they were given."""

    sha256: str
    media_type: str
    data: bytes


def write_many(parts: Mapping[str, bytes], *, media_type: str = JSON_TYPE) -> None:
    """Store bytes under their SHA-256. What is there already stays as it is."""
    known = present(parts)
    # In one order for all writers: two that store the same parts then wait for each other, and never in a circle.
    rows = (_row(sha256, parts[sha256], media_type) for sha256 in sorted(parts.keys() - known))
    bulk.insert(Artifact, _COLUMNS, rows, ignore_conflicts=True)


def write(data: bytes, *, media_type: str) -> str:
    """Store bytes and return their name."""
    sha256 = digest_bytes(data)
    write_many({sha256: data}, media_type=media_type)
    return sha256


def save(value: JSONValue) -> str:
    """Store a value in parts and return its digest."""
    splitter = Splitter()
    digest = splitter.split(value)
    write_many(splitter.parts)
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
    for artifact in verify(digests):
        if isinstance(artifact, ArtifactCorrupt):
            raise artifact
        yield artifact


def verify(digests: Iterable[str]) -> Iterator[StoredBytes | ArtifactCorrupt]:
    """The artifacts that are there: their bytes, or what is wrong with them."""
    table = connection.ops.quote_name(Artifact._meta.db_table)
    columns = ", ".join(bulk.column_names(Artifact, _COLUMNS))
    for chunk in bulk.chunks(digests):
        places = ", ".join(["%s"] * len(chunk))
        with connection.cursor() as cursor:
            # As in `present`: replays verify tens of thousands, and the ORM takes long to prepare the question.
            cursor.execute(f"SELECT {columns} FROM {table} WHERE sha256 IN ({places})", chunk)
            rows = cursor.fetchall()
        for row in rows:
            yield _verified(*row)


def verify_all() -> Iterator[StoredBytes | ArtifactCorrupt]:
    """Every artifact of the store in turn, by name: their bytes, or what is wrong with them."""
    last = ""
    while rows := list(Artifact.objects.filter(sha256__gt=last).order_by("sha256").values_list(*_COLUMNS)[:_SCANNED]):
        for row in rows:
            yield _verified(*row)
        last = rows[-1][0]


def read_one(sha256: str) -> StoredBytes:
    """One artifact; raises `ArtifactMissing`."""
    for found in read([sha256]):
        return found
    raise ArtifactMissing(sha256)


def load(digests: Iterable[str]) -> dict[str, JSONValue]:
    """Stored values with their references as they are; missing and damaged ones are absent."""
    values: dict[str, JSONValue] = {}
    for artifact in verify(digests):
        if isinstance(artifact, StoredBytes):
            values[artifact.sha256] = orjson.loads(artifact.data)
        else:
            log.warning("artifact_damaged", sha256=artifact.sha256, problem=artifact.detail)
    return values


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


def readable(digests: Iterable[str]) -> Readable:
    """Like `available`, with marks for the missing parts of those that can be read in part: to show, not to replay."""
    wanted = {digest for digest in digests if digest}
    try:
        return Readable(values=payloads(wanted))
    except MissingPart:
        return missing_parts.readable(wanted, load)


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


def _verified(
    sha256: str, size: int, kind: str, encoding: str, data: bytes | memoryview | None
) -> StoredBytes | ArtifactCorrupt:
    try:
        whole = _checked(sha256, size, encoding, data)
    except ArtifactCorrupt as problem:
        return problem
    return StoredBytes(sha256=sha256, media_type=kind or JSON_TYPE, data=whole)


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
