"""Paths that the command line sends with files."""

from pathlib import Path

from cockpit.cli.commands.import_files import by_upload_path


def test_paths_begin_below_the_folder_of_all_files() -> None:
    assert [*by_upload_path([Path("/runs/a/events/0.json"), Path("/runs/b/state.json")])] == [
        "a/events/0.json",
        "b/state.json",
    ]
    assert [*by_upload_path([Path("/runs/a/0.json")])] == ["0.json"]
