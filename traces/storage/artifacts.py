"""Content-addressed store: each artifact is stored once, in a pack of the run that stored it first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
import structlog
from django.db import connection, transaction

from traces.core.canonical import digest_bytes
from traces.core.json_types import JSONValue
from traces.errors import ArtifactCorrupt, ArtifactMissing
from traces.models import Artifact, ArtifactUse
from traces.models.digests import digest_key, digest_keys
from traces.payloads import missing_parts
from traces.payloads.missing_parts import Readable
from traces.payloads.parts import MissingPart, join_many
from traces.payloads.splitter import Splitter
from traces.storage import bulk, packs
from traces.storage.packs import RecentPacks, UnreadablePack
from traces.storage.retention_pass import retention_pass

JSON_TYPE: Final = packs.JSON_TYPE
_COLUMNS: Final = ("sha256", "pack_id", "start", "size")
_USE_COLUMNS: Final = ("sha256", "run_id")
# Artifacts in memory at a time during a full scan.
_SCAN_BATCH: Final = 500
# A purge may move an artifact to another pack between the look at its row and the look at its pack.
_ATTEMPTS: Final = 3
_LOST_PACK: Final = "its pack is missing"
# Where digests begin in a value that contains many. SQLite takes longer for a step of a recursion than for a few rows.
_PIECES: Final = {
    "sqlite": "(WITH RECURSIVE "
    "block(start) AS (SELECT 1 UNION ALL SELECT start + 512 FROM block WHERE start + 512 < %s), "
    f"piece(place) AS (VALUES {', '.join(f'({place})' for place in range(0, 512, 32))}) "
    "SELECT block.start + piece.place AS start FROM block CROSS JOIN piece) AS piece",
    # Of which PostgreSQL knows the number of rows, so that it plans well for few and for many.
    "postgresql": "generate_series(1, %s, 32) AS piece(start)",
}
# A column as one text, in the order of the digests.
_JOIN: Final = {
    "sqlite": "group_concat({0})",
    "postgresql": "string_agg(CAST({0} AS text), ',' ORDER BY piece.start)",
}
_Place = tuple[str, int, int]  # digest, start, size
log = structlog.get_logger("traces.storage.artifacts")


class StoredBytes(NamedTuple):
    """The decoded bytes of an artifact."""

    sha256: str
    media_type: str
    data: bytes


class Places(NamedTuple):
    """Where artifacts are: column by column, because there are many."""

    packs: list[int]
    starts: list[int]
    ends: list[int]


class _Overtaken(Exception):
    """Another writer stored some of the same artifacts meanwhile."""


def write_many(parts_by_run: Mapping[UUID, Mapping[str, bytes]], *, media_type: str = JSON_TYPE) -> None:
    """Store the bytes that runs use under their SHA-256, unless they are stored already.

    The first run that stores an artifact owns its pack; every other run gets an `ArtifactUse`. Both are written in one
    transaction with the check that the artifact exists, so that a concurrent purge cannot delete it in between.
    """
    with transaction.atomic(savepoint=False):
        owners = _insert_missing(parts_by_run, media_type)
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


def restore_many(parts_by_run: Mapping[UUID, Mapping[str, bytes]]) -> set[str]:
    """Store again what is missing or damaged of the bytes that runs use; return the digests of that.

    What a damaged pack contained moves to a new one of the same owner.
    """
    sources = {sha256: run_id for run_id, run_parts in parts_by_run.items() for sha256 in run_parts}
    unreadable = sources.keys() - {artifact.sha256 for artifact in verify(sources) if isinstance(artifact, StoredBytes)}
    if not unreadable:
        return unreadable
    log.info("artifacts_restored", count=len(unreadable), runs=[str(run_id) for run_id in parts_by_run])
    with retention_pass():
        old_packs = {sha256: pack_id for sha256, pack_id, *_ in places(unreadable)}
        members_of_owners: dict[bytes, list[packs.NewMember]] = {}
        for sha256, owner in _lock(old_packs).items():
            run_id = sources[sha256]
            # Without its pack, nothing is known of the owner.
            members_of_owners.setdefault(owner or run_id.bytes, []).append((sha256, parts_by_run[run_id][sha256]))
        for owner, members in members_of_owners.items():
            for sha256, pack_id, start, _ in packs.insert(members, owner, JSON_TYPE):
                Artifact.objects.filter(sha256=sha256).update(pack_id=pack_id, start=start)
        packs.delete_empty(set(old_packs.values()))
        missing = unreadable - old_packs.keys()
        write_many(
            {run_id: {name: parts[name] for name in missing & parts.keys()} for run_id, parts in parts_by_run.items()}
        )
    return unreadable


def _insert_missing(parts_by_run: Mapping[UUID, Mapping[str, bytes]], media_type: str) -> dict[str, bytes | None]:
    """Insert the artifacts that are not stored yet; return the owners of all."""
    digests = {sha256 for run_parts in parts_by_run.values() for sha256 in run_parts}
    owners: dict[str, bytes | None] = {}
    while missing := digests - owners.keys():
        owners |= _lock(missing)
        try:
            # On SQLite nothing can go wrong, and inside a savepoint it looks through its changed pages at every insert.
            with transaction.atomic(savepoint=connection.vendor == "postgresql"):
                owners |= _insert(digests - owners.keys(), parts_by_run, media_type)
        except _Overtaken:
            # Only the next look shows which.
            continue
    return owners


def _insert(
    missing: AbstractSet[str], parts_by_run: Mapping[UUID, Mapping[str, bytes]], media_type: str
) -> dict[str, bytes | None]:
    """Insert artifacts in packs of the first runs that use them; return these owners, or raise `_Overtaken`."""
    owners: dict[str, bytes | None] = {}
    new_by_owner: list[tuple[bytes, Mapping[str, bytes], list[str]]] = []
    for run_id, run_parts in parts_by_run.items():
        new = [sha256 for sha256 in run_parts if sha256 in missing and sha256 not in owners]
        owners |= dict.fromkeys(new, run_id.bytes)
        new_by_owner.append((run_id.bytes, run_parts, new))
    # One after another: together, the parts of a long run take much memory.
    members = ((owner, zip(new, map(parts.__getitem__, new), strict=True)) for owner, parts, new in new_by_owner)
    rows = packs.insert_all(members, media_type)
    # In one order, as above.
    if bulk.insert(Artifact, _COLUMNS, sorted(rows), ignore_conflicts=True) < len(rows):
        raise _Overtaken
    return owners


def _lock(digests: Iterable[str]) -> dict[str, bytes | None]:
    """Return the owners of those of `digests` that are stored, and keep these from being deleted until the commit.

    On SQLite, the transaction itself excludes other writers.
    """
    ending = " FOR KEY SHARE OF artifact" if connection.vendor == "postgresql" else ""
    packs_of = "LEFT JOIN traces_pack AS pack ON pack.id = artifact.pack_id"
    # Runs before every write.
    keys = sorted({*digest_keys([*digests])})
    rows = _rows("artifact.sha256, pack.owner", keys, join=packs_of, ending=ending)
    return {key.hex(): owner for key, owner in rows}


def present(digests: Iterable[str]) -> set[str]:
    """Return those of `digests` that are stored."""
    return {key.hex() for key in present_keys({*map(digest_key, digests)})}


def present_keys(keys: AbstractSet[bytes]) -> AbstractSet[bytes]:
    """Return those of some digests, as stored, of which there is an artifact."""
    # In most cases all of them: to count artifacts takes a third of the time of reading their digests.
    names = sorted(keys)
    ((count,),) = _rows("count(*)", names)
    return keys if count == len(keys) else {key for (key,) in _rows("artifact.sha256", names)}


def read(digests: Iterable[str]) -> Iterator[StoredBytes]:
    """Yield the artifacts that exist, verified against their names; raise `ArtifactCorrupt`."""
    for artifact in verify(digests):
        if isinstance(artifact, ArtifactCorrupt):
            raise artifact
        yield artifact


def verify(digests: Iterable[str], recent_packs: RecentPacks | None = None) -> Iterator[StoredBytes | ArtifactCorrupt]:
    """Yield the artifacts that exist: their bytes, or the error that makes them unreadable."""
    for members in _members(digests, recent_packs or RecentPacks()):
        for sha256, start, size in members.places:
            data = members.content[start : start + size]
            if digest_bytes(data) == sha256:
                yield StoredBytes(sha256, members.media_type or JSON_TYPE, data)
            else:
                yield ArtifactCorrupt(sha256, members.problem or "its bytes do not match its digest")


def verify_all() -> Iterator[StoredBytes | ArtifactCorrupt]:
    """Yield every artifact of the store: its bytes, or the error that makes it unreadable."""
    names = Artifact.objects.order_by("pack_id", "start").values_list("sha256", flat=True)
    rows = names.iterator(chunk_size=_SCAN_BATCH)
    while batch := list(islice(rows, _SCAN_BATCH)):
        yield from verify(batch)


def read_one(sha256: str) -> StoredBytes:
    """Return an artifact; raise `ArtifactMissing`."""
    for artifact in read([sha256]):
        return artifact
    raise ArtifactMissing(sha256)


def load(digests: Iterable[str], recent_packs: RecentPacks | None = None) -> dict[str, JSONValue]:
    """Return stored values with unresolved references; missing and damaged ones are absent."""
    values: dict[str, JSONValue] = {}
    for artifact in verify(digests, recent_packs):
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


def places(digests: Iterable[str]) -> Iterator[packs.Member]:
    """Yield where the artifacts are that exist."""
    for key, *place in _rows("artifact.sha256, pack_id, artifact.start, size", sorted({*digest_keys([*digests])})):
        yield key.hex(), *place


def places_in_order(keys: Sequence[bytes]) -> Places:
    """Return where the artifacts are that exist, given digests as stored, in their order.

    The database joins each column to one text: to read as many rows takes longer than to look them up.
    """
    columns = ", ".join(map(_JOIN[connection.vendor].format, ("pack_id", "artifact.start", "artifact.start + size")))
    (texts,) = _rows(columns, keys)
    return Places(*(orjson.loads(f"[{text or ''}]") for text in texts))


def _rows(columns: str, keys: Iterable[bytes], *, join: str = "", ending: str = "") -> list[Any]:
    """Return columns of artifacts. Raw SQL: replays look up tens of thousands of them.

    The database cuts the bytes of their digests into pieces: to bind each of them takes longer than the lookups.
    `CROSS JOIN` keeps SQLite to their order. In ascending order, neighbours in the index are looked up one after
    another, and writers lock them in one order.
    """
    data = b"".join(keys)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM {_PIECES[connection.vendor]} CROSS JOIN traces_artifact AS artifact {join} "
            f"WHERE artifact.sha256 = substr(%s, piece.start, 32){ending}",
            [len(data), data],
        )
        rows: list[Any] = cursor.fetchall()
    return rows


class _Members(NamedTuple):
    """Members of one pack, and its decoded bytes; none, and the problem, if it is unreadable."""

    places: Sequence[_Place]
    media_type: str
    content: bytes
    problem: str = ""


def _members(digests: Iterable[str], recent_packs: RecentPacks) -> Iterator[_Members]:
    """Yield the artifacts that exist, pack by pack. The reader verifies them."""
    pending: Iterable[str] = digests
    for _ in range(_ATTEMPTS):
        by_pack: dict[int, list[_Place]] = {}
        for sha256, pack_id, start, size in places(pending):
            by_pack.setdefault(pack_id, []).append((sha256, start, size))
        for known_pack in recent_packs.find(by_pack.keys()):
            yield _Members(by_pack.pop(known_pack.id), known_pack.media_type, known_pack.content)
        for pack in packs.read(sorted(by_pack)):
            members = by_pack.pop(pack.id)
            try:
                content = packs.decode(pack, members[0][0])
            except UnreadablePack as problem:
                yield _Members(members, pack.media_type, b"", str(problem))
                continue
            recent_packs.add(pack, content)
            yield _Members(members, pack.media_type, content)
        if not by_pack:
            return
        pending = [sha256 for members in by_pack.values() for sha256, *_ in members]
    yield from (_Members(members, "", b"", _LOST_PACK) for members in by_pack.values())
