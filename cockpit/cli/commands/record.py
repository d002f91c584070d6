"""`record`: run a program and record its calls."""

import os
import subprocess
from pathlib import Path

from cockpit.cli import output
from cockpit.cli.errors import Exit, Failure
from forkpoint.bootstrap import child_environment


def run(command: list[str], *, app: str | None, url: str | None, token: str | None, sink: Path | None) -> int:
    """Run a program with the recorder in it, and return its exit code."""
    settings = {"FORKPOINT_APP": app, "FORKPOINT_URL": url, "FORKPOINT_TOKEN": token}
    # Files that are asked for take precedence over a server, and a server that is asked for over files.
    settings["FORKPOINT_TRACES"] = str(sink.absolute()) if sink else "" if url else None
    environment = {**os.environ, **{name: value for name, value in settings.items() if value is not None}}
    try:
        process = subprocess.run(command, env=child_environment(environment), check=False)
    except OSError as error:
        raise Failure(f"cannot run {command[0]}: {error.strerror}", exit=Exit.BAD_INPUT) from error
    if not environment.get("FORKPOINT_URL") or environment.get("FORKPOINT_TRACES"):
        folder = environment.get("FORKPOINT_TRACES") or "forkpoint-runs"
        output.note(f"Recorded to {folder}. Import it: forkpoint import {folder}")
    # A program that a signal ended has a negative code; shells show 128 and the signal.
    return process.returncode if process.returncode >= 0 else 128 - process.returncode
