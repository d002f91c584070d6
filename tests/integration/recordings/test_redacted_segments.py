"""Records that arrive over the network: no stored byte of a segment or a run contains a secret."""

import base64
import json
from typing import Any

import pytest
import zstandard
from django.test import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.arriving_events import answer, beginning, ending, lines
from tests.support.arriving_spans import ROOT, protobuf, request, root, span
from tests.support.redactions import redaction, secrets
from traces.models import Recording, Run, Segment
from traces.recordings import arrivals, assembler
from traces.recordings.arrivals import NewSegment
from traces.recordings.segment_redaction import redact_data
from traces.redaction.markers import FAILURE_MARKER
from traces.redaction.policy import PolicyContent
from traces.redaction_policies import services as policies
from traces.storage import artifacts

pytestmark = pytest.mark.django_db
SECRET, PASSWORD = secrets()["GitHub"], "tiger-lily-pond"


@pytest.fixture(autouse=True)
def _at_once(settings: Any) -> None:
    """Seal a run as soon as its root has ended."""
    settings.QUIET_S = 0


def leaky_span() -> Any:
    arguments = json.dumps({"password": PASSWORD, "note": f"line\n{SECRET}"})
    return span(
        "00000000000000aa",
        f"login {SECRET}",
        parent=ROOT,
        second=2,
        openinference__span__kind="TOOL",
        tool__name="login",
        input__value=arguments,
        output__value=f"hello {PASSWORD}",
        db__password=PASSWORD,
        file=base64.b64encode(f"key {SECRET}".encode()).decode(),
    )


def seal_all() -> Run:
    Recording.objects.filter(due_at__isnull=False).update(due_at="2026-01-01T00:00:00Z", refresh_at=None)
    while assembler.work():
        Recording.objects.filter(due_at__isnull=False).update(due_at="2026-01-01T00:00:00Z")
    return Run.objects.order_by("-revision")[0]


def stored() -> str:
    parts = [zstandard.ZstdDecompressor().decompress(bytes(data)) for (data,) in Segment.objects.values_list("data")]
    parts += [item.data for item in artifacts.verify_all() if isinstance(item, artifacts.StoredBytes)]
    rows = [repr(list(table.objects.values())) for table in (Recording, Run)]
    return b"\n".join(parts).decode(errors="replace") + "".join(rows)


@pytest.mark.parametrize("is_protobuf", [False, True])
def test_otlp_is_redacted_when_it_arrives(is_protobuf: bool) -> None:
    body = request(root(), leaky_span())
    media_type = "application/x-protobuf" if is_protobuf else "application/json"
    for _ in range(2):
        response = Client().post("/v1/traces", protobuf(body) if is_protobuf else body, content_type=media_type)
        assert response.status_code == 200
    assert Segment.objects.count() == 1
    run = seal_all()
    assert run.step_count == 2
    assert SECRET not in stored()
    assert base64.b64encode(f"key {SECRET}".encode()).decode() not in stored()
    assert PASSWORD not in stored()
    assert "login [redacted:github-classic-token:" in stored()


def test_events_are_redacted_when_they_arrive() -> None:
    events = [*beginning("run-1"), *answer("run-1"), *ending("run-1")]
    events[1]["payload"]["request"]["messages"][0]["content"] = f"my key is {SECRET}"
    arrivals.accept([NewSegment(external_id="run-1", format="forkpoint", data=lines(events), has_ended=True)])
    assert seal_all().step_count
    assert SECRET not in stored()


def test_clean_records_keep_their_bytes() -> None:
    data = lines(beginning("run-1"))
    arrivals.accept([NewSegment(external_id="run-1", format="forkpoint", data=data)])
    ((stored_data,),) = Segment.objects.values_list("data")
    assert zstandard.ZstdDecompressor().decompress(bytes(stored_data)) == data


def test_segments_of_an_app_that_denies_fields_go_when_the_run_is_sealed() -> None:
    rule: Any = {"name": "question", "action": "drop", "path": "/input/messages/*/content"}
    policies.set_policy("desk", PolicyContent.model_validate({"rules": [rule]}), by="test")
    events = [*beginning("run-1"), *answer("run-1"), *ending("run-1")]
    arrivals.accept([NewSegment(external_id="run-1", format="forkpoint", data=lines(events), has_ended=True)])
    run = seal_all()
    assert run.sealed_at is not None
    assert not Segment.objects.exists()
    assert "Where is my order?" not in stored()


def test_size_of_a_file_counts_what_arrived() -> None:
    line = json.dumps({"type": "user", "text": SECRET}).encode() + b"\n"
    part = NewSegment(external_id="session", format="claude-code", data=line, file="a.jsonl")
    assert arrivals.append(part) == len(line)
    assert arrivals.file_size("session", "a.jsonl") == len(line)
    assert SECRET not in stored()


def test_escapes_of_json_hide_no_secret_in_a_segment() -> None:
    url = json.dumps({"url": f"postgres://desk:{PASSWORD}@db.example.com/desk"}).replace("/", "\\/")
    step = span("00000000000000aa", "query", parent=ROOT, second=2, openinference__span__kind="TOOL", input__value=url)
    Client().post("/v1/traces", protobuf(request(root(), step)), content_type="application/x-protobuf")
    seal_all()
    assert PASSWORD not in stored()


def test_bytes_of_a_span_are_redacted_in_a_segment() -> None:
    batch = ExportTraceServiceRequest()
    root_span = batch.resource_spans.add().scope_spans.add().spans.add(trace_id=b"t" * 16, span_id=b"s" * 8)
    root_span.attributes.add(key="file").value.bytes_value = b"\xff\x00 key " + SECRET.encode()
    data = redact_data(batch.SerializeToString(), redaction()).data
    redacted = ExportTraceServiceRequest.FromString(data).resource_spans[0].scope_spans[0].spans[0].attributes[0]
    assert redacted.value.bytes_value.startswith(b"\xff\x00 key [redacted:github-classic-token:")


def test_run_is_looked_at_again_under_detectors_that_have_not_seen_its_segments() -> None:
    policies.set_policy("", PolicyContent(secrets=False), by="test")
    Client().post("/v1/traces", request(root(), leaky_span()), content_type="application/json")
    assert list(Segment.objects.values_list("checks", flat=True)) == [""]
    policies.set_policy("", PolicyContent(secrets=True), by="test")
    run = seal_all()
    parts = b"".join(item.data for item in artifacts.verify_all() if isinstance(item, artifacts.StoredBytes))
    assert SECRET.encode() not in parts
    assert run.metadata["redaction"]["status"] == "redacted"


def test_blocked_value_of_a_client_blocks_the_run() -> None:
    events = [*beginning("run-1"), *answer("run-1"), *ending("run-1")]
    events[1]["payload"]["request"]["messages"][0]["content"] = FAILURE_MARKER
    arrivals.accept([NewSegment(external_id="run-1", format="forkpoint", data=lines(events), has_ended=True)])
    assert seal_all().metadata["redaction"]["status"] == "blocked"


def test_value_that_two_parts_of_a_file_share_is_found() -> None:
    line = json.dumps({"type": "user", "text": SECRET}).encode() + b"\n"
    middle = line.index(SECRET.encode()) + 12
    arrivals.append(NewSegment(external_id="s", format="claude-code", data=line[:middle], file="a.jsonl"))
    rest = NewSegment(external_id="s", format="claude-code", data=line[middle:], file="a.jsonl", offset=middle)
    arrivals.append(rest)
    assert list(Segment.objects.values_list("checks", flat=True)) == ["", ""]
