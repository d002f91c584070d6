"""Large uploads: read one at a time, in a process with limits."""

import gzip
import os
import signal
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import orjson
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client

from tests.integration.imports.test_import_files import in_memory
from traces.imports import api, import_files, reader_process
from traces.imports.import_slots import Slot
from traces.models import Run
from traces.reading.progress import Event, NamedFile, ReadingStarted
from traces.runs import services

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def transcript(number: int, content: str = "Is Dune in stock?") -> bytes:
    messages = [{"role": "user", "content": content}, {"role": "assistant", "content": "Yes."}]
    return orjson.dumps({"run_id": f"run-{number}", "dataset": "shop", "messages": messages})


def post(*contents: bytes) -> Any:
    files = [SimpleUploadedFile(f"{number}.json", data) for number, data in enumerate(contents)]
    return Client().post("/api/v1/runs/import", {"file": files})


def test_file_beyond_its_memory_is_skipped() -> None:
    # One wide character makes four bytes of each letter.
    wide = gzip.compress(transcript(1, "a" * 40_000_000 + "😀"))
    report = post(transcript(0), wide, transcript(2)).json()
    assert [run["external_id"] for run in report["runs"]] == ["run-0", "run-2"]
    ((path, reason),) = [(skipped["path"], skipped["reason"]) for skipped in report["skipped"]]
    assert path == "1.json"
    assert "memory" in reason


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes by /proc")
def test_killed_reader_leaves_other_files() -> None:
    def read_and_kill(files: Sequence[NamedFile], format: str | None) -> Generator[Event, None, None]:
        for event in reader_process.read_files(files, format):
            yield event
            if event == ReadingStarted((1,)):
                (reader,) = [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()][
                    -1:
                ]
                os.kill(reader, signal.SIGKILL)

    many = b"\n".join(transcript(number) for number in range(100, 3_000))
    files = [in_memory("a", transcript(0)), in_memory("many", many), in_memory("b", transcript(1))]
    report = import_files.import_files(files, reader=read_and_kill)
    assert [skipped.path for skipped in report.skipped] == ["many"]
    stored = set(Run.objects.values_list("external_id", flat=True))
    assert {"run-0", "run-1"} <= stored
    assert stored == {run.external_id for run in report.runs}


def test_second_large_import_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    slot = Slot(waiting=0, patience_s=0)
    monkeypatch.setattr(api, "LARGE_IMPORTS", slot)
    slot.acquire()
    compressed = gzip.compress(transcript(1))
    response = post(compressed)
    assert (response.status_code, response.json()["code"], response["Retry-After"]) == (429, "rate_limited", "30")
    assert len(post(transcript(0)).json()["runs"]) == 1
    slot.release()
    assert [len(post(compressed).json()["runs"]) for _ in range(2)] == [1, 1]


def test_outage_during_an_import_is_named() -> None:
    def run(progress: object) -> NoReturn:
        raise OperationalError

    (line,) = api._lines(run, threading.Event())
    problem = {"code": "dependency_unavailable", "detail": "the database did not respond", "where": ""}
    assert orjson.loads(line) == {"type": "problem", **problem}


def test_large_runs_are_stored_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[int] = []

    def record_all(runs: Any) -> Any:
        results = services.record_all(runs)
        batches.append(len(results))
        return results

    monkeypatch.setattr(import_files, "services", SimpleNamespace(record_all=record_all))
    monkeypatch.setattr(import_files, "_BATCH_BYTES", 400_000)
    lines = b"\n".join(transcript(number, str(number) * 50_000) for number in range(9))
    report = import_files.import_files([in_memory("x", lines)])
    assert len(report.runs) == Run.objects.count() == 9
    assert 1 < max(batches) < 9
