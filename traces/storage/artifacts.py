"""Content-addressed store: small artifacts in the database, large ones in the artifact storage."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

import orjson
import structlog
from django.db import connection, transaction

from traces.core.canonical import digest_bytes
from traces.core.json_types import JSONValue
from traces.errors import ArtifactCorrupt, ArtifactMissing
from traces.models import Artifact, ArtifactUse, LooseFile
from traces.payloads import missing_parts
from traces.payloads.digest_packing import pack, unpack
from traces.payloads.missing_parts import Readable
from traces.payloads.parts import MissingPart, join_many
from traces.payloads.splitter import Splitter
from traces.storage import artifact_files, bulk
from traces.storage.compression import BrokenFrame, compress, decompress

# In encoded bytes; larger artifacts would slow down every scan of the table.
INLINE: Final = 64 * 1024
# Of one artifact, in decoded bytes.
MAX_SIZE: Final = 256 * 1024 * 1024
JSON_TYPE: Final = "application/json"
# Shorter artifacts do not get smaller.
_COMPRESS_FROM: Final = 128
# Encodings: one of these, both in this order, or none.
_PACKED_REFS: Final = "refs"
_ZSTD: Final = "zstd"
# Compression must save at least a tenth.
_MAX_COMPRESSION: Final = 0.9
_READ_COLUMNS: Final = ("sha256", "size", "media_type", "encoding", "data")
_COLUMNS: Final = (*_READ_COLUMNS, "owner")
_USE_COLUMNS: Final = ("sha256", "run_id")
# Artifacts in memory at a time during a full scan.
_SCAN_BATCH: Final = 500
_StoredRow = tuple[str, int, str, str, bytes | memoryview | None]
_NewRow = tuple[str, int, str, str, bytes | None, bytes]
_NO_REFERENCES: Final[Sequence[str]] = ()
log = structlog.get_logger("traces.storage.artifacts")


class StoredBytes(NamedTuple):
    """The decoded bytes of an artifact."""

    sha256: str
    media_type: str
    data: bytes


def write_many(parts_by_run: dict[UUID, Mapping[str, bytes]], *, media_type: str = JSON_TYPE) -> None:
    """Store the bytes that runs use under their SHA-256, unless they are stored already.

    The first run that stores an artifact becomes its owner; every other run gets an `ArtifactUse`. Both are written in
    one transaction with the check that the artifact exists, so that a concurrent purge cannot delete it in between.
    """
    parts: dict[str, bytes] = {}
    first_users: dict[str, bytes] = {}
    for run_id, run_parts in reversed(parts_by_run.items()):
        parts.update(run_parts)
        first_users.update(dict.fromkeys(run_parts, run_id.bytes))
    with transaction.atomic(savepoint=False):
        owners = _insert_missing(parts, first_users, media_type)
        uses: list[tuple[str, UUID]] = []
        for run_id, run_parts in parts_by_run.items():
            key = run_id.bytes
            uses += [(sha256, run_id) for sha256 in run_parts if owners[sha256] != key]
        # All writers use one order, so that concurrent writers of the same parts cannot deadlock.
        bulk.insert(ArtifactUse, _USE_COLUMNS, sorted(uses), ignore_conflicts=True)


def write(data: bytes, *, media_type: str, run_id: UUID) -> str:
    """Store bytes that a run uses and return their SHA-256."""
    sha256 = digest_bytes(data)
    write_many({run_id: {sha256: data}}, media_type=media_type)
    return sha256


def save(value: JSONValue, *, run_id: UUID) -> str:
    """Store a value that a run uses in parts and return its digest."""
    splitter = Splitter()
    digest = splitter.split(value)
    write_many({run_id: splitter.parts})
    return digest


def _insert_missing(
    parts: Mapping[str, bytes], first_users: Mapping[str, bytes], media_type: str
) -> dict[str, bytes | None]:
    """Insert the artifacts that are not stored yet; return the owners of all."""
    owners: dict[str, bytes | None] = {}
    missing = set(parts)
    while missing:
        owners |= _lock(missing)
        missing = parts.keys() - owners.keys()
        # In one order, as above.
        rows = (_row(sha256, parts[sha256], media_type, first_users[sha256]) for sha256 in sorted(missing))
        if bulk.insert(Artifact, _COLUMNS, rows, ignore_conflicts=True) == len(missing):
            return {**first_users, **owners}
        # Another writer stored some of them meanwhile: only the next look shows which.
    return owners


def _lock(digests: Iterable[str]) -> dict[str, bytes | None]:
    """Return the owners of those of `digests` that are stored, and keep these from being deleted until the commit.

    On SQLite, the transaction itself excludes other writers.
    """
    owners: dict[str, bytes | None] = {}
    table = connection.ops.quote_name(Artifact._meta.db_table)
    ending = " FOR KEY SHARE" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        for chunk in bulk.chunks(digests):
            places = ", ".join(["%s"] * len(chunk))
            # Runs before every write. The ORM takes longer to build this query than the database to answer it.
            cursor.execute(f"SELECT sha256, owner FROM {table} WHERE sha256 IN ({places}){ending}", chunk)
            owners.update(cursor.fetchall())
    return owners


def present(digests: Iterable[str]) -> set[str]:
    """Return those of `digests` that are stored."""
    existing: set[str] = set()
    table, name = connection.ops.quote_name(Artifact._meta.db_table), connection.ops.quote_name("sha256")
    with connection.cursor() as cursor:
        for chunk in bulk.chunks(digests):
            cursor.execute(f"SELECT {name} FROM {table} WHERE {name} IN ({', '.join(['%s'] * len(chunk))})", chunk)
            existing.update(sha256 for (sha256,) in cursor.fetchall())
    return existing


def read(digests: Iterable[str]) -> Iterator[StoredBytes]:
    """Yield the artifacts that exist, verified against their names; raise `ArtifactCorrupt`."""
    for artifact in verify(digests):
        if isinstance(artifact, ArtifactCorrupt):
            raise artifact
        yield artifact


def verify(digests: Iterable[str]) -> Iterator[StoredBytes | ArtifactCorrupt]:
    """Yield the artifacts that exist: their bytes, or the error that makes them unreadable."""
    for row in _rows(digests):
        yield _verify(*row)


def references(digests: Iterable[str]) -> dict[str, Sequence[str] | None]:
    """Return by artifact that exists, verified, the digests that it refers to; None for a damaged one."""
    # A replay verifies tens of thousands of artifacts: most of them are plain bytes, which need no further call.
    return {
        sha256: _NO_REFERENCES
        if not encoding and data is not None and digest_bytes(data) == sha256
        else _references(sha256, size, encoding, data)
        for sha256, size, _, encoding, data in _rows(digests)
    }


def _references(sha256: str, size: int, encoding: str, data: bytes | memoryview | None) -> Sequence[str] | None:
    try:
        return _decode(sha256, size, encoding, data).part_digests
    except ArtifactCorrupt:
        return None


def verify_all() -> Iterator[StoredBytes | ArtifactCorrupt]:
    """Yield every artifact of the store by name: its bytes, or the error that makes it unreadable."""
    last = ""
    query = Artifact.objects.order_by("sha256").values_list(*_READ_COLUMNS)
    while rows := list(query.filter(sha256__gt=last)[:_SCAN_BATCH]):
        for row in rows:
            yield _verify(*row)
        last = rows[-1][0]


def read_one(sha256: str) -> StoredBytes:
    """Return an artifact; raise `ArtifactMissing`."""
    for artifact in read([sha256]):
        return artifact
    raise ArtifactMissing(sha256)


def load(digests: Iterable[str]) -> dict[str, JSONValue]:
    """Return stored values with unresolved references; missing and damaged ones are absent."""
    values: dict[str, JSONValue] = {}
    for artifact in verify(digests):
        if isinstance(artifact, StoredBytes):
            values[artifact.sha256] = orjson.loads(artifact.data)
        else:
            log.warning("artifact_damaged", sha256=artifact.sha256, problem=artifact.detail)
    return values


def payload(digest: str) -> JSONValue:
    """Return a whole value; raise `parts.MissingPart`."""
    return payloads([digest])[digest]


def payloads(digests: Iterable[str]) -> dict[str, JSONValue]:
    """Return whole values, loaded with few queries; raise `parts.MissingPart`.

    The values share equal parts as one object, so that a long conversation takes little memory: do not modify them.
    """
    return join_many((digest for digest in digests if digest), load)


def available(digests: Iterable[str]) -> dict[str, JSONValue]:
    """Return the whole values, without those that have a missing part."""
    unique = {digest for digest in digests if digest}
    try:
        return payloads(unique)
    except MissingPart:
        return {digest: value for name in unique for digest, value in _payload_if_whole(name)}


def readable(digests: Iterable[str]) -> Readable:
    """Return values with placeholders for missing parts: for display, not for replay."""
    unique = {digest for digest in digests if digest}
    try:
        return Readable(values=payloads(unique))
    except MissingPart:
        return missing_parts.readable(unique, load)


def _payload_if_whole(digest: str) -> Iterator[tuple[str, JSONValue]]:
    try:
        yield digest, payload(digest)
    except MissingPart:
        return


def _rows(digests: Iterable[str]) -> Iterator[_StoredRow]:
    table = connection.ops.quote_name(Artifact._meta.db_table)
    columns = ", ".join(bulk.column_names(Artifact, _READ_COLUMNS))
    for chunk in bulk.chunks(digests):
        places = ", ".join(["%s"] * len(chunk))
        with connection.cursor() as cursor:
            # Raw SQL as in `present`: replays verify tens of thousands of artifacts.
            cursor.execute(f"SELECT {columns} FROM {table} WHERE sha256 IN ({places})", chunk)
            yield from cursor.fetchall()


def _row(sha256: str, data: bytes, media_type: str, owner: bytes) -> _NewRow:
    encoding, content = _encode(data, media_type)
    kind = "" if media_type == JSON_TYPE else media_type
    if len(content) <= INLINE:
        return sha256, len(data), kind, encoding, content, owner
    path = file_path(sha256, encoding)
    # First, because it waits until a purge that deletes this very file is done.
    LooseFile.objects.filter(path=path).delete()
    artifact_files.write(path, content)
    return sha256, len(data), kind, encoding, None, owner


def _encode(data: bytes, media_type: str) -> tuple[str, bytes]:
    """Return the name of the smallest encoding of `data`, and the encoded bytes."""
    content = pack(data) if media_type == JSON_TYPE else data
    name = "" if content is data else _PACKED_REFS
    if len(content) >= _COMPRESS_FROM:
        zstd = compress(content)
        if len(zstd) < _MAX_COMPRESSION * len(content):
            return name + _ZSTD, zstd
    return name, content


def _verify(
    sha256: str, size: int, kind: str, encoding: str, data: bytes | memoryview | None
) -> StoredBytes | ArtifactCorrupt:
    try:
        content = _decode(sha256, size, encoding, data).data
    except ArtifactCorrupt as problem:
        return problem
    return StoredBytes(sha256, kind or JSON_TYPE, content)


class _Content(NamedTuple):
    """The decoded bytes of an artifact, with the digests that they refer to directly."""

    data: bytes
    part_digests: Sequence[str]


def _decode(sha256: str, size: int, encoding: str, data: bytes | memoryview | None) -> _Content:
    content = _file(sha256, encoding) if data is None else bytes(data)
    part_digests: Sequence[str] = ()
    if encoding:
        content = _decompress(sha256, content, size) if encoding.endswith(_ZSTD) else content
        # References are always stored packed.
        if encoding.startswith(_PACKED_REFS):
            content, part_digests = unpack(content)
    if digest_bytes(content) != sha256:
        raise ArtifactCorrupt(sha256, "its bytes do not match its digest")
    return _Content(content, part_digests)


def _decompress(sha256: str, data: bytes, size: int) -> bytes:
    if size > MAX_SIZE:
        raise ArtifactCorrupt(sha256, f"its declared size is {size} bytes")
    try:
        return decompress(data, max_size=size)
    except BrokenFrame as error:
        raise ArtifactCorrupt(sha256, str(error)) from error


def _file(sha256: str, encoding: str) -> bytes:
    path = file_path(sha256, encoding)
    data = artifact_files.read(path)
    if data is None:
        raise ArtifactCorrupt(sha256, f"the artifact storage has no {path}")
    return data


def file_path(sha256: str, encoding: str) -> str:
    """Return where the artifact storage contains the bytes of a large artifact."""
    refs = ".refs" if encoding.startswith(_PACKED_REFS) else ""
    zstd = ".zst" if encoding.endswith(_ZSTD) else ""
    return f"{sha256[:2]}/{sha256[2:4]}/{sha256}{refs}{zstd}"
