"""Runs spread over many files: one run, in any order and number of files."""

import io
import random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.importers import registry
from traces.importers.files.source import Source
from traces.imports.upload_files import SharedFileHandler
from traces.reading import spread_runs
from traces.reading.spread_runs import SpreadFiles

AT = "2026-03-01T10:00:{:02}Z"


def _prela(trace: str, span: int) -> Any:
    times = {"started_at": AT.format(span % 60), "ended_at": AT.format(span % 60)}
    return {"trace_id": trace, "span_id": f"{trace}-{span}", "name": "look", "span_type": "tool", **times}


def _otlp(trace: str, span: int) -> Any:
    spans_by_file: dict[str, Any] = {
        "traceId": trace * 32,
        "spanId": f"{span + 1:016x}",
        "name": "look",
        "startTimeUnixNano": 10**18,
    }
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": f"shop {span}"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [spans_by_file]}]}]}


def _langsmith(trace: str, span: int) -> Any:
    return {"id": f"{trace}-{span}", "trace_id": trace, "name": "look", "run_type": "tool", "outputs": {"n": span}}


def _langfuse(trace: str, span: int) -> Any:
    body = {"id": f"{trace}-{span}", "traceId": trace, "name": "look", "input": {"n": span}}
    return {"batch": [{"id": f"e{span}", "type": "span-create", "timestamp": AT.format(0), "body": body}]}


def _events(trace: str, span: int) -> Any:
    kinds = ["run_started", *["retrieval_executed"] * 5]
    return {
        "run_id": trace,
        "step_id": f"s{span}",
        "sequence_no": span,
        "event_type": kinds[min(span, 5)],
        "timestamp_utc": AT.format(0),
        "payload": {},
    }


def _krabs(trace: str, span: int) -> Any:
    payload = {"pre_tool_use": {"tool_name": "look", "args": {}, "tool_use_id": f"c{span}"}}
    return {"event_type": "pre_tool_use", "timestamp_ms": 10**12 + span, "session_id": trace, "payload": payload}


FORMATS = {
    "prela": _prela,
    "otlp": _otlp,
    "langsmith": _langsmith,
    "langfuse": _langfuse,
    "forkpoint": _events,
    "krabs": _krabs,
}


def read_runs(format: str, files: dict[str, Any]) -> tuple[list[RecordedRun], list[str]]:
    """The runs of an import, and what was skipped."""
    together = SpreadFiles(importer=registry.get_importer(format))
    for name, value in files.items():
        data = orjson.dumps(value)
        together.add(Source(name=name, data=data), io.BytesIO(data))
    runs: list[RecordedRun] = []
    problems: list[str] = []
    for sources in together.groups():
        if not any(source.problems for source in sources):
            runs += together.importer.runs(sources)
        problems += [str(problem) for source in sources for problem in source.problems]
    return runs, problems


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("held", [0, spread_runs.MEMORY_LIMIT], ids=["read again", "held"])
def test_run_over_many_files_is_one(format: str, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread_runs, "MEMORY_LIMIT", held)
    files = [(f"{trace}-{span}.json", FORMATS[format](trace, span)) for trace in "ab" for span in range(60)]
    in_order, problems = read_runs(format, dict(files))
    random.Random(7).shuffle(files)
    shuffled, _ = read_runs(format, dict(files))
    assert problems == []
    assert len(in_order) == 2
    assert sorted(shuffled, key=lambda run: run.external_id) == sorted(in_order, key=lambda run: run.external_id)
    steps = 60 - (format == "forkpoint")
    assert [len(run.steps) for run in in_order] == [steps, steps]


def test_only_files_of_one_run_are_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread_runs, "MEMORY_LIMIT", 0)
    together = SpreadFiles(importer=registry.get_importer("prela"))
    for trace, span in (("a", 0), ("b", 0), ("a", 1), ("c", 0)):
        data = orjson.dumps(_prela(trace, span))
        together.add(Source(name=f"{trace}{span}", data=data), io.BytesIO(data))
    assert [[source.name for source in group] for group in together.groups()] == [["a0", "a1"], ["b0"], ["c0"]]
    assert all(item.data is None for item in together.files), "nothing is held"


def test_update_joins_its_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread_runs, "MEMORY_LIMIT", 0)
    update = {"id": "e", "type": "span-update", "timestamp": AT.format(9), "body": {"id": "t-1", "output": "3"}}
    (run,), _ = read_runs("langfuse", {"a": {"batch": [update]}, "b": _langfuse("t", 1)})
    assert "3" in str(run.steps)


def test_too_large_run_is_rejected_by_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread_runs, "MEMORY_LIMIT", 0)
    monkeypatch.setattr(spread_runs, "MAX_RUN_SIZE", 300)
    files = {f"{trace}{span}": _prela(trace, span) for trace, span in (("a", 0), ("a", 1), ("a", 2), ("b", 0))}
    runs, problems = read_runs("prela", files)
    assert [run.external_id for run in runs] == ["b"]
    assert len(problems) == 3
    assert "3 files of one run have more than" in problems[0]


def test_every_example_has_grouping_keys() -> None:
    for name, format in fixtures.FORMATS.items():
        importer = registry.get_importer(format)
        if importer.keys is not None:
            assert importer.keys(fixtures.source(name)), name


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=5), st.data())
def test_shared_upload_file_keeps_files_separate(contents: list[bytes], data: st.DataObject) -> None:
    handler = SharedFileHandler()
    files = []
    for at, content in enumerate(contents):
        handler.new_file("file", f"{at}.bin", "application/octet-stream", len(content))
        for start in range(0, len(content), 7):
            handler.receive_data_chunk(content[start : start + 7], start)
        files.append(handler.file_complete(len(content)))
    for at in data.draw(st.permutations(range(len(contents)))):
        file: Any = files[at]
        assert file.seek(0, io.SEEK_END) == len(contents[at])
        file.seek(data.draw(st.integers(0, 60)))
        assert file.read(1) == contents[at][file.tell() - 1 :][:1] or file.tell() >= len(contents[at])
        file.seek(0)
        assert file.read() == contents[at]
    for file in files:
        file.close()
