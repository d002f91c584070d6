"""A backup of a whole store, and what comes back of it."""

import json
import os
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cockpit.demo.agent.scenarios import RECORDINGS, REFUND
from tests.services.server import Server
from tests.services.warm_start import FORKPOINT, WarmProcess
from tests.support.command_line import Shell, WarmShell
from tests.support.http import HTTP
from tests.support.patience import patience_s

pytestmark = pytest.mark.own_store
KILLED_RESTORE = """
import os, signal, sys
from pathlib import Path
from cockpit.cli import in_process
in_process.set_up()
from cockpit.backups.restore import restore
restore(Path(sys.argv[1]), lambda text: os.kill(os.getpid(), signal.SIGKILL) if "database" in text else None)
"""


@dataclass(frozen=True, kw_only=True)
class Backup:
    """A backup, made while its store imported runs, and what the store contained before."""

    path: Path
    shell: Shell
    server: str
    token: str
    run: Any


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backup]:
    folder = tmp_path_factory.mktemp("backup")
    shell = Shell(folder / "source")
    [run] = shell("import", large_recording(folder), "--json").json["runs"]
    assert shell("tag", run["id"], "+kept").code == 0
    token = shell("token", "create", "ci", "--json").json["token"]
    server = Server(shell.home, "--no-demo")
    server.start()
    writer = WarmProcess([FORKPOINT, "import", str(RECORDINGS), "--url", server.url], env=shell.environment)
    result = shell("backup", "create", folder / "store.tar", "--json")
    assert writer.wait(patience_s(60)) == 0
    assert result.code == 0, result.err
    run = shell("show", run["id"], "--json").json
    yield Backup(path=folder / "store.tar", shell=shell, server=server.url, token=token, run=run)
    server.stop()


def large_recording(folder: Path) -> Path:
    """Write a recording with a payload too large for the database."""
    lines = (RECORDINGS / f"{REFUND}.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    for event in events:
        event["trace_id"] = event["run_id"] = "large"
        if event["event_type"] == "tool_result":
            event["payload"]["result"] = {"log": " ".join(str(n**3) for n in range(30_000))}
    path = folder / "large.jsonl"
    path.write_text("\n".join(map(json.dumps, events)))
    return path


def test_restored_store_is_the_same(backup: Backup, tmp_path: Path) -> None:
    home = Shell(tmp_path / "home")
    result = home("backup", "restore", backup.path, "--json")
    assert result.code == 0, result.err
    assert result.json["size"] == backup.path.stat().st_size
    assert home("show", backup.run["run"]["id"], "--json").json == backup.run
    report = home("check", "--artifacts", "--totals", "--json").json
    assert (report["artifacts"]["lost"], report["totals"]["wrong"]) == ([], [])
    assert list((home.home / "artifacts").rglob("*.zst"))
    assert modes(home.home) == {0o600, 0o700}
    for key in ("secret_key", "redaction_key"):
        assert (home.home / key).read_bytes() == (backup.shell.home / key).read_bytes()
    server = Server(home.home, "--no-demo", "--host", "0.0.0.0")  # noqa: S104  # login is required there
    server.start()
    headers = {"Authorization": f"Bearer {backup.token}"}
    address = f"{server.url.replace('0.0.0.0', '127.0.0.1')}/api/v1/runs"
    codes = [HTTP.get(address, headers=each).status_code for each in ({}, headers)]
    server.stop()
    assert codes == [401, 200]


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}


def test_backup_is_private_and_complete(backup: Backup) -> None:
    assert backup.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in backup.path.parent.glob("store*")] == ["store.tar"]
    with tarfile.open(backup.path) as tar:
        names = tar.getnames()
    assert (names[0], names[-3:]) == ("database.sqlite3", ["secret_key", "redaction_key", "manifest.json"])
    assert [name.split("/")[0] for name in names[1:-3]] == ["artifacts"]


def test_killed_restore_can_be_repeated(backup: Backup, tmp_path: Path) -> None:
    home = Shell(tmp_path / "home")
    assert WarmProcess([KILLED_RESTORE, str(backup.path)], env=home.environment).wait(patience_s(60)) == -9
    assert list((home.home / "artifacts").rglob("*.zst"))
    assert home("runs", "--json").json["runs"] == []
    assert home("backup", "restore", backup.path).code == 0
    assert home("show", backup.run["run"]["id"], "--json").json == backup.run


def test_unfinished_replays_are_cancelled(forkpoint: WarmShell, fork: Any, tmp_path: Path) -> None:
    with closing(sqlite3.connect(forkpoint.shell.home / "forkpoint.sqlite3")) as database, database:
        database.execute("UPDATE replay_replaysession SET status = 'running', ended_at = NULL")
    assert forkpoint("backup", "create", tmp_path / "store.tar").code == 0
    home = Shell(tmp_path / "home")
    assert "cancelling 1 unfinished replay" in home("backup", "restore", tmp_path / "store.tar").err
    with closing(sqlite3.connect(home.home / "forkpoint.sqlite3")) as database:
        assert database.execute("SELECT cancel_requested FROM replay_replaysession").fetchall() == [(1,)]


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def change_database(path: Path) -> None:
    """Make the manifest state another database, of the same length."""
    path.write_bytes(path.read_bytes().replace(b'"database": "sqlite"', b'"database": "mysqld"'))


def add_migration(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"0003_lists_and_search"', b'"0009_of_the_future___"'))


def write_text(path: Path) -> None:
    path.write_text("no backup")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (damage, "database.sqlite3 is damaged"),
        (cut, "is cut off or damaged in or behind the member database.sqlite3"),
        (write_text, "is not a backup of Forkpoint"),
        (change_database, "manifest.json is damaged"),
        (add_migration, "which is newer than this one"),
    ],
)
def test_unusable_files_change_nothing(
    backup: Backup, tmp_path: Path, change: Callable[[Path], None], problem: str
) -> None:
    copy, home = tmp_path / "copy.tar", Shell(tmp_path / "home")
    copy.write_bytes(backup.path.read_bytes())
    change(copy)
    result = home("backup", "restore", copy, "--json")
    assert (result.code, result.json["error"]["code"]) == (2, "validation_error")
    assert problem in result.json["error"]["detail"]
    assert str(copy) in result.json["error"]["detail"]
    assert {path.name for path in home.home.iterdir()} <= {"forkpoint.sqlite3", "secret_key", "serve.lock"}


def test_used_places_are_refused(backup: Backup, tmp_path: Path) -> None:
    used = Shell(tmp_path / "used")
    used("import", RECORDINGS / f"{REFUND}.jsonl")
    refusals = {
        "exists: choose another name": backup.shell("backup", "create", backup.path),
        "Another Forkpoint is serving": backup.shell("backup", "restore", backup.path),
        "contains 1 run: a backup is restored only": used("backup", "restore", backup.path),
        "FORKPOINT_SECRET_KEY sets another key": Shell(tmp_path / "new")(
            "backup", "restore", backup.path, FORKPOINT_SECRET_KEY="another" * 9
        ),
        "contains no store": Shell(tmp_path / "empty")("backup", "create", tmp_path / "empty.tar"),
    }
    assert [text for text, result in refusals.items() if result.code != 1 or text not in result.err] == []
    assert not list(tmp_path.glob("*.tar*"))
