"""`forkpoint record`: run a program and record its calls."""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from forkpoint.bootstrap import child_environment
from forkpoint.bootstrap.clients import ADDRESSES, CLIENT_HELP, CLIENTS
from forkpoint.bootstrap.languages import is_other_language

_BAD_INPUT: Final = 2
_NOT_LOADED: Final = (
    "Nothing was recorded: the program started no Python process that loads the recorder. Record programs in other "
    "languages with --gateway (and --url, the server)."
)
_NO_CALLS: Final = "the program made no call that the recorder knows, or names a place of its own."


def record(arguments: Sequence[str]) -> int:
    """Run the program that the arguments name with the recorder in it, and return its exit code."""
    options = option_parser().parse_args(arguments)
    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not words:
        option_parser().error("name a program to run: forkpoint record -- python agent.py")
    environment = {**os.environ, **_settings(options)}
    if options.freeze and not options.gateway:
        option_parser().error("--freeze needs --gateway: the run that it begins names the seed")
    if options.gateway or _needs_gateway(words, environment):
        from forkpoint.bootstrap import gateway  # noqa: PLC0415 - urllib takes longer to import than a start may

        return gateway.record(words, environment, options.client, is_seeded=options.freeze)
    place = _place(environment)
    contents = _contents(place)
    with TemporaryDirectory(prefix="forkpoint-") as folder:
        mark = Path(folder) / "loaded"
        try:
            process = subprocess.run(words, env=child_environment(environment, mark=str(mark)), check=False)
        except OSError as error:
            print(f"error: cannot run {words[0]}: {error.strerror}", file=sys.stderr)
            return _BAD_INPUT
        is_loaded = mark.exists()
    if not is_loaded:
        print(_NOT_LOADED, file=sys.stderr)
    elif place is not None:
        is_recorded = _contents(place) != contents
        note = f"Recorded to {place}. Import it: forkpoint import {place}"
        print(note if is_recorded else f"Nothing was recorded to {place}: {_NO_CALLS}", file=sys.stderr)
    # A program that a signal ended has a negative code; shells show 128 and the signal.
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _place(environment: Mapping[str, str]) -> Path | None:
    """Return the folder or file for the recordings; None if a server gets them, or nothing is recorded."""
    place = environment.get("FORKPOINT_TRACES") or ("" if environment.get("FORKPOINT_URL") else "forkpoint-runs")
    return Path(place).expanduser() if place not in {"", "off"} else None


def _contents(place: Path | None) -> object:
    """Return what another run changes: the names in a folder, the size of a file."""
    if place is None or not place.exists():
        return None
    return {*place.glob("*")} if place.is_dir() else place.stat().st_size


def _needs_gateway(words: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether only the gateway can record a program, and may: its own addresses and files come first."""
    has_server = environment.get("FORKPOINT_URL") and not environment.get("FORKPOINT_TRACES")
    if not has_server or not is_other_language(words) or any(environment.get(name) for name in ADDRESSES):
        return False
    print(f"{words[0]} runs no Python: its model calls are recorded through the gateway.", file=sys.stderr)
    return True


def option_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    parser = argparse.ArgumentParser(
        prog="forkpoint record",
        usage="forkpoint record [options] -- COMMAND...",
        description="Run a program and record its model and tool calls, without changing its code. Python programs "
        "are recorded from inside; with --gateway, programs in any language through the server.",
        allow_abbrev=False,
    )
    parser.add_argument("--app", help="App to which the runs belong. [env: FORKPOINT_APP]")
    parser.add_argument(
        "--sink",
        type=Path,
        help="Folder, or *.jsonl file, for the recordings. [env: FORKPOINT_TRACES; default: forkpoint-runs]",
    )
    parser.add_argument("--url", help="Send the recordings to this server. [env: FORKPOINT_URL]")
    parser.add_argument("--token", help="API token of the server. [env: FORKPOINT_TOKEN]")
    parser.add_argument(
        "--gateway", action="store_true", help="Record the model calls through the server's gateway, in any language."
    )
    parser.add_argument(
        "--freeze",
        action="store_true",
        help="With --gateway: seed the random numbers and ids of a program in Python or Node, so that `rerun --freeze` "
        "draws the same.",
    )
    parser.add_argument("--client", choices=CLIENTS, default="", help=f"With --gateway: {CLIENT_HELP}")
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="-- COMMAND...", help="Program to run, with its arguments."
    )
    return parser


def _settings(options: argparse.Namespace) -> dict[str, str]:
    settings = {"FORKPOINT_APP": options.app, "FORKPOINT_URL": options.url, "FORKPOINT_TOKEN": options.token}
    # Files that are asked for take precedence over a server, and a server that is asked for over files.
    settings["FORKPOINT_TRACES"] = str(options.sink.absolute()) if options.sink else "" if options.url else None
    return {name: value for name, value in settings.items() if value is not None}
