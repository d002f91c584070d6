"""Ways to lose a stored artifact, in the database or the artifact storage."""

from pathlib import Path
from typing import Final

from django.core.files.storage import storages

from traces.models import Artifact
from traces.runs import services

LOSSES: Final = ("deleted", "truncated", "flipped")


def lose(sha256: str, loss: str) -> None:
    """Delete an artifact, or damage its stored bytes."""
    artifact = Artifact.objects.get(sha256=sha256)
    if artifact.data is None:
        _lose_file(sha256, loss)
        return
    with services.retention():
        Artifact.objects.filter(sha256=sha256).delete()
    if loss != "deleted":
        artifact.data = _damage(bytes(artifact.data), loss)
        artifact.save(force_insert=True)


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
