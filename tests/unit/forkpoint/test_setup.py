"""`forkpoint.init`: where events go, which runs are recorded, and what redaction does to them."""

import gc
import json
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import forkpoint
from forkpoint import recorder
from tests.support.patience import wait_until
from tests.support.servers.event_server import event_server


@pytest.fixture(autouse=True)
def _off_again() -> Iterator[None]:
    yield
    recorder.configure(sink="off", app="")


def events(folder: Path) -> list[dict[str, Any]]:
    assert forkpoint.flush()
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


def record_refund() -> None:
    with recorder.run("refund", input="card 4111"):
        with recorder.tool("pay", {"card": "4111"}, call_id="c1") as tool:
            tool.output = "paid"
        recorder.output("done").record()


def test_init_records_to_files(tmp_path: Path) -> None:
    assert forkpoint.init(app="desk", environment="test", sink=tmp_path, instrument=False) is recorder
    record_refund()
    start = events(tmp_path)[0]["payload"]
    assert (start["app_id"], start["environment"]) == ("desk", "test")


def test_init_reads_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with event_server() as server:
        monkeypatch.setenv("FORKPOINT_URL", server.url)
        monkeypatch.setenv("FORKPOINT_TOKEN", "t")
        monkeypatch.setenv("FORKPOINT_APP", "billing")
        monkeypatch.setenv("FORKPOINT_HOME", str(tmp_path))
        forkpoint.init(instrument=False)
        record_refund()
        assert forkpoint.flush()
        assert server.events[0]["payload"]["app_id"] == "billing"
        assert server.tokens == ["Bearer t"]


def test_wrong_setup_never_raises(caplog: pytest.LogCaptureFixture) -> None:
    forkpoint.init(sample="many", instrument=False)  # type: ignore[arg-type]
    record_refund()
    assert "Nothing is recorded" in caplog.text
    assert forkpoint.stats()["recorded"] == 0


@pytest.mark.parametrize("options", [{"sample": 2.0}, {"sample": -0.1}, {"sample": float("nan")}])
def test_impossible_share_of_runs_is_refused(
    options: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    forkpoint.init(sink=tmp_path, instrument=False, **options)
    record_refund()
    assert "it must be from 0 to 1" in caplog.text
    assert forkpoint.stats()["recorded"] == 0


@pytest.mark.parametrize("url", ["localhost:8950", "//host", "http://", "file:///tmp/x"])
@pytest.mark.parametrize("is_variable", [False, True])
def test_address_without_scheme_or_host_is_refused(
    url: str, is_variable: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if is_variable:
        monkeypatch.setenv("FORKPOINT_URL", url)
    forkpoint.init(url=None if is_variable else url, instrument=False)
    record_refund()
    assert "needs a scheme and a host, as in http://localhost:8700" in caplog.text
    assert forkpoint.stats()["recorded"] == 0


def test_sampling_is_per_run(tmp_path: Path) -> None:
    forkpoint.init(sink=tmp_path, sample=0.5, instrument=False)
    before = forkpoint.stats()["unsampled_runs"]
    for _ in range(60):
        record_refund()
    by_run: dict[str, list[str]] = {}
    for event in events(tmp_path):
        by_run.setdefault(event["run_id"], []).append(event["event_type"])
    assert 0 < len(by_run) < 60
    assert {len(names) for names in by_run.values()} == {6}
    assert forkpoint.stats()["unsampled_runs"] - before == 60 - len(by_run)


def test_redaction_runs_before_events_leave(tmp_path: Path) -> None:
    def redact(payload: dict[str, Any]) -> dict[str, Any]:
        if "args" in payload:
            payload["args"]["card"] = "[card]"
        return payload

    forkpoint.init(sink=tmp_path, redact=redact, instrument=False)
    record_refund()
    statuses = {event["event_type"]: event["redaction_status"] for event in events(tmp_path)}
    call = next(event for event in events(tmp_path) if event["event_type"] == "tool_called")
    assert call["payload"]["args"] == {"card": "[card]"}
    assert (statuses["tool_called"], statuses["tool_result"]) == ("redacted", "not_required")


def test_text_of_a_redacted_object_does_not_leave(tmp_path: Path) -> None:
    def redact(payload: dict[str, Any]) -> dict[str, Any]:
        if "result" in payload:
            payload["result"] = "[redacted]"
        return payload

    class Card:
        def __str__(self) -> str:
            return "card 4242"

    forkpoint.init(sink=tmp_path, redact=redact, instrument=False)
    with forkpoint.recorder.run("pay"), forkpoint.recorder.tool("read_card", {}) as step:
        step.output = Card()
    [result] = [event["payload"] for event in events(tmp_path) if event["event_type"] == "tool_result"]
    assert (result["result"], result["output_form"]) == ("[redacted]", {"type": "opaque"})


@pytest.mark.parametrize("answer", [None, "text", ValueError])
def test_failing_redaction_blocks_payload(tmp_path: Path, answer: Any) -> None:
    def redact(payload: dict[str, Any]) -> Any:
        if answer is ValueError:
            raise ValueError("4111")
        return answer

    forkpoint.init(app="desk", sink=tmp_path, redact=redact, instrument=False)
    record_refund()
    recorded = events(tmp_path)
    assert {event["redaction_status"] for event in recorded} == {"blocked"}
    assert "4111" not in json.dumps(recorded)
    call = next(event for event in recorded if event["event_type"] == "tool_called")
    assert call["payload"] == {"tool_name": "pay", "call_id": "c1"}


def test_second_configuration_replaces_writer(tmp_path: Path) -> None:
    forkpoint.init(sink=tmp_path / "first", instrument=False)
    record_refund()
    assert recorder._writer is not None
    replaced_writer = weakref.ref(recorder._writer)
    forkpoint.init(sink=tmp_path / "second", instrument=False)
    record_refund()

    def is_freed() -> bool:
        gc.collect()
        return replaced_writer() is None

    wait_until(is_freed, 20)
    assert [len(events(tmp_path / name)) for name in ("first", "second")] == [6, 6]


_FORK = """
import os, sys, forkpoint
forkpoint.init(sink=sys.argv[1], instrument=False)
with forkpoint.recorder.run("parent"):
    pid = os.fork()
    with forkpoint.recorder.tool("in both", {}):
        pass
    if pid == 0:
        with forkpoint.recorder.run("child"):
            forkpoint.recorder.output("x").record()
if pid:
    os.waitpid(pid, 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_forked_process_records_runs_of_its_own(tmp_path: Path) -> None:
    environment = {**os.environ, "FORKPOINT_TRACES": ""}
    subprocess.run([sys.executable, "-c", _FORK, str(tmp_path)], check=True, timeout=60, env=environment)
    runs: dict[str, list[str]] = {}
    for event in events(tmp_path):
        runs.setdefault(event["run_id"], []).append(event["event_type"])
    assert sorted(runs.values()) == sorted(
        [
            ["run_started", "tool_called", "tool_result", "run_completed"],
            ["run_started", "final_output", "run_completed"],
        ]
    )
