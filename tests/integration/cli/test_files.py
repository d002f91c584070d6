"""Input and output of the command line: invalid arguments, malformed documents, files and folders."""

import json
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.command_line import WarmShell

pytestmark = pytest.mark.own_store


@pytest.mark.parametrize(
    "arguments",
    [("runs", "--limit", "0"), ("replay", "last", "--temperature", "9"), ("show",), ("nonsense",), ("runs", "--nope")],
)
def test_invalid_arguments_return_json_error(forkpoint: WarmShell, arguments: tuple[str, ...]) -> None:
    result = forkpoint(*arguments, "--json")
    assert result.code == 2
    assert result.json["error"]["code"] == "validation_error"
    assert result.json["error"]["detail"]


@pytest.mark.parametrize("value", ["NaN", '"\\ud800"', "9" * 5_000, "[" * 100_000, "[" * 400 + "]" * 400])
def test_malformed_json_is_rejected(forkpoint: WarmShell, value: str) -> None:
    profile = '{"overrides": [{"match": {"step": 3}, "output": ' + value + "}]}"
    result = forkpoint("replay", "last", "--overrides", "-", "--json", input=profile)
    assert (result.code, list(result.json)) == (2, ["error"]), result.err


@pytest.mark.parametrize(
    "command",
    [
        ("diff", "last", "last", "-o"),
        ("diff", "last", "last", "--format", "html", "-o"),
    ],
)
def test_unwritable_output_is_rejected(forkpoint: WarmShell, tmp_path: Path, command: tuple[str, ...]) -> None:
    result = forkpoint(*command, tmp_path / "nowhere" / "file", "--json")
    assert result.code == 2
    assert "No such file" in result.json["error"]["detail"]
    assert not list(tmp_path.iterdir())


def test_bundle_makes_its_folder(forkpoint: WarmShell, tmp_path: Path) -> None:
    bundle = tmp_path / "runs" / "golden" / "refund.zip"
    assert forkpoint("bundle", "export", "last", "-o", bundle).code == 0
    assert [path.name for path in bundle.parent.iterdir()] == ["refund.zip"]
    result = forkpoint("bundle", "export", "last", "-o", bundle / "other.zip", "--json")
    assert (result.code, "cannot write" in result.json["error"]["detail"]) == (2, True)


def test_report_is_written_to_file(forkpoint: WarmShell, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    result = forkpoint("diff", "last", "last", "--format", "html", "-o", page, "--json")
    assert (result.code, result.json["path"]) == (0, str(page))
    assert "<html" in page.read_text("utf-8")
    assert forkpoint("diff", "last", "last", "--format", "md", "--json").code == 2


def _protobuf(trace: int, number: int) -> bytes:
    """Return an export of one span."""
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id = trace.to_bytes(16, "big"), number.to_bytes(8, "big")
    span.name, span.start_time_unix_nano, span.end_time_unix_nano = "look", 10**18 + number, 10**18 + number + 1
    return request.SerializeToString()


def test_run_spread_over_files_is_joined(forkpoint: WarmShell, tmp_path: Path) -> None:
    for number in range(1, 121):
        (tmp_path / f"part-{number}").mkdir()
        (tmp_path / f"part-{number}" / "spans.pb").write_bytes(
            _protobuf(98 if number in (99, 100, 101) else number, number)
        )
    report = forkpoint("import", tmp_path, "--json").json
    assert report["skipped"] == []
    assert sorted(run["steps"] for run in report["runs"]) == [1] * 116 + [4]


def test_several_runs_are_exported_into_one_file(forkpoint: WarmShell, tmp_path: Path) -> None:
    runs = [run["id"] for run in forkpoint("runs", "--limit", "2", "--json").json["runs"]]
    archive = tmp_path / "runs.zip"
    assert forkpoint("bundle", "export", *runs, "-o", archive).code == 0
    result = forkpoint("import", archive, "--json")
    # The file keeps the order of the arguments, and the store recognizes its own runs.
    assert ([run["id"] for run in result.json["runs"]], result.json["skipped"]) == (runs, [])


def test_members_in_no_run_are_named(forkpoint: WarmShell, tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "find", "input": {}}
    text = {"type": "text", "text": "found", "shelf": "shelf 7"}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [text]}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps({"messages": messages}))
    report = forkpoint("import", chat, "--json").json
    assert report["unread"] == [{"path": str(chat), "member": "/messages/content/content/shelf", "values": 1}]
    command = forkpoint("import", chat)
    assert "are in no run: /messages/content/content/shelf (1)" in " ".join((command.out + command.err).split())
