"""REST endpoints of imports with progress, and of bundles."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import file_digest
from io import SEEK_END
from queue import SimpleQueue
from tempfile import SpooledTemporaryFile
from threading import Event, Thread
from typing import IO, Any, Final

import orjson
from django.db import InterfaceError, OperationalError, connections
from django.http import FileResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from traces.audit import audit_log
from traces.core.json_access import as_list, as_text
from traces.core.vocabulary import AuditAction
from traces.errors import InvalidQuery, ProblemError, TooLarge
from traces.http.bodies import parse_body
from traces.http.hang_ups import hang_up_of
from traces.http.idempotency import check_key
from traces.http.outages import name_outage
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of, query
from traces.importers.files.errors import LONGEST_LOCATION, BadFile
from traces.importers.files.json_reader import json_value
from traces.imports import import_files, portable_runs, reader_process, run_archives
from traces.imports.import_files import Progress
from traces.imports.import_slots import LARGE_IMPORTS
from traces.models import Run
from traces.reading import file_reader
from traces.reading.progress import NamedFile
from traces.runs import queries
from traces.schemas import ArchiveRequest, BundleRequest, ImportReport

MAX_UPLOAD: Final = 2 * 1024 * 1024 * 1024
_CHUNK: Final = 1024 * 1024
_IN_MEMORY: Final = 16 * 1024 * 1024
NDJSON: Final = "application/x-ndjson"
_FILES = {
    "multipart/form-data": {
        "type": "object",
        "properties": {
            "file": {"type": "array", "items": {"type": "string", "format": "binary"}},
            "paths": {
                "type": "string",
                "description": "Paths of the files in their order, as a JSON list: folders tell which belong together",
            },
        },
    },
    "application/octet-stream": OpenApiTypes.BINARY,
}
Line = dict[str, Any]


class RawParser(BaseParser):
    """Accepts a raw body of any media type: the format is detected from the bytes."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        file: IO[bytes] = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  # the view reads and closes it
        while chunk := stream.read(_CHUNK):
            if file.tell() + len(chunk) > MAX_UPLOAD:
                file.close()
                raise TooLarge(f"the body is larger than {MAX_UPLOAD} bytes")
            file.write(chunk)
        file.seek(0)
        return file


class NdjsonRenderer(BaseRenderer):
    """Declares the media type for content negotiation; the view streams the lines itself."""

    media_type = NDJSON
    format = "ndjson"
    charset = None

    def render(self, data: Any, accepted_media_type: Any = None, renderer_context: Any = None) -> bytes:
        return orjson.dumps(data, default=str) + b"\n"


class ImportView(APIView):
    parser_classes = (MultiPartParser, RawParser)
    renderer_classes: Any = (*api_settings.DEFAULT_RENDERER_CLASSES, NdjsonRenderer)

    @extend_schema(
        operation_id="import_runs",
        parameters=[
            query("filename", "The name of the file in the body, if the body is not a form."),
            query("app", "The app of the imported runs, instead of the one in their files."),
            query("format", "The format, instead of the detected one."),
            KEY,
        ],
        request=_FILES,
        responses={200: ImportReport, (200, NDJSON): OpenApiTypes.STR, **PROBLEMS},
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Import recordings, bundles and archives of bundles.

        With `Accept: application/x-ndjson`, the response streams progress, then the report. If the client
        disconnects before, the import stops, and what is stored stays. A recording that is stored already is
        recognized by its content and reported with `created` false.
        """
        files = _files(request)
        app, format = _option(request, "app"), _option(request, "format")
        _check_key("import", request, files, app, format)

        resources = _resources(files)
        reader = file_reader.read_files if reader_process.is_small(files) else reader_process.read_files

        by = caller_of(request)

        def run(progress: Progress) -> ImportReport:
            with resources:
                parts = run_archives.unpack(files)
                return import_files.import_files(parts, app=app, format=format, progress=progress, reader=reader, by=by)

        media_type = getattr(request.accepted_renderer, "media_type", "")
        if media_type == NDJSON:
            return StreamingHttpResponse(
                _lines(run, hang_up_of(request)), content_type=NDJSON, headers={"X-Accel-Buffering": "no"}
            )
        return Response(run(lambda path, count, total, runs: None))


class BundleExportView(APIView):
    @extend_schema(
        operation_id="export_bundle",
        request=BundleRequest,
        responses={(200, "application/zip"): OpenApiTypes.BINARY, **PROBLEMS},
    )
    def post(self, request: Request) -> FileResponse:
        """Export a run as a file that any server can import."""
        run = queries.find_run(parse_body(BundleRequest, request.data).run)
        write = partial(portable_runs.export, run)
        return _download(f"{run.id}{run_archives.SUFFIX}", write, [run], by=caller_of(request))


class RunsExportView(APIView):
    @extend_schema(
        operation_id="export_runs",
        request=ArchiveRequest,
        responses={(200, "application/zip"): OpenApiTypes.BINARY, **PROBLEMS},
    )
    def post(self, request: Request) -> FileResponse:
        """Export several runs as one file that any server can import: a zip of their bundles. All of them or none."""
        matches = (queries.find_run(ref) for ref in parse_body(ArchiveRequest, request.data).runs)
        runs = [*{run.id: run for run in matches}.values()]
        write = partial(run_archives.export, runs, max_bytes=MAX_UPLOAD)
        return _download("runs.zip", write, runs, by=caller_of(request))


class BundleImportView(APIView):
    parser_classes = (MultiPartParser, RawParser)

    @extend_schema(
        operation_id="import_bundle", parameters=[KEY], request=_FILES, responses={200: ImportReport, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """Import runs from bundles. A damaged bundle is rejected as a whole."""
        files = _files(request)
        _check_key("bundle", request, files)
        by = caller_of(request)
        with _resources(files):
            bundles = run_archives.unpack(files)
            return Response(
                ImportReport(runs=[import_files.import_bundle(file.file, by=by) for file in bundles], skipped=[])
            )


def _download(name: str, write: Callable[[IO[bytes]], None], runs: Iterable[Run], *, by: str) -> FileResponse:
    """Return the exported runs as `write` writes them, and log the export.

    The file is complete on disk before the first byte is sent, so that a failure is named, and no export is logged.
    """
    file: IO[bytes] = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  # the response closes it
    with ExitStack() as on_error:
        on_error.callback(file.close)
        write(file)
        audit_log.append_many(AuditAction.RUN_EXPORTED, {run.id: {"to": "bundle"} for run in runs}, by=by)
        on_error.pop_all()
    size = file.seek(0, SEEK_END)
    file.seek(0)
    headers = {"Content-Length": str(size)}
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip", headers=headers)


def _resources(files: Sequence[NamedFile]) -> ExitStack:
    """Return the resources to release after an import: its files, and the slot of a large import.

    Raise `TooManyRequests`.
    """
    with ExitStack() as stack:
        for file in files:
            stack.callback(file.file.close)
        if not reader_process.is_small(files):
            LARGE_IMPORTS.acquire()
            stack.callback(LARGE_IMPORTS.release)
        return stack.pop_all()


def _files(request: Request) -> list[NamedFile]:
    """Return the uploaded files of a form in order, or the body as one file."""
    uploads = [file for _, files in request.FILES.lists() for file in files] if request.FILES else []
    if uploads:
        paths = _paths(request, len(uploads)) or [file.name or "upload" for file in uploads]
        return [NamedFile(name=name, file=file) for name, file in zip(paths, uploads, strict=True)]
    body = request.data
    if isinstance(body, SpooledTemporaryFile):
        name = _cut_path(request.query_params.get("filename", "")).rpartition("/")[2] or "upload"
        return [NamedFile(name=name, file=body)]
    raise InvalidQuery("there is no file in the request", where="/file")


def _paths(request: Request, count: int) -> list[str]:
    """Return the paths of a form's files; an empty list without any."""
    text = request.POST.get("paths")
    if text is None:
        return []
    try:
        paths = [_cut_path(as_text(path)).strip("/") for path in as_list(json_value(text.encode()))]
    except BadFile as problem:
        raise InvalidQuery(f"not a JSON list: {problem.problem}", where="/paths") from None
    if len(paths) != count or not all(paths):
        raise InvalidQuery(f"expected a JSON list of {count} paths, one per file", where="/paths")
    return paths


def _cut_path(path: str) -> str:
    """Return a path with slashes; the end of a long one, since the report repeats it with each problem of its file."""
    return path.replace("\\", "/")[-LONGEST_LOCATION:]


def _check_key(kind: str, request: Request, files: Sequence[NamedFile], *options: str | None) -> None:
    """Raise `KeyConflict` for different files under the same key."""
    if (key := key_of(request)) is not None:
        check_key(kind, key, [*options, [[file.name, _sha256(file.file)] for file in files]])


def _sha256(file: IO[bytes]) -> str:
    """Hash the whole file; reset its position to the start."""
    file.seek(0)
    digest = file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # typeshed expects a real file
    file.seek(0)
    return digest


def _option(request: Request, name: str) -> str | None:
    """Read an option from the query or the form."""
    form = request.data
    form_value = form.get(name) if isinstance(form, QueryDict) else None
    return request.query_params.get(name) or form_value or None


class _HungUp(Exception):
    """The client of an import has disconnected."""


def _lines(run: Callable[[Progress], ImportReport], hang_up: Event) -> Iterator[bytes]:
    """Run an import in a thread and yield its lines; the import stops at its next run if the client disconnects."""
    lines: SimpleQueue[Line | None] = SimpleQueue()
    Thread(target=_work, args=(run, lines, hang_up), name="import", daemon=True).start()
    return _encode(lines)


def _encode(lines: SimpleQueue[Line | None]) -> Iterator[bytes]:
    while (line := lines.get()) is not None:
        yield orjson.dumps(line) + b"\n"


def _work(run: Callable[[Progress], ImportReport], lines: SimpleQueue[Line | None], hang_up: Event) -> None:
    def progress(path: str, count: int, total: int, runs: int) -> None:
        if hang_up.is_set():
            raise _HungUp
        lines.put({"type": "progress", "path": path, "done": count, "total": total, "runs": runs})

    try:
        lines.put({"type": "report", **run(progress).model_dump(mode="json")})
    except ProblemError as problem:
        lines.put({"type": "problem", "code": problem.code, "detail": str(problem), "where": problem.where})
    except (OperationalError, InterfaceError) as error:
        lines.put({"type": "problem", "code": "dependency_unavailable", "detail": name_outage(error), "where": ""})
    except _HungUp:
        # Nobody reads the lines.
        pass
    finally:
        lines.put(None)
        connections.close_all()
