"""Calibration: two recordings of the same work, and the fields that signatures ignore from then on."""

from typing import Any

import pytest
from django.test import Client

from replay import tasks
from replay.execution import runner, task_names
from replay.sessions import prepare, queries, services
from tests.support.queues import capture_tasks
from tests.support.replay_runs import Reply, ToolCall, order_desk
from traces.call_index import ignore_lists
from traces.models import Run, Step
from traces.runs.services import open_run, record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
FIRST_ID, SECOND_ID, THIRD_ID = (f"{n}b6e1c1e-5d3f-4e0a-9a51-7b0f7a1d2c3e" for n in range(3))


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)
    capture_tasks(monkeypatch, task_names.SIGN_CALLS, callback=lambda task, list_id: tasks.sign_calls(list_id))


def desk(name: str, request_id: str, *, order: str = "A-1", answer: str = "on its way") -> Run:
    """A question about an order; every call has a different request id."""
    asks = ToolCall("get_order", {"order_id": order, "request_id": request_id}, {"status": answer})
    run = order_desk([("Where is my order?", (asks, Reply(f"It is {answer}.")))], external_id=name)
    return Run.objects.get(id=record(run).run_id)


def post(client: Client, path: str, body: Any = None) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json")


def calibrate(client: Client, *runs: Run) -> Any:
    answer = post(client, "/calibrations", {"base": str(runs[0].id), "candidate": str(runs[1].id)})
    assert answer.status_code == 201, answer.json()
    return answer.json()


def accept(client: Client, *runs: Run) -> Any:
    calibration = calibrate(client, *runs)
    places = [at for at, proposal in enumerate(calibration["proposals"]) if proposal["recommended"]]
    return post(client, f"/calibrations/{calibration['id']}/accept", {"proposals": places}).json()


def test_meaningless_differences_are_proposed_with_evidence(client: Client) -> None:
    calibration = calibrate(client, desk("a", FIRST_ID), desk("b", SECOND_ID))
    pointers = {
        (proposal["rule"]["type"], proposal["rule"]["pointer"]): proposal for proposal in calibration["proposals"]
    }
    tool = pointers["tool", "/request_id"]
    assert (tool["kind"], tool["pairs"], tool["unifies"], tool["recommended"]) == ("uuid", 1, 1, True)
    assert tool["examples"] == [{"base": FIRST_ID, "candidate": SECOND_ID}]
    assert ("model", "/messages/*/tool_calls/*/arguments/request_id") in pointers
    assert {pair["base"] for pair in calibration["unified"]} == {4, 5}
    assert client.get(f"/api/v1/calibrations/{calibration['id']}").json() == calibration


def test_calibrations_are_listed_applied_and_deleted(client: Client) -> None:
    runs = desk("a", FIRST_ID), desk("b", SECOND_ID)
    calibration = calibrate(client, *runs)
    (summary,) = client.get("/api/v1/calibrations").json()["calibrations"]
    assert (summary["app"], summary["base"], summary["candidate_name"]) == ("desk", str(runs[0].id), runs[1].name)
    assert summary["fields"] == [proposal["rule"] for proposal in calibration["proposals"]]
    assert (summary["gain"], summary["collisions"], summary["ignored_count"]) == (2, 0, 0)
    post(client, f"/calibrations/{calibration['id']}/accept", {"proposals": summary["recommendations"]})
    (summary,) = client.get("/api/v1/calibrations").json()["calibrations"]
    assert (summary["ignored_count"], summary["recommendations"]) == (len(calibration["proposals"]), [])
    path = f"/api/v1/calibrations/{calibration['id']}"
    assert [client.delete(path).status_code for _ in range(2)] == [204, 404]
    assert client.get("/api/v1/calibrations").json() == {"calibrations": []}
    (current,) = client.get("/api/v1/ignore-lists").json()["lists"]
    assert current["rules"] != []


def test_unsealed_run_is_refused(client: Client) -> None:
    unsealed_run = open_run(name="open", app="desk", source_run=None)
    answer = post(client, "/calibrations", {"base": str(desk("a", FIRST_ID).id), "candidate": str(unsealed_run.id)})
    assert (answer.status_code, answer.json()["code"]) == (409, "source_not_sealed")
    assert answer.json()["where"] == "/candidate"


def test_unexamined_steps_are_counted(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.calibration.services._MOST_PAIRS", 1)
    monkeypatch.setattr("replay.calibration.services._MOST_CALLS", 1)
    calibration = calibrate(client, desk("a", FIRST_ID), desk("b", SECOND_ID))
    assert (calibration["differing"], calibration["left_out"], calibration["unchecked"]) == (2, 1, 1)


def test_same_runs_give_the_same_calibration(client: Client) -> None:
    runs = desk("a", FIRST_ID), desk("b", SECOND_ID)
    assert calibrate(client, *runs)["id"] == calibrate(client, *runs)["id"]


def test_accepted_list_applies_to_all_recordings(client: Client) -> None:
    first, second = desk("a", FIRST_ID), desk("b", SECOND_ID)
    before = list(Step.objects.values())
    version = accept(client, first, second)
    [ignore_list] = client.get("/api/v1/ignore-lists").json()["lists"]
    assert (version["version"], version["app"], ignore_list["ready_at"] is not None) == (1, "desk", True)
    assert list(Step.objects.values()) == before  # a sealed run never changes
    third = desk("c", THIRD_ID)
    row = ignore_lists.active("desk")
    assert row is not None
    ignore_lists.sign(row)
    signatures = [Step.objects.get(run=run, sequence_no=4).signature for run in (first, second, third)]
    assert len(set(signatures)) == 3
    assert len(set(ignore_lists.reduced_signatures(row, signatures).values())) == 1


def test_call_equal_under_the_list_is_cached(client: Client) -> None:
    first, second = desk("a", FIRST_ID), desk("b", SECOND_ID)
    accept(client, first, second)
    model_output = {
        "tool_calls": [{"id": "n1", "name": "get_order", "arguments": {"order_id": "A-1", "request_id": THIRD_ID}}]
    }
    body: Any = {"run": str(first.id), "overrides": {"overrides": [{"match": {"step": 3}, "output": model_output}]}}
    session = services.launch(prepare.parse(body))
    runner.execute(session.id)
    view = queries.session_view(session.id)
    step = Step.objects.get(run_id=str(view.run), sequence_no=4)
    assert (step.label, step.reason) == ("exact", "source_output_reused")
    assert (step.detail["signature"], step.detail["ignore_list"]) == ("sig:v1", 1)
    assert "tool get_order: /request_id" in step.detail["ignored"]


def test_different_order_is_another_call(client: Client) -> None:
    first, second = desk("a", FIRST_ID), desk("b", SECOND_ID)
    desk("c", THIRD_ID, order="A-2", answer="lost")
    accept(client, first, second)
    model_output = {
        "tool_calls": [{"id": "n1", "name": "get_order", "arguments": {"order_id": "A-2", "request_id": FIRST_ID}}]
    }
    body: Any = {"run": str(first.id), "overrides": {"overrides": [{"match": {"step": 3}, "output": model_output}]}}
    session = services.launch(prepare.parse(body))
    runner.execute(session.id)
    view = queries.session_view(session.id)
    step = Step.objects.get(run_id=str(view.run), sequence_no=4)
    assert (step.label, step.reason) == ("cached", "cache_hit_signature_match")  # of the third run, whose id differs


def test_diff_ignores_the_same_fields(client: Client) -> None:
    first, second = desk("a", FIRST_ID), desk("b", SECOND_ID)
    body = {"base": str(first.id), "candidate": str(second.id)}
    before = post(client, "/diffs", body).json()
    accept(client, first, second)
    after = post(client, "/diffs", body).json()
    assert before["id"] != after["id"]
    changed = [pair["changes"] for pair in before["pairs"] if pair["base"] and pair["base"]["sequence_no"] == 4]
    assert "input" in changed[0]
    assert not any("input" in pair["changes"] for pair in after["pairs"] if pair["base"]["type"] in {"tool", "model"})
    assert after["scores"]["tool_accuracy"] == 1.0


def test_diff_shows_only_other_differences(client: Client) -> None:
    first, second = desk("a", FIRST_ID), desk("b", SECOND_ID)
    accept(client, first, second)
    third = desk("c", THIRD_ID, order="A-2", answer="lost")
    report = post(client, "/diffs", {"base": str(first.id), "candidate": str(third.id)}).json()
    arguments = [item for item in report["sections"]["tool"]["items"] if item["kind"] == "arguments"]
    assert [[change["path"] for change in item["values"]] for item in arguments] == [["/order_id"]]


def test_accepted_list_can_be_withdrawn(client: Client) -> None:
    accept(client, desk("a", FIRST_ID), desk("b", SECOND_ID))
    empty_list = post(client, "/ignore-lists", {"app": "desk", "rules": []}).json()
    assert (empty_list["version"], ignore_lists.active("desk")) == (2, None)
    assert [ignore_list["version"] for ignore_list in client.get("/api/v1/ignore-lists?app=desk").json()["lists"]] == [
        2,
        1,
    ]


def test_invalid_calibration_is_refused_with_its_place(client: Client) -> None:
    first, second = desk("a", FIRST_ID), desk("b", SECOND_ID)
    calibration = calibrate(client, first, second)
    for path, body, pointer in (
        ("/calibrations", {"base": str(first.id), "candidate": str(first.id)}, "/candidate"),
        (f"/calibrations/{calibration['id']}/accept", {"proposals": [99]}, "/proposals/0"),
        ("/ignore-lists", {"app": "desk", "rules": [{"type": "tool", "pointer": ""}]}, "/rules/0/pointer"),
        ("/ignore-lists", {"app": "desk", "rules": [{"type": "agent", "pointer": "/x"}]}, "/rules/0/type"),
    ):
        answer = post(client, path, body)
        assert (answer.status_code, answer.json()["where"]) == (422, pointer)
