"""`backup create` and `backup restore`: the whole local store as one file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.cli import in_process, output
from cockpit.cli.errors import Exit, Failure
from diffing.sentences.text import count_noun

if TYPE_CHECKING:
    from cockpit.backups.manifest import Manifest


def create(target: Path, *, json: bool) -> None:
    """Write a backup of the local store. Its tables are copied as they are, so they are not migrated."""
    in_process.set_up()
    from cockpit.backups.create import create

    with _failures(target):
        manifest = create(target, output.note)
    _show(manifest, target, json=json)


def restore(source: Path, *, json: bool) -> None:
    """Restore a backup into the local store, which no server may use meanwhile."""
    in_process.set_up()
    from cockpit.backups.restore import restore
    from cockpit.serving.serve import ServeError, own_home

    try:
        with own_home(), _failures(source):
            manifest = restore(source, output.note)
    except ServeError as error:
        raise Failure(str(error)) from error
    _show(manifest, source, json=json)


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    from django.db import DatabaseError, connections

    from cockpit.backups.errors import BackupError, UnusableBackup
    from cockpit.backups.state import place

    try:
        yield
    except UnusableBackup as error:
        raise Failure(f"{path}: {error}", exit=Exit.BAD_INPUT, code="validation_error") from error
    except BackupError as error:
        raise Failure(str(error)) from error
    except FileNotFoundError as error:
        raise Failure(f"file not found: {error.filename}", exit=Exit.BAD_INPUT, code="validation_error") from error
    except OSError as error:
        raise Failure(f"{error.filename or path}: {error.strerror}") from error
    except DatabaseError as error:
        # SQLite names neither the file nor the disk.
        raise Failure(
            f"the database failed: {error}. The store is {place()}, the backup {path}", exit=Exit.UNAVAILABLE
        ) from error
    finally:
        connections.close_all()


def _show(manifest: "Manifest", path: Path, *, json: bool) -> None:
    size = path.stat().st_size
    if json:
        facts = {"path": str(path), "runs": manifest.runs, "steps": manifest.steps, "size": size}
        output.document({**facts, "version": manifest.version, "created_at": manifest.created_at.isoformat()})
    else:
        counts = f"{count_noun(manifest.runs, 'run')}, {count_noun(manifest.steps, 'step')}"
        output.people().print(f"{counts}, {size / 1e6:,.1f} MB")
