"""Delete the artifacts that no run uses any more, and their files.

Nothing remains of a deleted artifact: the others of its pack move to a new pack, and the old one is deleted.

Safe beside writers. A writer keeps the artifacts that it reuses locked until its commit (`artifacts.write_many`). The
sweep locks candidates, skips those that are locked, and only then decides, in a new statement that sees every commit
before the locks. On SQLite, the write transaction excludes other writers. Moving an artifact does not disturb a writer,
and a reader that looked at its old place looks again.

A file is deleted after the commit that deleted its row; until then a `LooseFile` remembers it, so that a crash loses
nothing. A writer that needs the file again deletes the `LooseFile` first, and waits for a sweep that is deleting it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from traces.models import Artifact, ArtifactUse, LooseFile, Pack
from traces.models.digests import digest_key
from traces.storage import artifact_files, artifacts, bulk, packs
from traces.storage.packs import StoredPack, UnreadablePack
from traces.storage.retention_pass import retention_pass

# Ranges of digests by their first byte, so that no statement takes long. The last one has no end.
_RANGES: Final = (*((bytes([number]), bytes([number + 1])) for number in range(255)), (b"\xff", b"\xff" * 33))
# Artifacts of a transaction.
_BATCH: Final = 500
# Candidates in memory at a time. The more there are, the fewer packs are written more than once.
_MAX_CANDIDATES: Final = 100_000
_ARTIFACTS: Final = "traces_artifact AS artifact LEFT JOIN traces_pack AS pack ON pack.id = artifact.pack_id"
# A run whose contents were removed may remain as an empty row.
_PRESENT: Final = (
    "EXISTS (SELECT 1 FROM traces_run AS run WHERE run.id = {id} AND NOT EXISTS "
    "(SELECT 1 FROM traces_deletion AS gone WHERE gone.run_id = run.id AND gone.removed_at IS NOT NULL))"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepReport:
    """The number of deleted artifacts, and their bytes before encoding."""

    artifacts: int = 0
    size: int = 0

    def __add__(self, other: "SweepReport") -> "SweepReport":
        return SweepReport(artifacts=self.artifacts + other.artifacts, size=self.size + other.size)


def sweep() -> SweepReport:
    """Delete all unused artifacts and their files. An interrupted sweep is continued by the next one."""
    report = SweepReport()
    candidates: dict[int, list[bytes]] = {}
    for first, end in _RANGES:
        _delete_stale_uses(first, end)
        for pack_id, key in _candidates(first, end):
            candidates.setdefault(pack_id, []).append(key)
        if sum(map(len, candidates.values())) > _MAX_CANDIDATES:
            report += _delete_all(candidates)
            candidates.clear()
    report += _delete_all(candidates)
    delete_files()
    return report


def delete_files() -> None:
    """Delete the files of deleted artifacts; raise `StorageAway` or `StorageRefuses`."""
    for path in list(LooseFile.objects.values_list("path", flat=True)):
        with transaction.atomic():
            row = LooseFile.objects.select_for_update(skip_locked=True).filter(path=path).first()
            if row is not None:
                artifact_files.delete(path)
                row.delete()


def size_of_owned(run_ids: Iterable[UUID]) -> int:
    """Return the bytes, before encoding, of the artifacts that these runs stored and only they use; at least."""
    total = 0
    with connection.cursor() as cursor:
        for chunk in bulk.chunks(run_ids, bulk.CHUNK // 2):
            places = ", ".join(["%s"] * len(chunk))
            cursor.execute(
                f"SELECT coalesce(sum(artifact.size), 0) FROM {_ARTIFACTS} WHERE pack.owner IN ({places}) "
                "AND NOT EXISTS (SELECT 1 FROM traces_artifactuse AS used "
                f"WHERE used.sha256 = artifact.sha256 AND used.run_id NOT IN ({places}))",
                [run_id.bytes for run_id in chunk] + [_database_id(run_id) for run_id in chunk],
            )
            total += int(cursor.fetchone()[0])
    return total


def _candidates(first: bytes, end: bytes) -> list[tuple[int, bytes]]:
    """Return the unused artifacts of a range, each with its pack."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT artifact.pack_id, artifact.sha256 FROM {_ARTIFACTS} "
            f"WHERE artifact.sha256 >= %s AND artifact.sha256 < %s AND {_is_unused()}",
            [first, end],
        )
        rows: list[tuple[int, bytes]] = cursor.fetchall()
    return rows


def _delete_all(candidates: Mapping[int, Sequence[bytes]]) -> SweepReport:
    """Delete unused artifacts, pack by pack. Those that are in use again, or locked by a writer, stay."""
    report = SweepReport()
    batch: list[int] = []
    size = 0
    for pack_id in sorted(candidates):
        batch.append(pack_id)
        size += len(candidates[pack_id])
        if size >= _BATCH:
            report += _delete_unused(batch, candidates)
            batch, size = [], 0
    return report + _delete_unused(batch, candidates) if batch else report


def _delete_unused(pack_ids: Sequence[int], candidates: Mapping[int, Sequence[bytes]]) -> SweepReport:
    """Delete the candidates of some packs that are still unused once they are locked."""
    report = SweepReport()
    keys = [key for pack_id in pack_ids for key in candidates[pack_id]]
    with retention_pass():
        free_ids = _lock_packs(pack_ids)
        changed_ids: set[int] = set()
        for chunk in bulk.chunks(sorted(keys)):
            garbage = [row for row in _lock_unused(chunk) if row[1] in free_ids]
            _remember_files(garbage)
            names = [key.hex() for key, *_ in garbage]
            ArtifactUse.objects.filter(sha256__in=names).delete()
            Artifact.objects.filter(sha256__in=names).delete()
            changed_ids.update(pack_id for _, pack_id, _ in garbage)
            report += SweepReport(artifacts=len(garbage), size=sum(size for *_, size in garbage))
        for pack in packs.read(sorted(changed_ids)):
            _move_rest(pack)
        Pack.objects.filter(id__in=changed_ids).delete()
    return report


def _lock_packs(pack_ids: Sequence[int]) -> set[int]:
    """Return the packs that no other sweep is at, and those that do not exist."""
    existing_packs = Pack.objects.filter(id__in=pack_ids)
    missing = set(pack_ids).difference(existing_packs.values_list("id", flat=True))
    locked_packs = existing_packs.select_for_update(skip_locked=True).order_by("id")
    return missing.union(locked_packs.values_list("id", flat=True))


def _lock_unused(keys: Sequence[bytes]) -> list[tuple[bytes, int, int]]:
    """Lock artifacts, and return those that are unused then: digest, pack and size."""
    candidates = Artifact.objects.select_for_update(skip_locked=True).filter(sha256__in=keys).order_by("sha256")
    lock_keys = [digest_key(sha256) for sha256 in candidates.values_list("sha256", flat=True)]
    if not lock_keys:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT artifact.sha256, artifact.pack_id, artifact.size FROM {_ARTIFACTS} "
            f"WHERE artifact.sha256 IN ({', '.join(['%s'] * len(lock_keys))}) AND {_is_unused()}",
            lock_keys,
        )
        rows: list[tuple[bytes, int, int]] = cursor.fetchall()
    return rows


def _remember_files(garbage: Iterable[tuple[bytes, int, int]]) -> None:
    names = {pack_id: key.hex() for key, pack_id, _ in garbage}
    in_files = Pack.objects.filter(id__in=list(names), data__isnull=True).values_list("id", "encoding")
    paths = [(packs.file_path(names[pack_id], encoding),) for pack_id, encoding in in_files]
    bulk.insert(LooseFile, ("path",), paths, ignore_conflicts=True)


def _move_rest(pack: StoredPack) -> None:
    """Move the artifacts that a pack still contains to a new one. Unreadable ones cannot be moved."""
    # What is not JSON is alone in its pack, and may have a million lines.
    if pack.data is None or pack.media_type:
        return
    try:
        members = packs.members_of(packs.decode(pack, ""))
    except UnreadablePack:
        return
    places = sorted((start, sha256) for sha256, pack_id, start, _ in artifacts.places(members) if pack_id == pack.id)
    rest = [(sha256, members[sha256]) for _, sha256 in places]
    owner = Pack.objects.values_list("owner", flat=True).get(id=pack.id)
    for sha256, pack_id, start, _ in packs.insert(rest, owner, packs.JSON_TYPE):
        Artifact.objects.filter(sha256=sha256).update(pack_id=pack_id, start=start)


def _delete_stale_uses(first: bytes, end: bytes) -> None:
    """Delete the uses by runs that no longer exist."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM traces_artifactuse WHERE sha256 >= %s AND sha256 < %s AND NOT EXISTS "
            "(SELECT 1 FROM traces_run WHERE traces_run.id = traces_artifactuse.run_id)",
            [first, end],
        )


def _is_unused() -> str:
    """Return the condition that neither the owner of `pack` nor a user of `artifact` exists."""
    sqlite = connection.vendor == "sqlite"
    owner = "lower(hex(pack.owner))" if sqlite else "encode(pack.owner, 'hex')::uuid"
    return (
        f"NOT {_PRESENT.format(id=owner)} AND NOT EXISTS (SELECT 1 FROM traces_artifactuse AS used "
        f"WHERE used.sha256 = artifact.sha256 AND {_PRESENT.format(id='used.run_id')})"
    )


def _database_id(run_id: UUID) -> UUID | str:
    return run_id.hex if connection.vendor == "sqlite" else run_id
