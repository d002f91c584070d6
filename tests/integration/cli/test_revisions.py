"""What the command line prints of revisions and conflicts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.arriving_events import answer, beginning, ending, lines
from tests.support.command_line import Shell, WarmShell
from tests.support.growing_session import SessionStates, write_states
from traces.core.recorded_run import PROBLEM

pytestmark = pytest.mark.own_store


@pytest.fixture(scope="module")
def forkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmShell]:
    warm = WarmShell(Shell(tmp_path_factory.mktemp("home")))
    yield warm
    warm.close()


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> SessionStates:
    return write_states(tmp_path_factory.mktemp("session"))


@pytest.fixture(scope="module")
def runs(forkpoint: WarmShell, states: SessionStates) -> list[dict[str, Any]]:
    """The session's runs: the first, the revision that continues it, and one that contradicts both."""
    return [forkpoint("import", file, "--json").json["runs"][0] for file in states]


def test_import_document_names_the_related_run(runs: list[dict[str, Any]]) -> None:
    assert [run["revision"] for run in runs] == [1, 2, 3]
    assert [run["supersedes"] for run in runs] == [None, runs[0]["id"], None]
    assert [run["conflicts_with"] for run in runs] == [None, None, runs[1]["id"]]


def test_import_table_marks_revisions_and_conflicts(forkpoint: WarmShell, states: SessionStates) -> None:
    first, grown, conflict = (forkpoint("import", file, "--app", "other") for file in states)
    assert "1 imported, 0 skipped" in first.out
    assert "1 imported, 1 as a new revision, 0 skipped" in grown.out
    assert "1 imported, 1 conflicting recording, 0 skipped" in conflict.out
    assert "3 (conflict)" in conflict.out
    assert "with the same id, because their contents differ" in conflict.err


def test_show_prints_the_place_among_revisions(forkpoint: WarmShell, runs: list[dict[str, Any]]) -> None:
    first, second, conflict = (forkpoint("show", run["id"]).out for run in runs)
    assert f"revision  1 of 3 (newest: {runs[1]['id']})\n" in first
    assert "revision  2 of 3\n" in second
    assert "revision  3 of 3 (conflicting recording)\n" in conflict


def test_show_document_names_the_revision_that_a_run_continues(
    forkpoint: WarmShell, runs: list[dict[str, Any]]
) -> None:
    documents = [forkpoint("show", run["id"], "--json").json["run"] for run in runs]
    assert [run["supersedes"] for run in documents] == [None, runs[0]["id"], None]


def test_show_omits_the_only_revision(forkpoint: WarmShell, states: SessionStates) -> None:
    (run,) = forkpoint("import", states.short, "--app", "single", "--json").json["runs"]
    assert "revision" not in forkpoint("show", run["id"]).out


def test_show_and_list_name_the_problem_of_a_recording(forkpoint: WarmShell, tmp_path: Path) -> None:
    start, *rest = [*beginning("damaged"), *answer("damaged"), *ending("damaged")]
    start["payload"] |= {"app_id": "damaged", "metadata": {PROBLEM: "two different events with number 1"}}
    file = tmp_path / "events.jsonl"
    file.write_bytes(lines([start, *rest]))
    (run,) = forkpoint("import", file, "--json").json["runs"]
    assert forkpoint("show", run["id"], "--json").json["run"]["problem"] == "two different events with number 1"
    assert "two different events with number 1" in forkpoint("show", run["id"]).out
    assert f"1 recording with a problem: see `forkpoint show {run['id']}`" in forkpoint("runs").err
