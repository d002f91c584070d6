"""Files of the artifact storage that no artifact has: transactions left them that were rolled back.

A file is stored before the rows that name it, so that every row has its file. A young file may therefore be that of a
transaction that goes on, and so may an old one with the same bytes. Writers of files hold a lock until their commit
(`packs.lock_files`), and files are deleted while nobody has it. On SQLite, the write transaction excludes them.

Several stores that share a folder or a prefix would delete each other's files, so this runs only on request.
"""

import re
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.utils import timezone

from traces.errors import StoreBusy
from traces.models import Artifact, Pack
from traces.storage import artifact_files, bulk, packs
from traces.storage.packs import FilesInUse

# Longer than a transaction takes.
_AGE: Final = timedelta(days=1)
_NAME: Final = re.compile(r"(?:[0-9a-f]{2}/){2}([0-9a-f]{64})(?:\.refs)?(?:\.zst)?")
_BATCH: Final = 500
# In which those that waited behind it store their files.
_PAUSE_S: Final = 1.0
# Longer than a large import stores its runs.
_PATIENCE_S: Final = 120.0


def find() -> list[str]:
    """Return the paths of the files that no artifact has; raise `StorageAway` or `StorageRefuses`."""
    return [path for paths in _old_files() for path in _find_unused(paths)]


def remove() -> int:
    """Delete the files that no artifact has, and return how many; raise `StorageAway` or `StorageRefuses`.

    Raise `StoreBusy` where transactions that store files take turns without a pause: a part is deleted then.
    """
    return sum(_remove_patiently(paths) for paths in _old_files())


def _remove_patiently(paths: Sequence[str]) -> int:
    """Delete those of some files that are unused, as soon as nobody is storing files."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return _remove(paths)
        except FilesInUse as error:
            if time.monotonic() > deadline:
                raise StoreBusy(
                    f"gave up after {_PATIENCE_S:.0f} s: others keep storing files. Run the command again later"
                ) from error
        time.sleep(_PAUSE_S)


def _remove(paths: Sequence[str]) -> int:
    """Delete those of some files that are unused; raise `FilesInUse`."""
    with transaction.atomic():
        packs.lock_files()
        unused_paths = _find_unused(paths)
        for path in unused_paths:
            artifact_files.delete(path)
    return len(unused_paths)


def _old_files() -> Iterator[Sequence[str]]:
    """Yield the paths of files of artifacts that are old enough. Other files in the same place are none of ours."""
    return bulk.chunks(artifact_files.names(_NAME, before=timezone.now() - _AGE), _BATCH)


def _find_unused(paths: Sequence[str]) -> list[str]:
    digests = {path.rpartition("/")[2].partition(".")[0] for path in paths}
    pack_ids = dict(Artifact.objects.filter(sha256__in=digests).values_list("sha256", "pack_id"))
    in_files = Pack.objects.filter(id__in=pack_ids.values(), data__isnull=True)
    encodings = dict(in_files.values_list("id", "encoding"))
    used_paths = {packs.file_path(sha256, encodings[id]) for sha256, id in pack_ids.items() if id in encodings}
    return [path for path in paths if path not in used_paths]
