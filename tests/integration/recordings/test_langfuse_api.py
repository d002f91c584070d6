"""Endpoints of Langfuse clients: ingestion events, scores, and what else the SDKs ask."""

from contextlib import ExitStack
from typing import Any

import orjson
import pytest
from django.test import Client

from tests.support.arriving_spans import TRACE, model, request, root
from tests.support.assembler_time import let_pass
from traces.collectors.back_pressure import slot
from traces.core.vocabulary import JudgementKind, RunStatus
from traces.models import Judgement, Recording, Run, Segment

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
_START = "2026-03-01T10:00:{:02d}.000Z"
Event = dict[str, Any]


def _event(type: str, second: int, **body: Any) -> Event:
    return {"id": f"{type}-{second}", "type": type, "timestamp": _START.format(second), "body": body}


def _beginning() -> list[Event]:
    """A trace, and a generation that has not been answered."""
    messages = [{"role": "user", "content": "Where is my order?"}]
    return [
        _event("trace-create", 0, id="t1", name="desk", timestamp=_START.format(0)),
        _event(
            "generation-create",
            1,
            id="g1",
            traceId="t1",
            name="ask",
            startTime=_START.format(1),
            model="m1",
            modelParameters={"temperature": "0.2"},
            input={"messages": messages},
        ),
    ]


def _answer() -> Event:
    message = {"role": "assistant", "content": "It is on its way."}
    usage = {"input": 12, "output": 5, "total": 17, "unit": "TOKENS"}
    return _event("generation-update", 3, id="g1", traceId="t1", output=message, usage=usage, endTime=_START.format(3))


def _score(**fields: Any) -> Event:
    return {"id": "s1", "traceId": "t1", "name": "helpful", "value": 0.5, **fields}


def _post(content: Any, path: str = "ingestion") -> tuple[int, Any]:
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    response = Client().post(f"/api/public/{path}", body, content_type="application/json")
    return response.status_code, orjson.loads(response.content)


def _send(*events: Event) -> Any:
    status, receipt = _post({"batch": list(events), "metadata": {"sdk_name": "python"}})
    assert status == 207
    return receipt


def _scores(run: Run) -> list[tuple[str, float | None, int | None]]:
    rows = Judgement.objects.filter(run=run, withdrawn_at__isnull=True).order_by("name", "created_at")
    return list(rows.values_list("name", "value", "step_no"))


def test_events_update_each_other_until_the_trace_has_ended() -> None:
    assert _send(*_beginning()) == {
        "successes": [{"id": "trace-create-0", "status": 201}, {"id": "generation-create-1", "status": 201}],
        "errors": [],
    }
    let_pass(10)
    run = Run.objects.get()
    assert (run.external_id, run.app, run.status, run.sealed_at) == ("t1", "desk", RunStatus.RUNNING, None)
    _send(_answer())
    let_pass(1)
    step = Run.objects.get().steps.get(external_id="g1")
    assert (step.summary, step.tokens_in, step.tokens_out) == ("It is on its way.", 12, 5)
    let_pass(10)
    run.refresh_from_db()
    assert (run.status, run.sealed_at is None) == (RunStatus.COMPLETED, False)


def test_observation_that_opens_later_keeps_the_run_open() -> None:
    _send(*_beginning(), _answer())
    let_pass(1)
    _send(_event("span-create", 4, id="s1", traceId="t1", name="tool", startTime=_START.format(4)))
    let_pass(60)
    assert Run.objects.get().sealed_at is None
    let_pass(900)
    assert Run.objects.get().status == RunStatus.PARTIAL


def test_batch_that_arrives_twice_is_stored_once() -> None:
    for _ in range(2):
        _send(*_beginning(), _answer())
        let_pass(10)
    assert (Segment.objects.count(), Run.objects.count()) == (1, 1)


@pytest.mark.parametrize("order", ["before", "while", "after"])
def test_score_ends_at_the_run_of_its_trace(order: str) -> None:
    """The trace arrives as spans over OTLP; the score names it by the hexadecimal id."""
    spans = request(root(), model())
    score = _score(traceId=TRACE)
    for name, content in {"before": score, "spans": spans, "while": score, "seal": None, "after": score}.items():
        if name == "spans":
            Client().post("/api/public/otel/v1/traces", content, content_type="application/json")
        elif name == order:
            assert _post([content], "scores") == (202, {"message": "Accepted"})
        let_pass(10 if name in ("seal", "after") else 1)
    run = Run.objects.get()
    assert (run.revision, run.sealed_at is None, _scores(run)) == (1, False, [("helpful", 0.5, None)])


def test_score_of_a_partial_run_adds_no_revision() -> None:
    _send(*_beginning())
    let_pass(1000)
    _send(_event("score-create", 9, **_score()))
    let_pass(1)
    assert [(run.revision, run.status) for run in Run.objects.all()] == [(1, RunStatus.PARTIAL)]
    assert _scores(Run.objects.get()) == [("helpful", 0.5, None)]


def test_score_of_an_observation_judges_its_step() -> None:
    _send(*_beginning(), _answer())
    let_pass(10)
    _post(_score(observationId="g1"), "scores")
    let_pass(10)
    assert _scores(Run.objects.get()) == [("helpful", 0.5, 2)]


def test_score_of_an_imported_run_is_added_to_it() -> None:
    _send(*_beginning(), _answer())
    let_pass(10)
    Recording.objects.all().delete()
    _post(_score(), "scores")
    let_pass(10)
    assert _scores(Run.objects.get()) == [("helpful", 0.5, None)]


def test_score_with_the_same_id_replaces_the_earlier_one() -> None:
    _send(*_beginning(), _answer())
    _post(_score(), "scores")
    let_pass(10)
    _post(_score(value=0.9), "scores")
    let_pass(10)
    assert _scores(Run.objects.get()) == [("helpful", 0.9, None)]
    assert Judgement.objects.filter(withdrawn_at__isnull=False).count() == 1


def test_score_without_an_id_gets_one() -> None:
    status, receipt = _post({"traceId": "t1", "name": "polite", "value": "yes", "dataType": "CATEGORICAL"}, "scores")
    assert (status, len(receipt["id"])) == (200, 36)
    _send(*_beginning(), _answer())
    let_pass(10)
    judgement = Judgement.objects.get()
    assert (judgement.kind, judgement.text) == (JudgementKind.NOTE, "yes")


def test_score_keeps_what_it_states_beside_its_value() -> None:
    _send(*_beginning(), _answer())
    more = {"metadata": {"judge": "m2", "rubric": [1]}, "configId": "c1", "queueId": "q1"}
    _post(_score(**more, dataType="CATEGORICAL", value="good", environment="staging"), "scores")
    _post(_score(id="s2", name="plain", dataType="NUMERIC", environment="default", metadata=None), "scores")
    let_pass(10)
    details = dict(Judgement.objects.values_list("name", "detail"))
    assert details == {"helpful": {**more, "dataType": "CATEGORICAL", "environment": "staging"}, "plain": None}
    listing = Client().get("/api/v1/runs/t1/judgements").json()
    assert [item["detail"] for item in listing["judgements"]] == [details["helpful"], {}]


def test_secret_in_a_score_is_redacted() -> None:
    _send(*_beginning(), _answer())
    _post(_score(metadata={"key": "ghp_" + "a1B2" * 9}), "scores")
    let_pass(10)
    assert str(Judgement.objects.get().detail).startswith("{'metadata': {'key': '[redacted:")


@pytest.mark.parametrize(
    ("fields", "reason"), [({"name": ""}, "a name"), ({"value": None}, "a value"), ({"value": ""}, "a value")]
)
def test_incomplete_score_is_rejected(fields: Event, reason: str) -> None:
    status, problem = _post(_score(**fields), "scores")
    assert (status, reason in problem["message"]) == (400, True)
    receipt = _send(*_beginning(), _event("score-create", 5, **_score(**fields)))
    assert [(item["id"], item["status"]) for item in receipt["errors"]] == [("score-create-5", 400)]
    assert _post([_score(**fields), _score(id="s2")], "scores")[1]["rejected"] == 1


def test_deleted_score_is_withdrawn() -> None:
    _send(*_beginning(), _answer())
    _post(_score(), "scores")
    let_pass(10)
    assert Client().delete("/api/public/scores/s1").status_code == 202
    let_pass(10)
    assert (_scores(Run.objects.get()), Run.objects.get().revision) == ([], 1)
    assert Client().delete("/api/public/scores/unknown").status_code == 404


def test_bad_events_are_named_and_the_others_stored() -> None:
    no_trace = _event("score-create", 5, id="s", name="helpful", value=1, sessionId="x")
    unknown = _event("dataset-run-item-create", 6, id="d")
    no_id = _event("span-create", 7, traceId="t1")
    bad_time = _event("span-create", 8, id="s9", traceId="t1", startTime="yesterday")
    receipt = _send(*_beginning(), no_trace, unknown, no_id, bad_time, _answer())
    assert [item["id"] for item in receipt["successes"]] == [
        "trace-create-0",
        "generation-create-1",
        "generation-update-3",
    ]
    assert [(item["id"], item["status"]) for item in receipt["errors"]] == [
        ("score-create-5", 400),
        ("dataset-run-item-create-6", 400),
        ("span-create-7", 400),
        ("span-create-8", 400),
    ]
    assert "only scores of traces" in receipt["errors"][0]["error"]
    let_pass(10)
    assert Run.objects.get().step_count == 2


def test_number_that_is_not_json_rejects_only_its_event() -> None:
    body = orjson.dumps({"batch": [*_beginning(), _event("span-create", 4, id="x", traceId="t1", input="@")]})
    status, receipt = _post(body.replace(b'"@"', b"NaN"))
    assert (status, len(receipt["successes"]), receipt["errors"][0]["id"]) == (207, 2, "span-create-4")


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"batch": 1}', b""])
def test_malformed_batch_is_refused(body: bytes) -> None:
    status, problem = _post(body)
    assert (status, problem["error"]) == (400, "InvalidRequestError")
    assert not Segment.objects.exists()


def test_list_of_scores_with_a_bad_one_stores_the_others() -> None:
    status, results = _post([_score(), _score(id="s2", traceId=None)], "scores")
    assert (status, results["accepted"], results["rejected"]) == (207, 1, 1)
    assert "only scores of traces" in results["errors"][0]["message"]
    assert Segment.objects.count() == 1


def test_single_bad_score_is_refused() -> None:
    assert _post(_score(traceId=""), "scores")[0] == 400
    assert _post([1], "scores")[0] == 207


def test_too_large_body_is_refused(settings: Any) -> None:
    settings.MAX_BODY_BYTES = 100
    status, problem = _post({"batch": _beginning()})
    assert (status, problem["error"]) == (413, "PayloadTooLargeError")


def test_clients_find_the_server_and_their_project() -> None:
    health = Client().get("/api/public/health")
    assert (health.status_code, health.json()["status"]) == (200, "OK")
    assert Client().get("/api/public/projects").json()["data"][0]["name"] == "Forkpoint"


@pytest.mark.parametrize("path", ["v2/prompts/greeting?version=1", "datasets/x", "traces/t1"])
def test_what_is_not_there_is_missing_in_the_shape_of_langfuse(path: str) -> None:
    response = Client().get(f"/api/public/{path}")
    assert (response.status_code, response.json()["error"]) == (404, "LangfuseNotFoundError")


@pytest.mark.parametrize(
    ("path", "body"),
    [("api/public/ingestion", b'{"batch": []}'), ("langsmith/runs/batch", b"{}"), ("api/public/scores", b"[]")],
)
def test_overload_asks_the_client_to_send_again(path: str, body: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(slot())
        response = Client().post(f"/{path}", body, content_type="application/json")
    assert (response.status_code, response["Retry-After"]) == (503, "1")


def test_link_of_the_client_leads_to_the_run() -> None:
    response = Client().get("/project/forkpoint/traces/t1")
    assert (response.status_code, response["Location"]) == (302, "/runs/t1")
