"""Ways to lose a stored artifact, in the database or the artifact storage."""

from pathlib import Path
from typing import Final

from django.core.files.storage import storages

from traces.models import Artifact, Pack
from traces.runs import services
from traces.storage import artifacts, packs
from traces.storage.compression import compress

LOSSES: Final = ("deleted", "truncated", "flipped")


def lose(sha256: str, loss: str) -> None:
    """Delete an artifact, or damage its stored bytes."""
    artifact = Artifact.objects.get(sha256=sha256)
    if sha256 in large_artifacts():
        _lose_file(sha256, loss)
        return
    data = artifacts.read_one(sha256).data
    with services.retention():
        Artifact.objects.filter(sha256=sha256).delete()
    if loss != "deleted":
        # Alone in a pack, so that only this one is damaged.
        pack = Pack.objects.create(encoding="zstd", data=_damage(compress(data), loss))
        Artifact.objects.create(sha256=sha256, pack_id=pack.id, start=0, size=artifact.size)


def large_artifacts() -> dict[str, str]:
    """Return the artifacts whose bytes lie in files, with the paths of these."""
    encodings = dict(Pack.objects.filter(data__isnull=True).values_list("id", "encoding"))
    rows = Artifact.objects.filter(pack_id__in=list(encodings)).values_list("sha256", "pack_id")
    return {sha256: packs.file_path(sha256, encodings[pack_id]) for sha256, pack_id in rows}


def _lose_file(sha256: str, loss: str) -> None:
    folder = Path(storages["artifacts"].path(f"{sha256[:2]}/{sha256[2:4]}"))
    (file,) = folder.glob(f"{sha256}*")
    if loss == "deleted":
        file.unlink()
    else:
        file.write_bytes(_damage(file.read_bytes(), loss))


def _damage(data: bytes, loss: str) -> bytes:
    middle = len(data) // 2
    if loss == "truncated":
        return data[:middle]
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
