"""The home folder. Only its owner can read it, because it contains recordings and keys."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PRIVATE_FOLDER: Final = 0o700
_PRIVATE_FILE: Final = 0o600
# Forkpoint's own files: the home may be a folder with other files of its owner.
_CONTENTS: Final = ("artifacts", "files", "forkpoint.sqlite3*", "redaction_key", "secret_key", "serve.lock")


def make_home(folder: Path) -> None:
    """Create the folder and remove the permissions of others; raises OSError if it is not writable."""
    folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    status = folder.stat()
    is_shared = status.st_mode & stat.S_ISVTX or status.st_uid != os.geteuid()
    if not is_shared and stat.S_IMODE(status.st_mode) != _PRIVATE_FOLDER:
        for path in _contents(folder):
            _make_private(path)
        # Last, so that an interrupted repair starts again.
        folder.chmod(_PRIVATE_FOLDER)


def make_private_file(path: Path) -> None:
    """Create an empty file for its owner, if missing. SQLite's journals inherit the mode of the database."""
    path.touch(mode=_PRIVATE_FILE)


def _contents(folder: Path) -> Iterator[Path]:
    for pattern in _CONTENTS:
        for path in folder.glob(pattern):
            yield path
            if path.is_dir() and not path.is_symlink():
                yield from path.rglob("*")


def _make_private(path: Path) -> None:
    if not path.is_symlink():
        path.chmod(_PRIVATE_FOLDER if path.is_dir() else _PRIVATE_FILE)
