from pathlib import Path
from unittest.mock import Mock

import pytest
from django.db import DatabaseError

from cockpit.backups import create
from cockpit.cli import in_process
from cockpit.cli.commands.store import backup
from cockpit.cli.errors import Failure


def test_errors_of_sqlite_name_both_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "set_up", lambda: None)
    monkeypatch.setattr(create, "create", Mock(side_effect=DatabaseError("database or disk is full")))
    with pytest.raises(Failure, match=r"disk is full\. The store is .+, the backup /mnt/store\.tar"):
        backup.create(Path("/mnt/store.tar"), json=False)
