"""The endpoints that record runs event by event."""

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import orjson
import pytest
import zstandard
from django.test import Client

from tests.support import assembler_time
from tests.support.arriving_events import answer, beginning, ending, event, lines
from traces.models import Recording, Run, Segment
from traces.recordings import assembler

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
NDJSON = "application/x-ndjson"


def _start(body: dict[str, Any], **headers: str) -> tuple[int, dict[str, Any]]:
    return _post(orjson.dumps(body), path="runs", **headers)


def _post(body: bytes, path: str = "events", **headers: str) -> tuple[int, dict[str, Any]]:
    response = Client().post(f"/api/v1/{path}", body, content_type=NDJSON, headers=headers)
    return response.status_code, orjson.loads(response.content) if response.content else {}


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
    ],
)
def test_events_in_any_encoding_are_stored(encoding: str, encode: object) -> None:
    assert callable(encode)
    body = encode(lines([*beginning("a"), *beginning("b")]))
    assert _post(body, **{"Content-Encoding": encoding}) == (200, {"accepted": 4, "rejected": []})
    assert set(Recording.objects.values_list("external_id", flat=True)) == {"a", "b"}


def test_bad_events_are_named_and_the_others_stored() -> None:
    good, other = beginning("a")
    body = lines([good, {**other, "event_type": "dance"}, {**other, "run_id": ""}]) + b"{broken\n" + lines([other])
    status, receipt = _post(body)
    assert (status, receipt["accepted"]) == (200, 2)
    rejected = receipt["rejected"]
    assert isinstance(rejected, list)
    assert [item["line"] for item in rejected] == [2, 3, 4]
    assert "“dance” is not an event type" in rejected[0]["reason"]


def test_events_of_another_run_are_rejected() -> None:
    _, receipt = _post(lines([*beginning("a"), *beginning("b")]), path="runs/a/events")
    assert receipt["accepted"] == 2
    assert list(Recording.objects.values_list("external_id", flat=True)) == ["a"]


def test_run_is_started_and_recorded_event_by_event() -> None:
    status, run = _start({"app": "shop", "name": "refund", "tags": ["night"], "input": "Where is my order?"})
    assert (status, run["accepted"], run["rejected"]) == (201, 0, [])
    for item in [*beginning(run["id"])[1:], *answer(run["id"]), *ending(run["id"])]:
        assert _post(orjson.dumps({**item, "run_id": None}), path=f"runs/{run['id']}/events")[1]["accepted"] == 1
    assert _post(b"", path=f"runs/{run['id']}/finalize")[0] == 204
    assembler.work()
    stored = Run.objects.get()
    assert (stored.external_id, stored.app, stored.name, stored.tags) == (run["id"], "shop", "refund", ["night"])
    assert stored.metadata["input"] == "Where is my order?"
    assert (stored.status, stored.sealed_at is None) == ("completed", False)


def test_run_is_started_with_its_first_events() -> None:
    status, run = _start({"id": "a", "app_id": "desk", "events": [*beginning("a"), {"event_type": "dance"}]})
    assert (status, run["id"], run["accepted"]) == (201, "a", 2)
    assert [item["line"] for item in run["rejected"]] == [3]
    assembler_time.let_pass(1)
    # What the client itself says about the run holds.
    assert (Run.objects.get().name, Run.objects.get().step_count) == ("order status", 1)


def test_repeated_start_makes_one_run() -> None:
    first = _start({"app": "shop"}, **{"Idempotency-Key": "k"})[1]["id"]
    assert _start({"app": "shop"}, **{"Idempotency-Key": "k"})[1]["id"] == first
    assert _start({"app": "other"}, **{"Idempotency-Key": "k"})[0] == 409
    assert _start({"app": "shop"})[1]["id"] != first


@pytest.mark.parametrize("body", [b"[]", b'{"id": "a/b"}', b'{"id": ""}', b'{"tags": 5}', b'{"dance": 1}'])
def test_start_of_a_run_that_cannot_be_read_is_an_error(body: bytes) -> None:
    assert _post(body, path="runs")[0] == 422
    assert _post(b"{", path="runs")[0] == 400
    assert _post(b'{"input": 1%s}' % (b"0" * 30), path="runs")[0] == 400


@pytest.mark.parametrize("path", ["events", "runs/a/events"])
def test_events_may_be_one_document(path: str) -> None:
    events = beginning("a")
    for document in (events, {"events": events}):
        for options in (0, orjson.OPT_INDENT_2):
            assert _post(orjson.dumps(document, option=options), path=path)[1] == {"accepted": 2, "rejected": []}
    assert _post(orjson.dumps(events[0], option=orjson.OPT_INDENT_2), path=path)[1]["accepted"] == 1
    assembler_time.let_pass(1)
    assert Run.objects.get().step_count == 1


def test_bad_event_of_a_list_is_named_by_its_place() -> None:
    first, second = beginning("a")
    body = json.dumps([first, {**second, "payload": {"model_id": "m", "temperature": float("nan")}}, 5, second])
    receipt = _post(body.encode())[1]
    assert receipt["accepted"] == 2
    assert [item["line"] for item in receipt["rejected"]] == [2, 3]


@pytest.mark.parametrize("body", [b"hello", b"{broken\n{broken\n", b'"text"', b"[1, 2"])
def test_body_without_any_event_is_an_error(body: bytes) -> None:
    status, problem = _post(body)
    assert (status, problem["code"]) == (400, "validation_error")


def _reasons(receipt: dict[str, Any]) -> list[tuple[int, str]]:
    return [(item["line"], item["reason"]) for item in receipt["rejected"]]


@pytest.mark.parametrize("is_one_request", [True, False])
def test_different_event_with_the_same_number_is_rejected_and_both_are_named(is_one_request: bool) -> None:
    call, other = (
        event("a", 1, "tool_called", "s1", tool_name="look"),
        event("a", 1, "model_called", "s2", model_id="m"),
    )
    if is_one_request:
        _, receipt = _post(lines([call, other, event("a", 2, "run_completed")]))
    else:
        assert _post(lines([call]))[1]["accepted"] == 1
        _, receipt = _post(lines([event("a", 2, "run_completed"), other, call]))
    ((line, reason),) = _reasons(receipt)
    assert (receipt["accepted"], line) == (2, 2)
    assert "event 1 of run “a” is tool_called of step “s1”" in reason
    assert "model_called of step “s2”, has the same number" in reason
    assembler_time.let_pass(10)
    assert [step.type for step in Run.objects.get().steps.all()] == ["tool"]
    assert "recording_problem" not in Run.objects.get().metadata


def test_only_contradicting_events_of_a_run_are_a_conflict() -> None:
    call, other = (event("a", 1, "tool_called", "s1", tool_name=name) for name in ("look", "buy"))
    assert _post(lines([call]), path="runs/a/events")[0] == 200
    before = Recording.objects.get()
    status, problem = _post(lines([other]), path="runs/a/events")
    assert (status, problem["code"]) == (409, "conflict")
    assert "event 1 of run “a” is tool_called of step “s1”" in problem["detail"]
    assert _post(lines([call]), path="runs/a/events") == (200, {"accepted": 1, "rejected": []})
    # The SDK would send a conflict again and again.
    assert _post(lines([other]))[0] == 200
    assert (Recording.objects.get().version, Segment.objects.count()) == (before.version, 1)


def test_repeated_events_with_secrets_are_no_conflict() -> None:
    call = event("a", 1, "tool_called", "s1", tool_name="look", args={"key": "AKIAIOSFODNN7EXAMPL3"})
    for events in ([call], [call, event("a", 2, "run_completed")]):
        assert _post(lines(events))[1] == {"accepted": len(events), "rejected": []}


def test_run_is_started_once() -> None:
    assert [_start({"id": "a", "app": "shop"})[0] for _ in range(2)] == [201, 201]
    status, problem = _start({"id": "a", "app": "desk", "events": beginning("a")})
    assert (status, problem["code"]) == (409, "conflict")
    assert Segment.objects.count() == 1


@pytest.mark.parametrize(
    ("type", "field"),
    [
        ("model_called", "model_id"),
        ("model_result", "response"),
        ("tool_called", "tool_name"),
        ("tool_result", "result"),
        ("step_started", "type"),
        ("input_received", "input"),
        ("retrieval_executed", "query"),
        ("prompt_rendered", "rendered_prompt"),
        ("validator_decision", "decision"),
        ("safety_decision", "decision"),
        ("final_output", "output"),
    ],
)
def test_event_without_what_its_type_needs_is_rejected(type: str, field: str) -> None:
    whole = {**event("a", 1, type, "s1"), "payload": {field: "x"}}
    damages: list[dict[str, Any]] = [
        {"payload": {}},
        {"timestamp_utc": None},
        {"sequence_no": 2**63},
        {"run_id": "r" * 201},
    ]
    for damage in damages:
        receipt = _post(lines([whole | damage]))[1]
        assert (receipt["accepted"], len(receipt["rejected"])) == (0, 1)
    assert f"needs `{field}`" in _reasons(_post(lines([{**whole, "payload": {}}]))[1])[0][1]
    # Redaction of the client may remove what is needed.
    assert _post(lines([{**whole, "payload": {}, "redaction_status": "blocked"}]))[1]["accepted"] == 1
    assert _post(lines([{**whole, "sequence_no": 2}]))[1]["accepted"] == 1


@pytest.mark.parametrize("header", ["X-Forkpoint-App", "x-project-name"])
def test_header_names_the_app(header: str) -> None:
    _post(lines([*beginning("a"), *answer("a")]), **{header: "shop"})
    assert _post(b"", path="runs/a/finalize", **{header: "shop"})[0] == 204
    while assembler.work():
        pass
    assert Run.objects.get().app == "shop"


def test_finalize_seals_a_run() -> None:
    _post(lines([*beginning("a"), *answer("a"), *ending("a")]))
    assert _post(b"", path="runs/a/finalize")[0] == 204
    assembler.work()
    assert Run.objects.get().sealed_at is not None


def test_finalizing_an_unknown_run_is_an_error() -> None:
    status, problem = _post(b"", path="runs/a/finalize")
    assert (status, problem["code"]) == (404, "not_found")


def test_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = gzip.compress(bytes(200 * 1024 * 1024), compresslevel=1)
    status, problem = _post(bomb, **{"Content-Encoding": "gzip"})
    assert (status, problem["code"]) == (413, "payload_too_large")
    assert not Segment.objects.exists()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_broken_encoding_is_an_error(encoding: str) -> None:
    status, problem = _post(b"not compressed", **{"Content-Encoding": encoding})
    assert (status, problem["code"]) == (400, "validation_error")
    assert encoding in str(problem["detail"])


@pytest.mark.parametrize(
    ("encoding", "encode"), [("gzip", gzip.compress), ("zstd", zstandard.ZstdCompressor().compress)]
)
def test_truncated_body_is_an_error(encoding: str, encode: Callable[[bytes], bytes]) -> None:
    status, problem = _post(encode(lines(beginning("a")) * 100)[:-12], **{"Content-Encoding": encoding})
    assert status == 400
    assert "ends too early" in str(problem["detail"])


def test_body_of_several_zstd_frames_is_read_whole() -> None:
    compress = zstandard.ZstdCompressor().compress
    body = compress(lines(beginning("a"))) + compress(lines(beginning("b")))
    assert _post(body, **{"Content-Encoding": "zstd"})[1]["accepted"] == 4


def test_zstd_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(200 * 1024 * 1024))
    assert _post(bomb, **{"Content-Encoding": "zstd"})[0] == 413


def test_unknown_encoding_is_an_error() -> None:
    status, problem = _post(b"", **{"Content-Encoding": "br"})
    assert (status, "“br” is unknown" in str(problem["detail"])) == (415, True)
