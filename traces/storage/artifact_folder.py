"""A folder of artifact files, each of which appears at once and in full."""

from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from django.core.files.storage import FileSystemStorage


class ArtifactFolder(FileSystemStorage):
    """Writes each file beside its place and moves it there, so that no other writer sees a part of it."""

    def save(self, name: str | None, content: IO[Any], max_length: int | None = None) -> str:
        """Save a file under exactly this name; an existing one is replaced."""
        part = super().save(f"{name}.{uuid4().hex}", content, max_length)
        Path(self.path(part)).replace(self.path(str(name)))
        return str(name)
