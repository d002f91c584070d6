"""The key that is made once and kept in the home folder."""

import errno
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from cockpit import settings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("FORKPOINT_SECRET_KEY", raising=False)
    monkeypatch.setattr(settings, "HOME", tmp_path / "home")
    return tmp_path / "home"


def test_several_that_begin_at_once_have_one_key(home: Path) -> None:
    start = threading.Barrier(12)

    def begin(_: int) -> str:
        start.wait()
        return settings.secret_key()

    with ThreadPoolExecutor(12) as threads:
        keys = set(threads.map(begin, range(12)))
    assert len(keys) == 1
    assert len(keys.pop()) >= 50
    assert stat.S_IMODE((home / "secret_key").stat().st_mode) == 0o600


def test_a_key_that_was_never_written_is_made_anew_and_one_that_was_is_kept(home: Path) -> None:
    home.mkdir()
    (home / "secret_key").touch()
    made = settings.secret_key()
    assert len(made) >= 50
    assert settings.secret_key() == made


@pytest.mark.usefixtures("home")
def test_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("cockpit.settings.fcntl.flock", fail)
    with pytest.raises(ImproperlyConfigured, match=r"FORKPOINT_HOME is .*No space left on device"):
        settings.secret_key()


def test_processes_on_several_machines_share_the_redaction_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORKPOINT_REDACTION_KEY", raising=False)
    monkeypatch.setenv("FORKPOINT_SECRET_KEY", "s" * 40)
    shared_key = settings.redaction_key(is_distributed=True)
    assert len(shared_key) >= 32
    assert settings.redaction_key(is_distributed=True) == shared_key
    assert settings.redaction_key(is_distributed=False) == ""
    monkeypatch.setenv("FORKPOINT_REDACTION_KEY", "r" * 40)
    assert settings.redaction_key(is_distributed=True) == "r" * 40


def test_short_redaction_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKPOINT_REDACTION_KEY", "short")
    with pytest.raises(ImproperlyConfigured, match="at least 32 characters"):
        settings.redaction_key(is_distributed=False)
