"""Secrets in arriving records: no byte of them is stored, not even in the records as they arrived."""

from collections.abc import Callable, Iterable
from typing import Any

import orjson
import pytest
import zstandard
from django.test import Client

from tests.support.arriving_events import beginning, ending, event, lines
from tests.support.arriving_spans import model, protobuf, request, root, span
from traces.models import Recording, Run, Segment
from traces.recordings import assembler
from traces.redaction.secrets import secret_detector

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
SECRET = "AKIA" + "QYLPMN5HGTRXWZ2B"


def _records() -> Iterable[bytes]:
    for data in Segment.objects.values_list("data", flat=True):
        yield zstandard.ZstdDecompressor().decompress(bytes(data))


def _assemble() -> Run:
    Recording.objects.update(due_at="2026-01-01T00:00:00Z", refresh_at=None)
    assembler.work()
    return Run.objects.get()


def _spans() -> bytes:
    return request(root(), model(), span("eee19b7ec3c1b177", "login", parent="eee19b7ec3c1b174", input__value=SECRET))


@pytest.mark.parametrize("encode", [bytes, protobuf], ids=["json", "protobuf"])
def test_secret_in_a_span_is_not_stored(encode: Callable[[bytes], bytes]) -> None:
    media_type = "application/json" if encode is bytes else "application/x-protobuf"
    assert Client().post("/v1/traces", encode(_spans()), content_type=media_type).status_code == 200
    assert all(SECRET.encode() not in data and b"[redacted:" in data for data in _records())
    run = _assemble()
    assert run.step_count == 3
    assert run.metadata["redaction"]["status"] == "redacted"


def test_secret_in_an_event_is_not_stored() -> None:
    call = event("r", 2, "tool_called", "login", tool_name="login", args={"key": SECRET})
    body = lines([*beginning("r"), call, *ending("r")])
    Client().post("/api/v1/events", body, content_type="application/x-ndjson")
    assert all(SECRET.encode() not in data for data in _records())
    assert _assemble().step_count == 3


def test_equal_secrets_have_equal_markers_in_records_and_runs() -> None:
    for run in ("a", "b"):
        call = event(run, 2, "tool_called", "login", tool_name="login", args={"key": SECRET})
        Client().post("/api/v1/events", lines([*beginning(run), call]), content_type="application/x-ndjson")
    markers = {_marker(data) for data in _records()}
    assert len(markers) == 1


def _marker(data: bytes) -> str:
    (call,) = [record for line in data.splitlines() if (record := orjson.loads(line))["event_type"] == "tool_called"]
    return str(call["payload"]["args"]["key"])


def test_records_without_secrets_are_stored_as_they_arrived() -> None:
    body = lines(beginning("r"))
    Client().post("/api/v1/events", body, content_type="application/x-ndjson")
    assert list(_records()) == [body]


def test_batch_with_a_secret_that_arrives_twice_is_stored_once() -> None:
    for _ in range(2):
        Client().post("/v1/traces", _spans(), content_type="application/json")
    assert Segment.objects.count() == 1


def test_failing_detector_blocks_what_it_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> bool:
        raise RuntimeError("broken detector")

    monkeypatch.setattr(type(secret_detector()), "suspects", fail)
    Client().post("/v1/traces", _spans(), content_type="application/json")
    assert all(b"redaction-failed" in data and SECRET.encode() not in data for data in _records())
