"""Ways to lose a stored artifact, in the database or in the artifact storage."""

from pathlib import Path
from typing import Final

from django.core.files.storage import storages

from traces.models import Artifact
from traces.runs import services

LOSSES: Final = ("deleted", "truncated", "flipped")


def lose(sha256: str, how: str) -> None:
    """Delete an artifact, or damage its bytes where they lie."""
    artifact = Artifact.objects.get(sha256=sha256)
    if artifact.data is None:
        _lose_file(sha256, how)
        return
    with services.retention():
        Artifact.objects.filter(sha256=sha256).delete()
    if how != "deleted":
        artifact.data = _damaged(bytes(artifact.data), how)
        artifact.save(force_insert=True)


def _lose_file(sha256: str, how: str) -> None:
    folder = Path(storages["artifacts"].path(f"{sha256[:2]}/{sha256[2:4]}"))
    (file,) = folder.glob(f"{sha256}*")
    if how == "deleted":
        file.unlink()
    else:
        file.write_bytes(_damaged(file.read_bytes(), how))


def _damaged(data: bytes, how: str) -> bytes:
    middle = len(data) // 2
    if how == "truncated":
        return data[:middle]
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
