"""The home folder belongs to its owner alone."""

import os
import stat
from pathlib import Path

from cockpit.process.home import make_home, make_private_file


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


def test_new_homes_are_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_home(home)
    make_private_file(home / "forkpoint.sqlite3")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert modes(home) == {"forkpoint.sqlite3": 0o600}


def test_existing_homes_are_repaired(tmp_path: Path) -> None:
    home = tmp_path / "home"
    artifact = home / "artifacts" / "ab" / "cd"
    artifact.parent.mkdir(parents=True)
    foreign = home / "notes.txt"
    for path in (artifact, foreign, home / "forkpoint.sqlite3-wal"):
        path.write_text("x")
        path.chmod(0o644)
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    (home / "artifacts" / "link").symlink_to(outside)
    for folder in (home, home / "artifacts", artifact.parent):
        folder.chmod(0o755)
    make_home(home)
    found = modes(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert (found["artifacts"], found["artifacts/ab"], found["artifacts/ab/cd"]) == (0o700, 0o700, 0o600)
    assert found["forkpoint.sqlite3-wal"] == 0o600
    assert found["notes.txt"] == 0o644  # not ours
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_shared_folders_keep_their_mode(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    make_home(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777
    assert os.access(folder, os.W_OK)
