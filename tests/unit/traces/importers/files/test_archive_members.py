"""Members of archives."""

import io
import tarfile
import time

import pytest

from traces.importers.files.archive_members import tar_members
from traces.importers.files.errors import BadFile


def test_a_member_larger_than_its_archive_takes_no_time() -> None:
    header = tarfile.TarInfo("big.json")
    header.size = 2**40
    members = tar_members(io.BytesIO(header.tobuf(tarfile.GNU_FORMAT)))
    assert next(members).name == "big.json"
    start = time.process_time()
    with pytest.raises(BadFile, match="damaged"):
        next(members)
    assert time.process_time() - start < 1
