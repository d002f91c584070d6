"""Deletion and retention from the command line."""

import pytest

from tests.support.command_line import WarmShell

pytestmark = pytest.mark.own_store


def test_run_is_deleted_restored_and_purged(forkpoint: WarmShell, failed_run: str) -> None:
    result = forkpoint("delete", failed_run, "--json").json
    (run,) = result["deletions"]
    assert result["refusals"] == []
    assert forkpoint("show", run["id"]).code == 4
    assert forkpoint("restore", run["id"], "--json").json == {"id": run["id"]}
    assert forkpoint("show", run["id"]).code == 0
    plan = forkpoint("purge", "--dry-run", "--json").json
    assert (plan["runs"], plan["effects"]) == (0, [])
    assert "nothing was deleted" in forkpoint("purge", "--dry-run").out
    assert "deleted 0 runs and 0 artifacts" in forkpoint("purge").out
    assert forkpoint("purge", "--unused-files", "--json").json == {"unused_files": 0}
    elsewhere = forkpoint("purge", "--unused-files", "--url", "http://127.0.0.1:9")
    assert (elsewhere.code, "needs direct access to the store" in elsewhere.err) == (2, True)


def test_unknown_run_cannot_be_deleted(forkpoint: WarmShell) -> None:
    assert forkpoint("delete", "missing").code == 4
