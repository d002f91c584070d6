"""The file of a backup: what is written is read, and nothing else is accepted."""

import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from cockpit.backups.archive_reader import open_archive
from cockpit.backups.archive_writer import write_archive
from cockpit.backups.errors import BackupError, UnusableBackup
from cockpit.backups.manifest import DATABASE, MANIFEST, Manifest, check_name

NAME = "artifacts/ab/cd/abcd"
CONTENTS = {DATABASE: b"rows" * 1000, NAME: b"payload" * 1000, "secret_key": b"k" * 64}
Change = Callable[[tarfile.TarInfo, bytes], list[tuple[tarfile.TarInfo, bytes]]]


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    path = tmp_path / "backup.tar"
    with path.open("wb") as file, write_archive(file) as archive:
        for name, content in CONTENTS.items():
            archive.add_bytes(name, content)
        archive.close(
            Manifest(
                version="0.1.0",
                created_at=datetime(2026, 11, 29, tzinfo=UTC),
                database="sqlite",
                migrations=[("traces", "0001_tables")],
                runs=2,
                steps=20,
                members=archive.members,
            )
        )
    return path


def rewrite(path: Path, name: str, change: Change) -> None:
    """Write an archive again with other members in the place of one."""
    with tarfile.open(path) as tar:
        members = [(header, (tar.extractfile(header) or BytesIO()).read()) for header in tar]
    with tarfile.open(path, "w") as tar:
        for header, content in members:
            for new, data in change(header, content) if header.name == name else [(header, content)]:
                new.size = len(data)
                tar.addfile(new, BytesIO(data))


def test_members_are_read_as_written(backup: Path) -> None:
    with open_archive(backup) as archive:
        assert {name: archive.read(name) for name in CONTENTS} == CONTENTS
        assert (archive.manifest.runs, archive.manifest.names("artifacts/")) == (2, [NAME])


def link(name: str) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.type, header.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return header


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        (NAME, lambda header, content: [(header, b"X" + content[1:])], f"{NAME} is damaged"),
        (NAME, lambda header, content: [(header, content[1:])], f"{NAME} is damaged"),
        (NAME, lambda header, content: [], f"{NAME} is missing"),
        (NAME, lambda header, content: [(header, content)] * 2, "exists twice"),
        (NAME, lambda header, content: [(tarfile.TarInfo("artifacts/../../x"), content)], "does not belong"),
        (NAME, lambda header, content: [(tarfile.TarInfo("/etc/x"), content)], "does not belong"),
        (NAME, lambda header, content: [(tarfile.TarInfo("artifacts/other"), content)], "is not in manifest.json"),
        (NAME, lambda header, content: [(link(NAME), b"")], "not a regular file"),
        (MANIFEST, lambda header, content: [], "has no manifest.json"),
        (MANIFEST, lambda header, content: [(header, content[:-9])], "manifest.json is damaged"),
        (MANIFEST, lambda header, content: [(header, b'{"format": 2, "new": 1}')], "format 2"),
        (MANIFEST, lambda header, content: [(header, content), (tarfile.TarInfo(NAME), b"")], "behind manifest.json"),
    ],
)
def test_changed_archives_are_refused(backup: Path, name: str, change: Change, problem: str) -> None:
    rewrite(backup, name, change)
    with pytest.raises(UnusableBackup, match=problem), open_archive(backup):
        pass


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6])
def test_cut_archives_are_refused(backup: Path, share: float) -> None:
    data = backup.read_bytes()
    backup.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(UnusableBackup), open_archive(backup):
        pass


@pytest.mark.parametrize("name", ["artifacts/", "artifacts//x", "files/./x", "artifacts/a\0b", "tables/../x.copy", "x"])
def test_strange_names_are_refused(name: str) -> None:
    with pytest.raises(UnusableBackup):
        check_name(name)


def test_content_that_ends_early_is_named() -> None:
    with write_archive(BytesIO()) as archive, pytest.raises(BackupError, match="files/x became shorter"):
        archive.add("files/x", BytesIO(b"abc"), 4)
