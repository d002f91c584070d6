"""`import` and bundles: send files to the server in one request, with progress.

Some systems spread a run over several files, so all files of an import are sent together. Only one of them is open at a
time, and the server stores them in one temporary file.
"""

import contextlib
import io
import json as jsonlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from cockpit.cli import output
from cockpit.cli.client import Api, connect
from cockpit.cli.errors import Exit, Failure, failure_from_problem

_FIELDS: Final = (
    "id",
    "external_id",
    "name",
    "app",
    "status",
    "steps",
    "format",
    "revision",
    "supersedes",
    "conflicts_with",
    "lost",
)
Report = dict[str, list[dict[str, Any]]]


def run(
    paths: list[Path], *, app: str | None, format: str | None, json: bool, url: str | None, token: str | None
) -> Exit:
    """Import and report the result. If every file was skipped, the input is bad."""
    files = files_in(paths)
    with connect(url, token) as api:
        report = import_files(api, files, app=app, format=format)
    if json:
        output.document(report)
    else:
        _show(report)
    return Exit.OK if report["runs"] or not report["skipped"] else Exit.BAD_INPUT


def files_in(paths: Iterable[Path]) -> list[Path]:
    """Return the files among the paths and in their folders, each once; raise `Failure` if one does not exist."""
    return _unique(_walk(paths))


def run_id(api: Api, ref: str) -> str:
    """Resolve a run reference for the API; a file is imported first."""
    path = Path(ref)
    if not path.is_file():
        return ref
    report = import_files(api, [path])
    if len(report["runs"]) == 1:
        return str(report["runs"][0]["id"])
    if not report["runs"]:
        reason = report["skipped"][0]["reason"] if report["skipped"] else "it contains no run"
        raise Failure(f"{path} was not imported: {reason}", exit=Exit.BAD_INPUT)
    raise Failure(f"{path} contains {len(report['runs'])} runs: use the id of one of them", exit=Exit.BAD_INPUT)


def import_files(api: Api, files: list[Path], *, app: str | None = None, format: str | None = None) -> Report:
    """Send the files and return the import report."""
    if not files:
        return {"runs": [], "skipped": [], "unread": []}
    files_by_path = by_upload_path(files)
    with _progress(len(files)) as advance:
        report = _send(api, files_by_path, app, format, advance)
    with_paths = {
        name: [{**entry, "path": str(files_by_path.get(entry["path"], entry["path"]))} for entry in report[name]]
        for name in ("skipped", "unread")
    }
    return {"runs": [{name: entry[name] for name in _FIELDS} for entry in report["runs"]], **with_paths}


def export(refs: list[str], target: Path, *, json: bool, url: str | None, token: str | None) -> None:
    """Write a run's bundle to a file, or those of several runs."""
    with connect(url, token) as api:
        runs = [run_id(api, ref) for ref in refs]
        if len(runs) == 1:
            api.download("/bundles/export", {"run": runs[0]}, target)
        else:
            api.download("/runs/export", {"runs": runs}, target)
    if json:
        output.document({"path": str(target), "bytes": target.stat().st_size})
    else:
        output.people().print(f"{target} ({target.stat().st_size} bytes)")


def _walk(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files, and those in folders in sorted order, except hidden ones."""
    for path in paths:
        if path.is_dir():
            entries = sorted(path.rglob("*"))
            yield from (entry for entry in entries if entry.is_file() and not _hidden(entry.relative_to(path)))
        elif path.is_file():
            yield path
        else:
            raise Failure(f"file not found: {path}", exit=Exit.BAD_INPUT, code="validation_error")


def _unique(files: Iterable[Path]) -> list[Path]:
    """Return each file once: a shell's `**/*` lists folders and also the files in them."""
    unique: dict[Path, Path] = {}
    for file in files:
        unique.setdefault(file.resolve(), file)
    return list(unique.values())


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def by_upload_path(files: list[Path]) -> dict[str, Path]:
    """Map paths to files: those below the folder that contains all of them, as formats need them."""
    absolute_paths = [file.absolute() for file in files]
    root = os.path.commonpath([path.parent for path in absolute_paths])
    return {path.relative_to(root).as_posix(): file for path, file in zip(absolute_paths, files, strict=True)}


def _send(api: Api, files_by_path: dict[str, Path], app: str | None, format: str | None, advance: "_Advance") -> Report:
    query = {key: value for key, value in (("app", app), ("format", format)) if value}
    # A file name in a form has no folders.
    contents = [("file", (file.name, _LazyFile(file), "application/octet-stream")) for file in files_by_path.values()]
    form = [("paths", (None, jsonlib.dumps([*files_by_path]))), *contents]
    with api.lines("/runs/import", files=form, params=query) as lines:
        return _report(lines, advance)


def _report(lines: Iterable[str], advance: "_Advance") -> Report:
    for line in lines:
        event = jsonlib.loads(line)
        if event["type"] == "progress":
            advance(event["path"], event["done"] >= event["total"])
        elif event["type"] == "problem":
            raise failure_from_problem(event, 0)
        else:
            return {name: event[name] for name in ("runs", "skipped", "unread")}
    raise Failure("import interrupted; runs not listed above were not imported", exit=Exit.UNAVAILABLE)


class _LazyFile:
    """A file that is open only while it is read, so that an import opens one file at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        with self._open() as file:
            self._size = file.seek(0, io.SEEK_END)

    def tell(self) -> int:
        return 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Return the size for `SEEK_END`. The HTTP client only asks for the size and reads from the start."""
        return self._size if whence == io.SEEK_END else offset

    def read(self, size: int = -1) -> bytes:
        if self._file is None:
            self._file = self._open()
        data = self._file.read(size)
        if not data:
            self._file.close()
            self._file = None
        return data

    def _open(self) -> IO[bytes]:
        try:
            return self._path.open("rb")
        except OSError as error:
            raise Failure(f"cannot read {self._path}: {error.strerror}", exit=Exit.BAD_INPUT) from error


class _Advance:
    """Updates the progress bar: counts finished files and shows the current one."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("sending", total=total)
        self._finished_paths: set[str] = set()

    def __call__(self, path: str, is_done: bool) -> None:
        if is_done and path not in self._finished_paths:
            self._finished_paths.add(path)
            self._progress.advance(self._task)
        self._progress.update(self._task, description=path[-48:])


@contextlib.contextmanager
def _progress(total: int) -> Iterator[_Advance]:
    """Show a progress bar on standard error if it is a terminal."""
    console = output.progress_console()
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield _Advance(progress, total)


def _show(report: Report) -> None:
    console = output.people()
    table = output.table("run", "app", "format", ">steps", "revision", "name")
    for entry in report["runs"][:50]:
        failed = output.glyph("live", entry["status"])
        steps, name = str(entry["steps"]), failed + " " + entry["name"]
        table.add_row(entry["id"], entry["app"], entry["format"], steps, _revision_cell(entry), name)
    if report["runs"]:
        console.print(table)
    if (rest := len(report["runs"]) - 50) > 0:
        console.print(f"… and {rest} more")
    for entry in report["runs"]:
        _note_problems(entry)
    for entry in report["skipped"]:
        location = f" at {entry['where']}" if entry.get("where") else ""
        output.note(f"skipped {entry['path']}: {entry['reason']}{location}")
    if report["unread"]:
        members = ", ".join(f"{entry['member']} ({entry['values']})" for entry in report["unread"])
        output.note(f"these members of the files, with their numbers of values, are in no run: {members}")
    console.print(_summary(report))


def _revision_cell(entry: dict[str, Any]) -> str:
    if entry["conflicts_with"]:
        return f"{entry['revision']} (conflict)"
    return str(entry["revision"]) if entry["revision"] > 1 else ""


def _note_problems(entry: dict[str, Any]) -> None:
    if other := entry["conflicts_with"]:
        output.note(f"{entry['id']} is kept beside {other} with the same id, because their contents differ")
    if missing := entry["lost"]:
        parts = "1 artifact" if len(missing) == 1 else f"{len(missing)} artifacts"
        output.note(
            f"{entry['id']} lacks {parts}, already missing on the server that exported it: {', '.join(missing)}"
        )


def _summary(report: Report) -> str:
    """Count the results, for example `3 imported, 1 as a new revision, 0 skipped`."""
    revisions = sum(entry["supersedes"] is not None for entry in report["runs"])
    conflicts = sum(entry["conflicts_with"] is not None for entry in report["runs"])
    parts = [f"{len(report['runs'])} imported"]
    if revisions:
        parts.append("1 as a new revision" if revisions == 1 else f"{revisions} as new revisions")
    if conflicts:
        parts.append("1 conflicting recording" if conflicts == 1 else f"{conflicts} conflicting recordings")
    return ", ".join([*parts, f"{len(report['skipped'])} skipped"])
