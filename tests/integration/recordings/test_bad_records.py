"""Records that contradict others or are damaged: each run is shown with all of its other records."""

from typing import Any

import orjson
import pytest
from django.test import Client

from tests.support.arriving_events import beginning, ending, event, lines
from tests.support.arriving_spans import TRACE, model, request, root, tool
from tests.support.assembler_time import let_pass
from traces.models import Run

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
LANGFUSE, LANGSMITH = "/api/public/ingestion", "/langsmith/runs/batch"


def _post(path: str, body: Any) -> Any:
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    return Client().post(path, data, content_type="application/json")


def _run() -> Run:
    """Return the only run, sealed."""
    let_pass(1)
    let_pass(1_000)
    run = Run.objects.get()
    assert run.sealed_at is not None
    return run


def _names(run: Run) -> list[str]:
    return list(run.steps.order_by("sequence_no").values_list("name", flat=True))


@pytest.mark.parametrize(
    ("type", "payload", "reason"),
    [
        ("step_started", {}, "step_started needs `type`"),
        ("step_started", {"type": None}, "the step has no type"),
        ("model_called", {"model_id": "m", "token_usage": {"input_tokens": -5}}, "/payload/token_usage"),
        ("model_called", {"model_id": "m", "token_usage": {"input_tokens": "x"}}, "/payload/token_usage"),
        ("tool_called", {"tool_name": "t", "started_at": "zzz"}, "“zzz” is not a time"),
    ],
)
def test_bad_event_is_rejected_and_the_others_are_shown(type: str, payload: dict[str, Any], reason: str) -> None:
    bad = {**event("a", 2, type, "bad"), "payload": payload}
    receipt = _post("/api/v1/events", lines([*beginning("a"), bad, *ending("a")])).json()
    assert (receipt["accepted"], len(receipt["rejected"])) == (4, 1)
    assert reason in receipt["rejected"][0]["reason"]
    assert _names(_run()) == ["m1", "output"]


@pytest.mark.parametrize(
    ("parents", "roots"), [({"x": "nowhere"}, ["x"]), ({"x": "x"}, ["x"]), ({"x": "y", "y": "z", "z": "x"}, ["x"])]
)
def test_events_without_a_valid_parent_are_shown(parents: dict[str, str], roots: list[str]) -> None:
    bad = [
        {**event("a", 10 + number, "tool_called", step, tool_name=step), "parent_step_id": parent}
        for number, (step, parent) in enumerate(parents.items())
    ]
    _post("/api/v1/events", lines([*beginning("a"), *bad, event("a", 20, "run_completed")]))
    run = _run()
    assert sorted(_names(run)) == sorted(["m1", *parents])
    own_roots = run.steps.filter(type="tool", parent_no__isnull=True)
    assert [step.external_id for step in own_roots] == roots


def test_result_without_its_call_is_shown_with_the_problem() -> None:
    _post("/api/v1/events", lines([*beginning("a"), event("a", 2, "tool_result", "b", result=1), *ending("a")]))
    run = _run()
    assert _names(run) == ["m1", "tool", "output"]
    assert "has no tool_called before it" in run.metadata["recording_problem"]
    for path in (f"runs/{run.id}", "runs"):
        content = Client().get(f"/api/v1/{path}").json()
        assert content.get("runs", [content])[0]["problem"] == run.metadata["recording_problem"]


def test_spans_in_a_cycle_are_shown() -> None:
    cycle = [
        {**tool(), "spanId": id * 16, "parentSpanId": parent * 16, "name": id} for id, parent in ("ab", "ba", "cc")
    ]
    assert _post("/v1/traces", request(root(), model(), *cycle)).json() == {}
    run = _run()
    assert (run.external_id, run.step_count, run.status) == (TRACE, 5, "completed")


def _langfuse(type: str, **body: Any) -> dict[str, Any]:
    return {"id": f"{type}-{body['id']}", "type": type, "timestamp": "2026-03-01T10:00:00Z", "body": body}


def test_langfuse_trace_with_a_bad_time_is_rejected_and_its_observations_are_shown() -> None:
    times = {"startTime": "2026-03-01T10:00:00Z", "endTime": "2026-03-01T10:00:01Z"}
    batch = [
        _langfuse("trace-create", id="t", name="order", timestamp="yesterday"),
        _langfuse("span-create", id="a", traceId="t", name="look", **times),
        _langfuse("span-create", id="b", traceId="t", name="self", parentObservationId="b", **times),
    ]
    response = _post(LANGFUSE, {"batch": batch})
    assert [item["id"] for item in response.json()["errors"]] == ["trace-create-t"]
    assert sorted(_names(_run())) == ["look", "self"]


def test_langsmith_run_that_is_its_own_parent_is_shown() -> None:
    ids = [f"5b8efff7-9803-4103-a269-b633813fc60{digit}" for digit in "123"]
    times = {"start_time": "2026-03-01T10:00:00Z", "end_time": "2026-03-01T10:00:01Z"}
    runs = [
        {"id": id, "trace_id": ids[0], "name": name, "run_type": "tool", "outputs": {"a": 1}, **times}
        for id, name in zip(ids, ("root", "child", "self"), strict=True)
    ]
    runs[1]["parent_run_id"], runs[2]["parent_run_id"] = ids[0], ids[2]
    assert _post(LANGSMITH, {"post": runs}).status_code == 202
    assert sorted(_names(_run())) == ["child", "root", "self"]
