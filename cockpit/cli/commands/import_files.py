"""`import` and bundles: files to the server in one request, with progress.

Recordings of some systems spread a run over several files, so that all files of an import go together. However many
they are, one is open at a time, and the server keeps them in one temporary file.
"""

import contextlib
import io
import json as jsonlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from cockpit.cli import output
from cockpit.cli.client import Api, connected
from cockpit.cli.errors import Exit, Failure, of_problem

_FIELDS: Final = ("id", "external_id", "name", "app", "status", "steps", "format", "lost")
Report = dict[str, list[dict[str, Any]]]


def run(
    paths: list[Path], *, app: str | None, format: str | None, json: bool, url: str | None, token: str | None
) -> Exit:
    """Import and say what came of it; nothing imported although there was something is bad input."""
    files = _once(_walked(paths))
    with connected(url, token) as api:
        report = imported(api, files, app=app, format=format)
    if json:
        output.document(report)
    else:
        _show(report)
    return Exit.OK if report["runs"] or not report["skipped"] else Exit.BAD_INPUT


def run_id(api: Api, ref: str) -> str:
    """What the interface finds a run by; a file is imported first."""
    path = Path(ref)
    if not path.is_file():
        return ref
    report = imported(api, [path])
    if len(report["runs"]) == 1:
        return str(report["runs"][0]["id"])
    if not report["runs"]:
        why = report["skipped"][0]["reason"] if report["skipped"] else "there is no run in it"
        raise Failure(f"{path} was not imported: {why}", exit=Exit.BAD_INPUT)
    raise Failure(f"{path} holds {len(report['runs'])} runs: name one of them by its id", exit=Exit.BAD_INPUT)


def imported(api: Api, files: list[Path], *, app: str | None = None, format: str | None = None) -> Report:
    """Send the files and join the reports."""
    if not files:
        return {"runs": [], "skipped": []}
    named = _named(files)
    with _progress(len(files)) as advance:
        found = _send(api, named, app, format, advance)
    skipped = [{**entry, "path": str(named.get(entry["path"], entry["path"]))} for entry in found["skipped"]]
    return {"runs": [{name: entry[name] for name in _FIELDS} for entry in found["runs"]], "skipped": skipped}


def export(ref: str, target: Path, *, json: bool, url: str | None, token: str | None) -> None:
    """Write a run's bundle to a file."""
    with connected(url, token) as api:
        api.download("/bundles/export", {"run": run_id(api, ref)}, target)
    if json:
        output.document({"path": str(target), "bytes": target.stat().st_size})
    else:
        output.people().print(f"{target} ({target.stat().st_size} bytes)")


def _walked(paths: Iterable[Path]) -> Iterator[Path]:
    """The files themselves and those in folders, in order, hidden ones left out."""
    for path in paths:
        if path.is_dir():
            inside = sorted(path.rglob("*"))
            yield from (each for each in inside if each.is_file() and not _hidden(each.relative_to(path)))
        elif path.is_file():
            yield path
        else:
            raise Failure(f"there is no file {path}", exit=Exit.BAD_INPUT, code="validation_error")


def _once(files: Iterable[Path]) -> list[Path]:
    """Each file once, as it was first named: a shell's `**/*` names the folders beside what is in them."""
    named: dict[Path, Path] = {}
    for file in files:
        named.setdefault(file.resolve(), file)
    return list(named.values())


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _named(files: list[Path]) -> dict[str, Path]:
    """The files by the names under which they are sent: their own, with the folders above where two would be alike."""
    named: dict[str, Path] = {}
    for file in files:
        *folders, name = file.parts
        while name in named and folders:
            name = f"{folders.pop().strip('/') or 'root'}_{name}"
        number = 1
        while name in named:
            number += 1
            name = f"{number}_{name}"
        named[name] = file
    return named


def _send(api: Api, named: dict[str, Path], app: str | None, format: str | None, advance: "_Advance") -> Report:
    query = {key: value for key, value in (("app", app), ("format", format)) if value}
    form = [("file", (name, _LazyFile(path), "application/octet-stream")) for name, path in named.items()]
    with api.lines("/runs/import", files=form, params=query) as lines:
        return _report(lines, advance)


def _report(lines: Iterable[str], advance: "_Advance") -> Report:
    for line in lines:
        said = jsonlib.loads(line)
        if said["type"] == "progress":
            advance(said["path"], said["done"] >= said["total"])
        elif said["type"] == "problem":
            raise of_problem(said, 0)
        else:
            return {"runs": said["runs"], "skipped": said["skipped"]}
    raise Failure("the import broke off; what is not in the list of runs was not imported", exit=Exit.UNAVAILABLE)


class _LazyFile:
    """A file that is open only while it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        with self._opened() as file:
            self._size = file.seek(0, io.SEEK_END)

    def tell(self) -> int:
        return 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Only the size is asked for, and the file read from its start."""
        return self._size if whence == io.SEEK_END else offset

    def read(self, size: int = -1) -> bytes:
        if self._file is None:
            self._file = self._opened()
        data = self._file.read(size)
        if not data:
            self._file.close()
            self._file = None
        return data

    def _opened(self) -> IO[bytes]:
        try:
            return self._path.open("rb")
        except OSError as error:
            raise Failure(f"cannot read {self._path}: {error.strerror}", exit=Exit.BAD_INPUT) from error


class _Advance:
    """Counts files that are done, each once, and names the one at hand."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("sending", total=total)
        self._done: set[str] = set()

    def __call__(self, path: str, done: bool) -> None:
        if done and path not in self._done:
            self._done.add(path)
            self._progress.advance(self._task)
        self._progress.update(self._task, description=path[-48:])


@contextlib.contextmanager
def _progress(total: int) -> Iterator[_Advance]:
    """A bar on standard error, where that is a terminal."""
    console = output.progress_console()
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield _Advance(progress, total)


def _show(report: Report) -> None:
    console = output.people()
    shown = output.table("run", "app", "format", ">steps", "name")
    for entry in report["runs"][:50]:
        failed = output.glyph("live", entry["status"])
        shown.add_row(entry["id"], entry["app"], entry["format"], str(entry["steps"]), failed + " " + entry["name"])
    if report["runs"]:
        console.print(shown)
    if (rest := len(report["runs"]) - 50) > 0:
        console.print(f"… and {rest} more")
    for entry in report["runs"]:
        if lost := entry["lost"]:
            parts = "1 artifact" if len(lost) == 1 else f"{len(lost)} artifacts"
            output.note(f"{entry['id']} lacks {parts}, which the exporting server had lost: {', '.join(lost)}")
    for entry in report["skipped"]:
        where = f" at {entry['where']}" if entry.get("where") else ""
        output.note(f"skipped {entry['path']}: {entry['reason']}{where}")
    console.print(f"{len(report['runs'])} imported, {len(report['skipped'])} skipped")
