"""Packs: the artifacts that a run stores together, encoded as one, because they resemble each other.

Artifacts of JSON on one line are separated by line breaks, so that the members of a pack are known from its bytes. Any
other artifact is alone in its pack, and so is a large one, whose bytes lie in the artifact storage. A pack is small
enough that reading one member of it takes no longer than the query.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from django.db import OperationalError, connection

from traces.core.canonical import digest_bytes
from traces.models import Artifact, LooseFile, Pack
from traces.payloads.digest_packing import pack as pack_references
from traces.payloads.digest_packing import unpack
from traces.storage import artifact_files, bulk
from traces.storage.compression import BrokenFrame, compress, decompress

# In encoded bytes; larger ones would slow down every scan of the table.
INLINE: Final = 64 * 1024
# In decoded bytes; a pack is closed when it would exceed them.
TARGET: Final = 16 * 1024
JSON_TYPE: Final = "application/json"
# Shorter bytes do not get smaller.
_COMPRESS_FROM: Final = 128
# Encodings: one of these, both in this order, or none.
_PACKED_REFS: Final = "refs"
_ZSTD: Final = "zstd"
# Compression must save at least a tenth.
_MAX_COMPRESSION: Final = 0.9
_SEPARATOR: Final = b"\n"
_SEPARATOR_SIZE: Final = len(_SEPARATOR)
# As numbers, which are found in a tenth of the time.
_LINE_BREAK: Final = ord(_SEPARATOR)
_NUL: Final = 0
# The name of a lock of PostgreSQL.
_FILES_LOCK: Final = 0x666F726B
# Half of PostgreSQL's default `deadlock_timeout`.
_FILES_LOCK_WAIT_MS: Final = 500
_LOCK_NOT_AVAILABLE: Final = "55P03"
# Packs in memory at a time.
_READ_BATCH: Final = 100
# Decoded packs in memory: less than 10 MB.
_MOST_DECODED: Final = 500
# Packs per statement, and encoded in memory: up to 4 MB.
_INSERT_BATCH: Final = 64
_COLUMNS: Final = ("owner", "media_type", "encoding", "data")
Owner = bytes | memoryview | None
NewMember = tuple[str, bytes]  # digest, bytes
Member = tuple[str, int, int, int]  # digest, pack, start, size


class StoredPack(NamedTuple):
    """A pack as it is stored."""

    id: int
    media_type: str
    encoding: str
    data: bytes | memoryview | None


class _NewPack(NamedTuple):
    """A pack to be stored: its columns, and the digest and size of each member."""

    columns: tuple[object, ...]
    sizes: Sequence[tuple[str, int]]


class UnreadablePack(ValueError):
    """A pack whose bytes are missing or damaged."""


class FilesInUse(Exception):
    """Others are storing files."""


class DecodedPack(NamedTuple):
    id: int
    media_type: str
    content: bytes


class RecentPacks:
    """The packs decoded last, for one reader of many artifacts. Artifacts in them are verified at every read."""

    def __init__(self) -> None:
        self._packs: OrderedDict[int, DecodedPack] = OrderedDict()

    def find(self, ids: Iterable[int]) -> Iterator[DecodedPack]:
        """Yield those of some packs that were decoded before."""
        for pack_id in sorted(self._packs.keys() & ids):
            self._packs.move_to_end(pack_id)
            yield self._packs[pack_id]

    def add(self, pack: StoredPack, content: bytes) -> None:
        # Much larger ones contain one artifact. Their target counts no separators.
        if len(content) <= 2 * TARGET:
            self._packs[pack.id] = DecodedPack(pack.id, pack.media_type, content)
        if len(self._packs) > _MOST_DECODED:
            self._packs.popitem(last=False)


def insert(members: Iterable[NewMember], owner: Owner, media_type: str) -> list[Member]:
    """Store artifacts in packs of an owner; return where each is. Call it in the transaction that inserts the rows."""
    return insert_all([(owner, members)], media_type)


def insert_all(members_of_owners: Iterable[tuple[Owner, Iterable[NewMember]]], media_type: str) -> list[Member]:
    """Like `insert`, for several owners, with one statement for many packs."""
    places: list[Member] = []
    new_packs = (
        _encode_pack(group, owner, media_type)
        for owner, members in members_of_owners
        for group in _groups(members, media_type)
    )
    while batch := list(islice(new_packs, _INSERT_BATCH)):
        ids = bulk.insert_for_ids(Pack, _COLUMNS, [new_pack.columns for new_pack in batch])
        for pack_id, new_pack in zip(ids, batch, strict=True):
            start = 0
            for sha256, size in new_pack.sizes:
                places.append((sha256, pack_id, start, size))
                start += size + _SEPARATOR_SIZE
    return places


def read(ids: Iterable[int]) -> Iterator[StoredPack]:
    """Yield the packs that exist."""
    table = connection.ops.quote_name(Pack._meta.db_table)
    for chunk in bulk.chunks(ids, _READ_BATCH):
        places = ", ".join(["%s"] * len(chunk))
        with connection.cursor() as cursor:
            # Raw SQL: replays read thousands of packs.
            cursor.execute(f"SELECT id, media_type, encoding, data FROM {table} WHERE id IN ({places})", chunk)
            rows = cursor.fetchall()
        yield from (StoredPack(*row) for row in rows)


def delete_empty(ids: Iterable[int]) -> None:
    """Delete those of some packs that no artifact is in. Their files stay: they are those of the same artifacts."""
    for chunk in bulk.chunks(ids):
        used_ids = set(Artifact.objects.filter(pack_id__in=chunk).values_list("pack_id", flat=True))
        Pack.objects.filter(id__in=set(chunk) - used_ids).delete()


def decode(pack: StoredPack, sha256: str) -> bytes:
    """Return the decoded bytes of a pack, given the digest of a member; raise `UnreadablePack`."""
    content, _ = decode_with_digests(pack, sha256)
    return content


def decode_with_digests(pack: StoredPack, sha256: str) -> tuple[bytes, list[bytes]]:
    """Decode a pack; return also the digests that it mentions, among them all that its members refer to."""
    content = _file(file_path(sha256, pack.encoding)) if pack.data is None else bytes(pack.data)
    if pack.encoding.endswith(_ZSTD):
        try:
            content = decompress(content)
        except BrokenFrame as error:
            raise UnreadablePack(str(error)) from error
    # Whatever looks like a reference was packed.
    return unpack(content) if pack.encoding.startswith(_PACKED_REFS) else (content, [])


def members_of(content: bytes) -> dict[str, bytes]:
    """Return what a decoded pack may contain, by digest: its lines, or all of it."""
    lines = content.split(_SEPARATOR)
    return {digest_bytes(data): data for data in (lines if len(lines) == 1 else [content, *lines])}


def file_path(sha256: str, encoding: str) -> str:
    """Return where the artifact storage contains the bytes of a large artifact."""
    refs = ".refs" if encoding.startswith(_PACKED_REFS) else ""
    zstd = ".zst" if encoding.endswith(_ZSTD) else ""
    return f"{sha256[:2]}/{sha256[2:4]}/{sha256}{refs}{zstd}"


def _groups(members: Iterable[NewMember], media_type: str) -> Iterator[Sequence[NewMember]]:
    """Yield the members of one pack after the other, in their order: neighbours belong to the same step."""
    group: list[NewMember] = []
    size = 0
    for member in members:
        data = member[1]
        length = len(data)
        if length > TARGET or media_type != JSON_TYPE or _LINE_BREAK in data or _NUL in data:
            yield [member]
            continue
        if group and size + length > TARGET:
            yield group
            group, size = [], 0
        group.append(member)
        size += length
    if group:
        yield group


def _encode_pack(group: Sequence[NewMember], owner: Owner, media_type: str) -> _NewPack:
    """Encode a pack; a large one is written to a file."""
    encoding, content = _encode(_SEPARATOR.join([data for _, data in group]), media_type)
    inline = len(content) <= INLINE
    if not inline:
        path = file_path(group[0][0], encoding)
        _share_files()
        # First, because it waits until a purge that deletes this very file is done.
        LooseFile.objects.filter(path=path).delete()
        artifact_files.write(path, content)
    columns = (owner, "" if media_type == JSON_TYPE else media_type, encoding, content if inline else None)
    return _NewPack(columns, [(sha256, len(data)) for sha256, data in group])


def lock_files() -> None:
    """Keep others from storing files until the commit; raise `FilesInUse` if they are storing some for too long.

    Others wait behind it, maybe with a row that a writer before them needs: it gives up before PostgreSQL looks for a
    deadlock.
    """
    if connection.vendor == "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = %s", [_FILES_LOCK_WAIT_MS])
        try:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_FILES_LOCK])
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") == _LOCK_NOT_AVAILABLE:
                raise FilesInUse from error
            raise


def _share_files() -> None:
    """Keep others out of `lock_files` until the commit."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [_FILES_LOCK])


def _encode(data: bytes, media_type: str) -> tuple[str, bytes]:
    """Return the name of the smallest encoding of `data`, and the encoded bytes."""
    content = pack_references(data) if media_type == JSON_TYPE else data
    name = "" if content is data else _PACKED_REFS
    if len(content) >= _COMPRESS_FROM:
        zstd = compress(content)
        if len(zstd) < _MAX_COMPRESSION * len(content):
            return name + _ZSTD, zstd
    return name, content


def _file(path: str) -> bytes:
    data = artifact_files.read(path)
    if data is None:
        raise UnreadablePack(f"the artifact storage has no {path}")
    return data
