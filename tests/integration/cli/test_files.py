"""What the command line reads and writes: wrong arguments, broken documents, files and folders."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from cockpit.demo.agent.record import RECORDINGS
from tests.support.command_line import Shell, WarmShell

pytestmark = pytest.mark.own_store


@pytest.fixture(scope="module")
def forkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmShell]:
    """The command on a store of its own, with the demo's recordings in it."""
    shell = Shell(tmp_path_factory.mktemp("home"))
    said = shell("import", RECORDINGS, "--json")
    assert said.code == 0, said.err
    warm = WarmShell(shell)
    yield warm
    warm.close()


@pytest.mark.parametrize(
    "arguments",
    [("runs", "--limit", "0"), ("replay", "last", "--temperature", "9"), ("show",), ("nonsense",), ("runs", "--nope")],
)
def test_wrong_arguments_are_one_document_too(forkpoint: WarmShell, arguments: tuple[str, ...]) -> None:
    said = forkpoint(*arguments, "--json")
    assert said.code == 2
    assert said.json["error"]["code"] == "validation_error"
    assert said.json["error"]["detail"]


@pytest.mark.parametrize("said", ["NaN", '"\\ud800"', "9" * 5_000, "[" * 100_000, "[" * 400 + "]" * 400])
def test_no_document_breaks_the_command(forkpoint: WarmShell, said: str) -> None:
    profile = '{"overrides": [{"match": {"step": 3}, "output": ' + said + "}]}"
    refused = forkpoint("replay", "last", "--overrides", "-", "--json", input=profile)
    assert (refused.code, list(refused.json)) == (2, ["error"]), refused.err


@pytest.mark.parametrize(
    "command",
    [
        ("diff", "last", "last", "-o"),
        ("bundle", "export", "last", "-o"),
        ("diff", "last", "last", "--format", "html", "-o"),
    ],
)
def test_what_cannot_be_written_is_bad_input(forkpoint: WarmShell, tmp_path: Path, command: tuple[str, ...]) -> None:
    refused = forkpoint(*command, tmp_path / "nowhere" / "file", "--json")
    assert refused.code == 2
    assert "No such file" in refused.json["error"]["detail"]
    assert not list(tmp_path.iterdir())


def test_a_report_is_written_or_printed_as_one_document(forkpoint: WarmShell, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    written = forkpoint("diff", "last", "last", "--format", "html", "-o", page, "--json")
    assert (written.code, written.json["path"]) == (0, str(page))
    assert "<html" in page.read_text("utf-8")
    assert forkpoint("diff", "last", "last", "--format", "md", "--json").code == 2


def _protobuf(trace: int, span: int) -> bytes:
    """An export of one span."""
    request = ExportTraceServiceRequest()
    made = request.resource_spans.add().scope_spans.add().spans.add()
    made.trace_id, made.span_id = trace.to_bytes(16, "big"), span.to_bytes(8, "big")
    made.name, made.start_time_unix_nano, made.end_time_unix_nano = "look", 10**18 + span, 10**18 + span + 1
    return request.SerializeToString()


def test_a_run_over_a_folder_of_files_is_one(forkpoint: WarmShell, tmp_path: Path) -> None:
    for at in range(1, 121):
        (tmp_path / f"part-{at}").mkdir()
        (tmp_path / f"part-{at}" / "spans.pb").write_bytes(_protobuf(98 if at in (99, 100, 101) else at, at))
    said = forkpoint("import", tmp_path, "--json").json
    assert said["skipped"] == []
    assert sorted(run["steps"] for run in said["runs"]) == [1] * 116 + [4]
