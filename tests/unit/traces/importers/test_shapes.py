"""Files in another shape than their format's own: places of problems, and what is no such file."""

import io
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.importers import registry
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.importer import Importer
from traces.reading import file_reader
from traces.reading.progress import Event, NamedFile, PartSkipped, RunRead

EVENT = {"type": "user", "sessionId": "s", "uuid": "u1", "message": {"role": "user", "content": "Hello?"}}


def read(data: bytes) -> list[Event]:
    return list(file_reader.read_files([NamedFile(name="upload", file=io.BytesIO(data))]))


def problems(data: bytes) -> list[tuple[str, str]]:
    return [(event.reason, event.location) for event in read(data) if isinstance(event, PartSkipped)]


def formats(data: bytes) -> list[str]:
    return [event.run.format for event in read(data) if isinstance(event, RunRead)]


def test_problems_of_a_list_of_lines_have_their_places_in_the_list() -> None:
    thread: Any = fixtures.source("amp.json").value
    rows = [thread, {**thread, "messages": [7]}]
    data = orjson.dumps({"total": 2, "threads": rows})
    assert formats(data) == ["amp"]
    ((_, location),) = problems(data)
    assert location.startswith("/threads/1")


def test_long_name_of_a_list_is_cut_in_the_places_of_problems() -> None:
    thread: Any = fixtures.source("amp.json").value
    data = orjson.dumps({"k" * 100_000: [thread, {**thread, "messages": [7]}]})
    ((_, location),) = problems(data)
    assert len(location) < 1_100
    assert location.endswith("/1")


def test_list_goes_to_the_surest_format() -> None:
    assert formats(orjson.dumps([EVENT])) == ["claude-code"]
    assert formats(orjson.dumps([fixtures.source("amp.json").value])) == ["amp"]


ROW: Any = {
    **{"trace_id": "t", "span_id": "s", "span_name": "chat", "start_timestamp": "2026-03-01T10:00:00Z"},
    "attributes": '{"gen_ai.request.model": "m"}',
}


@pytest.mark.parametrize(
    "table",
    [
        {"columns": [{"name": name, "values": [value]} for name, value in ROW.items()]},
        {"columns": [*ROW], "results": [[*ROW.values()]], "types": []},
        {"columns": [*ROW], "index": [0], "data": [[*ROW.values()]]},
    ],
)
def test_tables_with_listed_columns_are_rows(table: Any) -> None:
    ((run,),) = [[event.run for event in read(orjson.dumps(table)) if isinstance(event, RunRead)]]
    assert (run.format, run.external_id, run.steps[0].model) == ("otlp", "t", "m")


def test_envelope_with_several_lists_is_refused() -> None:
    data = orjson.dumps({"old": [EVENT], "new": [EVENT]})
    assert problems(data) == [("no known format has an object with the keys new, old", "/")]


@pytest.mark.parametrize("name", ["browsergym.json", "mint.json", "promptfoo.json", "tau_bench.json", "trae.json"])
def test_foreign_lines_are_reported_and_others_read(name: str) -> None:
    example = orjson.dumps(fixtures.source(name).value)
    data = b'{"level": "info", "msg": "start"}\n' + example + b"\n"
    assert len(formats(data)) == len(fixtures.runs(name))
    assert [location.split(",")[0].split("/")[0] for _, location in problems(data)] == ["line 1"]


def test_error_of_an_importer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(source: Source) -> Any:
        raise KeyError("chunks")

    example = registry.get_importer("amp")
    broken = Importer(name="amp", title="Amp threads", sniff=example.sniff, parse=parse)
    monkeypatch.setattr(
        registry, "IMPORTERS", tuple(broken if item is example else item for item in registry.IMPORTERS)
    )
    ((reason, _),) = problems((fixtures.FOLDER / "amp.json").read_bytes())
    assert reason.startswith(
        "an error of Forkpoint: the importer of Amp threads failed with KeyError (test_shapes.py, line "
    )


def test_error_of_a_sniffer_is_reported_for_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def sniff(sample: Sample) -> float:
        return {"amp": 1.0}[sample.name]

    example = registry.get_importer("amp")
    broken = Importer(name="amp", title="Amp threads", sniff=sniff, parse=example.parse)
    monkeypatch.setattr(registry, "IMPORTERS", (broken,))
    ((reason, _),) = problems((fixtures.FOLDER / "amp.json").read_bytes())
    assert reason.startswith("an error of Forkpoint: the detection of its format failed with KeyError (test_shapes.py")


@pytest.mark.parametrize("by_columns", [True, False])
def test_data_frame_by_columns_or_labels(*, by_columns: bool) -> None:
    span = {"name": "agent", "context.span_id": "5f", "context.trace_id": "aa", "start_time": 1_790_000_000_000}
    spans = {"5f": span, "6f": {**span, "context.span_id": "6f", "parent_id": "5f"}, "x": {**span, "parent_id": None}}
    columns = {name: {label: row.get(name) for label, row in spans.items()} for name in (*span, "parent_id")}
    data = orjson.dumps(columns if by_columns else {label: {**row, "parent_id": None} for label, row in spans.items()})
    assert (formats(data), problems(data)) == (["otlp"], [])
