"""Delete the artifacts that no run uses any more, and their files.

Safe beside writers. A writer keeps the artifacts that it reuses locked until its commit (`artifacts.write_many`). The
sweep locks candidates, skips those that are locked, and only then decides, in a new statement that sees every commit
before the locks. On SQLite, the write transaction excludes other writers.

A file is deleted after the commit that deleted its row; until then a `LooseFile` remembers it, so that a crash loses
nothing. A writer that needs the file again deletes the `LooseFile` first, and waits for a sweep that is deleting it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from traces.models import Artifact, ArtifactUse, LooseFile
from traces.storage import artifact_files, artifacts, bulk
from traces.storage.retention_pass import retention_pass

# Ranges of digests by their first digits, so that no statement takes long.
_PREFIXES: Final = tuple(f"{number:02x}" for number in range(256))
_BATCH: Final = 500
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
    for prefix in _PREFIXES:
        _delete_stale_uses(prefix)
        while batch := _candidates(prefix):
            batch_report = _delete_unused(batch)
            report += batch_report
            if batch_report.artifacts < len(batch):
                # The others are in use again, or locked by a writer.
                break
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
                f"SELECT coalesce(sum(size), 0) FROM traces_artifact AS artifact WHERE owner IN ({places}) "
                "AND NOT EXISTS (SELECT 1 FROM traces_artifactuse AS used "
                f"WHERE used.sha256 = artifact.sha256 AND used.run_id NOT IN ({places}))",
                [run_id.bytes for run_id in chunk] + [_database_id(run_id) for run_id in chunk],
            )
            total += int(cursor.fetchone()[0])
    return total


def closure(digests: Iterable[str]) -> set[str]:
    """Return artifacts and all parts that they contain at any depth, as far as they are readable."""
    level = set(digests)
    result = set(level)
    while level:
        level = {part for parts in artifacts.references(sorted(level)).values() for part in parts or ()} - result
        result |= level
    return result


def _candidates(prefix: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT sha256 FROM traces_artifact AS artifact WHERE sha256 >= %s AND sha256 < %s AND {_is_unused()} "
            f"ORDER BY sha256 LIMIT {_BATCH}",
            [prefix, f"{prefix}g"],
        )
        return [sha256 for (sha256,) in cursor.fetchall()]


def _delete_unused(digests: Sequence[str]) -> SweepReport:
    """Delete those of `digests` that are still unused once they are locked."""
    with retention_pass(), connection.cursor() as cursor:
        candidates = Artifact.objects.select_for_update(skip_locked=True).filter(sha256__in=digests).order_by("sha256")
        digests = list(candidates.values_list("sha256", flat=True))
        if not digests:
            return SweepReport()
        cursor.execute(
            "SELECT sha256, size, encoding, data IS NULL FROM traces_artifact AS artifact "
            f"WHERE sha256 IN ({', '.join(['%s'] * len(digests))}) AND {_is_unused()}",
            digests,
        )
        rows = cursor.fetchall()
        files = [(file_path,) for file_path in _file_paths(rows)]
        bulk.insert(LooseFile, ("path",), files, ignore_conflicts=True)
        names = [sha256 for sha256, *_ in rows]
        ArtifactUse.objects.filter(sha256__in=names).delete()
        Artifact.objects.filter(sha256__in=names).delete()
    return SweepReport(artifacts=len(rows), size=sum(size for _, size, *_ in rows))


def _file_paths(rows: Iterable[tuple[str, int, str, bool]]) -> list[str]:
    return [artifacts.file_path(sha256, encoding) for sha256, _, encoding, is_file in rows if is_file]


def _delete_stale_uses(prefix: str) -> None:
    """Delete the uses by runs that no longer exist."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM traces_artifactuse WHERE sha256 >= %s AND sha256 < %s AND NOT EXISTS "
            "(SELECT 1 FROM traces_run WHERE traces_run.id = traces_artifactuse.run_id)",
            [prefix, f"{prefix}g"],
        )


def _is_unused() -> str:
    """Return the condition that neither the owner nor a user of `artifact` exists."""
    sqlite = connection.vendor == "sqlite"
    owner = "lower(hex(artifact.owner))" if sqlite else "encode(artifact.owner, 'hex')::uuid"
    return (
        f"NOT {_PRESENT.format(id=owner)} AND NOT EXISTS (SELECT 1 FROM traces_artifactuse AS used "
        f"WHERE used.sha256 = artifact.sha256 AND {_PRESENT.format(id='used.run_id')})"
    )


def _database_id(run_id: UUID) -> UUID | str:
    return run_id.hex if connection.vendor == "sqlite" else run_id
