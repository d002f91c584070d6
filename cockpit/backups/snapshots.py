"""A copy of the database at one moment. Pure."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Files by the names of their members, and what they contain."""

    files: tuple[tuple[str, Path], ...]
    migrations: tuple[tuple[str, str], ...]
    runs: int
    steps: int
