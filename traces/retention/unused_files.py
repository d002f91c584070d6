"""Files of the artifact storage that no artifact has: transactions left them that were rolled back.

A file is stored before the rows that name it, so that every row has its file. A young file may therefore be that of a
transaction that goes on, and so may an old one with the same bytes. Writers of files hold a lock until their commit
(`packs.lock_files`), and a file is deleted only where nobody holds it. On SQLite, the write transaction excludes them.

Several stores that share a folder or a prefix would delete each other's files, so this runs only on request.
"""

import re
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.utils import timezone

from traces.models import Artifact, Pack
from traces.storage import artifact_files, bulk, packs

# Longer than a transaction takes.
_AGE: Final = timedelta(days=1)
_NAME: Final = re.compile(r"(?:[0-9a-f]{2}/){2}([0-9a-f]{64})(?:\.refs)?(?:\.zst)?")
_BATCH: Final = 500
_PAUSE_S: Final = 0.1


def find() -> list[str]:
    """Return the paths of the files that no artifact has; raise `StorageAway` or `StorageRefuses`."""
    return [path for paths in _old_files() for path in _find_unused(paths)]


def remove() -> int:
    """Delete the files that no artifact has, and return how many; raise `StorageAway` or `StorageRefuses`."""
    count = 0
    for paths in _old_files():
        while (deleted_count := _remove(paths)) is None:
            time.sleep(_PAUSE_S)
        count += deleted_count
    return count


def _remove(paths: Sequence[str]) -> int | None:
    """Delete those of some files that are unused; None if they cannot be locked now."""
    with transaction.atomic():
        if not packs.lock_files():
            return None
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
