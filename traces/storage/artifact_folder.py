"""A folder of artifact files, each of which appears at once and in full."""

import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final
from uuid import uuid4

from django.core.files.storage import FileSystemStorage

_PARTS: Final = "parts"
_PRIVATE: Final = 0o700
# Far more than it takes to write a file.
_OLDEST_PART_S: Final = 3600.0


class ArtifactFolder(FileSystemStorage):
    """Writes each file apart and moves it to its place, so that no other writer sees a part of it."""

    def save(self, name: str | None, content: IO[Any], max_length: int | None = None) -> str:
        """Save a file under exactly this name; an existing one is replaced."""
        part, path = f"{_PARTS}/{uuid4().hex}", Path(self.path(str(name)))
        try:
            super().save(part, content, max_length)
            self._make_folders(path)
            Path(self.path(part)).replace(path)
        except BaseException:
            # On a full disk, it would take what others free.
            Path(self.path(part)).unlink(missing_ok=True)
            raise
        return str(name)

    def remove_old_parts(self) -> None:
        """Remove what processes left that were killed while they wrote."""
        limit = time.time() - _OLDEST_PART_S
        for part in Path(self.path(_PARTS)).glob("*"):
            with suppress(FileNotFoundError):
                if part.stat().st_mtime < limit:
                    part.unlink()

    def _make_folders(self, path: Path) -> None:
        for folder in reversed(path.relative_to(self.location).parents[:-1]):
            (Path(self.location) / folder).mkdir(mode=_PRIVATE, exist_ok=True)
