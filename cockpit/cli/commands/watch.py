"""`watch`: send the session files of coding agents to a server while they grow."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from cockpit.cli import output
from cockpit.cli.client import Api, connect, in_path
from cockpit.cli.errors import Exit, Failure, finish
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.codex import rollouts
from traces.importers.formats.coding_agents import claude_code

_FOLDERS: Final = ("~/.claude/projects", "~/.codex/sessions")
_FORMATS: Final = frozenset({claude_code.FORMAT, rollouts.FORMAT})
_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
_DAY_S: Final = 86_400
_DEFAULT_PORT: Final = "8700"
# The session's id is in the first lines.
_HEAD: Final = 256 * 1024
_PART: Final = 8 * 1024 * 1024


@dataclass(kw_only=True)
class _SessionFile:
    """A file that is being watched; the server has the bytes before `position`."""

    path: Path
    format: str
    session: str
    position: int
    # Size and time of change when it was last looked at.
    state: tuple[int, float] = (0, 0.0)


@dataclass
class _Watch:
    api: Api
    files: dict[Path, _SessionFile] = field(default_factory=dict)
    # Files that are no session, or cannot be sent, with the state in which they were looked at.
    useless_files: dict[Path, tuple[int, float]] = field(default_factory=dict)


def run(paths: Sequence[Path], *, days: float, single_pass: bool, url: str | None, token: str | None) -> None:
    """Watch folders until interrupted. The server knows how much of each file it has, so a restart loses nothing."""
    folders = [path.expanduser() for path in paths] or [Path(folder).expanduser() for folder in _FOLDERS]
    missing = [str(folder) for folder in folders if not folder.exists()]
    if len(missing) == len(folders):
        raise Failure(f"there is no {' and no '.join(missing)}", exit=Exit.BAD_INPUT)
    url = (
        url or os.environ.get("FORKPOINT_URL") or f"http://127.0.0.1:{os.environ.get('FORKPOINT_PORT', _DEFAULT_PORT)}"
    )
    with connect(url, token) as api:
        watch = _Watch(api)
        if not single_pass:
            output.note(
                f"Watching {', '.join(str(folder) for folder in folders if folder.exists())}. Press Ctrl+C to stop."
            )
        if single_pass:
            finish(Exit.OK if _send_changes(watch, folders, days) else Exit.BAD_INPUT)
        else:
            _follow(watch, folders, days)


def _follow(watch: _Watch, folders: Sequence[Path], days: float) -> None:
    """Send what is new again and again; an outage of the server is reported once, and waited for."""
    pause_s = _PAUSE_S
    while True:
        try:
            _send_changes(watch, folders, days)
        except Failure as failure:
            if failure.exit is not Exit.UNAVAILABLE:
                raise
            if pause_s == _PAUSE_S:
                output.error(f"{failure}. Trying again until the server answers.")
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        else:
            if pause_s != _PAUSE_S:
                output.note("The server answers again.")
            pause_s = _PAUSE_S
        time.sleep(pause_s)


def _send_changes(watch: _Watch, folders: Iterable[Path], days: float) -> bool:
    """Send what is new in all files; return whether each could be sent. Raises `Failure` if the server is away."""
    paths = list(_changed_files(watch, folders, newer_than=time.time() - days * _DAY_S))
    is_sent = [_look(watch, path) for path in paths]
    return all(is_sent)


def _changed_files(watch: _Watch, folders: Iterable[Path], *, newer_than: float) -> Iterator[Path]:
    """Yield the session files that changed since they were last looked at, oldest first."""
    changes: list[tuple[float, Path]] = []
    for folder in folders:
        for path in [folder] if folder.is_file() else folder.rglob("*.jsonl"):
            state = _state(path)
            if state is None or state[1] < newer_than or state == watch.useless_files.get(path):
                continue
            if path not in watch.files or watch.files[path].state != state:
                changes.append((state[1], path))
    yield from (path for _, path in sorted(changes))


def _state(path: Path) -> tuple[int, float] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime


def _look(watch: _Watch, path: Path) -> bool:
    """Send what is new in a file; report a problem with it, once, and return whether there was none.

    Raises `Failure` for problems with the server.
    """
    state = _state(path)
    try:
        if state is None or (file := watch.files.get(path) or _open(watch, path, state)) is None:
            return True
        _send(watch.api, file)
        file.state = state
    except OSError as error:
        problem = str(error.strerror)
    except Failure as failure:
        # The server may have lost or got parts meanwhile: its size is asked for again.
        watch.files.pop(path, None)
        if failure.exit is not Exit.BAD_INPUT:
            raise
        problem = str(failure)
    else:
        return True
    output.error(f"{path}: {problem}")
    if state is not None:
        watch.useless_files[path] = state
    return False


def _open(watch: _Watch, path: Path, state: tuple[int, float]) -> _SessionFile | None:
    """Detect the format and the session of a file; None if it is no session, or too short to tell."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    lines = head[: head.rfind(b"\n") + 1]
    identity = _identity(path, lines) if lines else None
    if identity is None:
        watch.useless_files[path] = state
        return None
    format, session = identity
    answer = watch.api.get(_address(format, session), file=path.name)
    watch.files[path] = _SessionFile(path=path, format=format, session=session, position=answer["size"])
    return watch.files[path]


def _identity(path: Path, lines: bytes) -> tuple[str, str] | None:
    source = Source(name=path.name, data=lines)
    try:
        importer = registry.detect(Sample(name=path.name, head=lines, is_complete=False))
    except BadFile:
        return None
    if importer.name not in _FORMATS or importer.keys is None:
        return None
    sessions = importer.keys(source)
    # A continued session starts with lines of the earlier one.
    session = path.stem if path.stem in sessions else min(sessions, default="")
    return (importer.name, session) if session else None


def _send(api: Api, file: _SessionFile) -> None:
    """Send the whole lines that the server does not have."""
    with file.path.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        if stream.tell() < file.position:
            raise Failure("the file is now shorter than the part that was already sent", exit=Exit.BAD_INPUT)
        stream.seek(file.position)
        while part := _next_lines(stream):
            answer = api.append(_address(file.format, file.session), part, file=file.path.name, offset=file.position)
            file.position = answer["size"]
            stream.seek(file.position)


def _next_lines(stream: BinaryIO) -> bytes:
    """Read whole lines; the last one may still be being written."""
    data = stream.read(_PART)
    if len(data) == _PART:
        data += stream.readline()
    return data[: data.rfind(b"\n") + 1]


def _address(format: str, session: str) -> str:
    return f"/session-files/{format}/{in_path(session)}"
