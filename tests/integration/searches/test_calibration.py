"""Two recordings of the same work, and what signatures leave out from then on."""

from typing import Any

import pytest
from django.test import Client

from replay import tasks
from replay.execution import runner, task_names
from replay.sessions import prepare, queries, services
from tests.support.queues import held
from tests.support.replay_runs import Asks, Says, order_desk
from traces.call_index import ignore_lists
from traces.models import Run, Step
from traces.runs.services import open_run, record

pytestmark = pytest.mark.django_db(transaction=True)
ONE, TWO, THREE = (f"{n}b6e1c1e-5d3f-4e0a-9a51-7b0f7a1d2c3e" for n in range(3))


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    held(monkeypatch, task_names.EXECUTE, task_names.COMPARE)
    held(monkeypatch, task_names.SIGN_CALLS, into=lambda task, list_id: tasks.sign_calls(list_id))


def desk(name: str, request_id: str, *, order: str = "A-1", answer: str = "on its way") -> Run:
    """Somebody asks about an order, and every call has an id of its own."""
    asks = Asks("get_order", {"order_id": order, "request_id": request_id}, {"status": answer})
    run = order_desk([("Where is my order?", (asks, Says(f"It is {answer}.")))], external_id=name)
    return Run.objects.get(id=record(run).run_id)


def post(client: Client, path: str, body: Any = None) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json")


def calibrated(client: Client, *runs: Run) -> Any:
    answer = post(client, "/calibrations", {"base": str(runs[0].id), "candidate": str(runs[1].id)})
    assert answer.status_code == 201, answer.json()
    return answer.json()


def accepted(client: Client, *runs: Run) -> Any:
    found = calibrated(client, *runs)
    places = [at for at, each in enumerate(found["proposals"]) if each["recommended"]]
    return post(client, f"/calibrations/{found['id']}/accept", {"proposals": places}).json()


def test_what_differs_without_meaning_is_proposed_with_its_evidence(client: Client) -> None:
    found = calibrated(client, desk("a", ONE), desk("b", TWO))
    pointers = {(each["rule"]["type"], each["rule"]["pointer"]): each for each in found["proposals"]}
    tool = pointers["tool", "/request_id"]
    assert (tool["kind"], tool["pairs"], tool["unifies"], tool["recommended"]) == ("uuid", 1, 1, True)
    assert tool["examples"] == [{"base": ONE, "candidate": TWO}]
    assert ("model", "/messages/*/tool_calls/*/arguments/request_id") in pointers
    assert {pair["base"] for pair in found["unified"]} == {4, 5}
    assert client.get(f"/api/v1/calibrations/{found['id']}").json() == found


def test_a_run_that_is_still_recorded_is_refused(client: Client) -> None:
    still = open_run(name="open", app="desk", source_run=None)
    answer = post(client, "/calibrations", {"base": str(desk("a", ONE).id), "candidate": str(still.id)})
    assert (answer.status_code, answer.json()["code"]) == (409, "source_not_sealed")
    assert answer.json()["where"] == "/candidate"


def test_what_was_not_looked_at_is_counted(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.calibration.services._MOST_PAIRS", 1)
    monkeypatch.setattr("replay.calibration.services._MOST_CALLS", 1)
    found = calibrated(client, desk("a", ONE), desk("b", TWO))
    assert (found["differing"], found["left_out"], found["unchecked"]) == (2, 1, 1)


def test_the_same_two_runs_again_give_the_same_calibration(client: Client) -> None:
    runs = desk("a", ONE), desk("b", TWO)
    assert calibrated(client, *runs)["id"] == calibrated(client, *runs)["id"]


def test_an_accepted_list_holds_for_what_is_recorded_then_and_later(client: Client) -> None:
    first, second = desk("a", ONE), desk("b", TWO)
    before = list(Step.objects.values())
    made = accepted(client, first, second)
    [held] = client.get("/api/v1/ignore-lists").json()["lists"]
    assert (made["version"], made["app"], held["ready_at"] is not None) == (1, "desk", True)
    assert list(Step.objects.values()) == before  # a sealed run never changes
    third = desk("c", THREE)
    row = ignore_lists.active("desk")
    assert row is not None
    ignore_lists.sign(row)
    signatures = [Step.objects.get(run=run, sequence_no=4).signature for run in (first, second, third)]
    assert len(set(signatures)) == 3
    assert len(set(ignore_lists.reduced_signatures(row, signatures).values())) == 1


def test_a_call_that_differs_only_there_is_answered_from_the_cache_and_says_so(client: Client) -> None:
    first, second = desk("a", ONE), desk("b", TWO)
    accepted(client, first, second)
    asked = {"tool_calls": [{"id": "n1", "name": "get_order", "arguments": {"order_id": "A-1", "request_id": THREE}}]}
    body: Any = {"run": str(first.id), "overrides": {"overrides": [{"match": {"step": 3}, "output": asked}]}}
    session = services.launch(prepare.parse(body))
    runner.execute(session.id)
    view = queries.session_view(session.id)
    step = Step.objects.get(run_id=str(view.run), sequence_no=4)
    assert (step.label, step.reason) == ("exact", "source_output_reused")
    assert (step.detail["signature"], step.detail["ignore_list"]) == ("sig:v1", 1)
    assert "tool get_order: /request_id" in step.detail["ignored"]


def test_another_order_is_another_call(client: Client) -> None:
    first, second = desk("a", ONE), desk("b", TWO)
    desk("c", THREE, order="A-2", answer="lost")
    accepted(client, first, second)
    asked = {"tool_calls": [{"id": "n1", "name": "get_order", "arguments": {"order_id": "A-2", "request_id": ONE}}]}
    body: Any = {"run": str(first.id), "overrides": {"overrides": [{"match": {"step": 3}, "output": asked}]}}
    session = services.launch(prepare.parse(body))
    runner.execute(session.id)
    view = queries.session_view(session.id)
    step = Step.objects.get(run_id=str(view.run), sequence_no=4)
    assert (step.label, step.reason) == ("cached", "cache_hit_signature_match")  # of the third run, whose id differs


def test_a_diff_leaves_out_the_same(client: Client) -> None:
    first, second = desk("a", ONE), desk("b", TWO)
    asked = {"base": str(first.id), "candidate": str(second.id)}
    before = post(client, "/diffs", asked).json()
    accepted(client, first, second)
    after = post(client, "/diffs", asked).json()
    assert before["id"] != after["id"]
    changed = [pair["changes"] for pair in before["pairs"] if pair["base"] and pair["base"]["sequence_no"] == 4]
    assert "input" in changed[0]
    assert not any("input" in pair["changes"] for pair in after["pairs"] if pair["base"]["type"] in {"tool", "model"})
    assert after["scores"]["tool_accuracy"] == 1.0


def test_a_diff_of_calls_that_differ_otherwise_shows_only_that(client: Client) -> None:
    first, second = desk("a", ONE), desk("b", TWO)
    accepted(client, first, second)
    other = desk("c", THREE, order="A-2", answer="lost")
    report = post(client, "/diffs", {"base": str(first.id), "candidate": str(other.id)}).json()
    arguments = [item for item in report["sections"]["tool"]["items"] if item["kind"] == "arguments"]
    assert [[change["path"] for change in item["values"]] for item in arguments] == [["/order_id"]]


def test_a_list_can_be_taken_back(client: Client) -> None:
    accepted(client, desk("a", ONE), desk("b", TWO))
    emptied = post(client, "/ignore-lists", {"app": "desk", "rules": []}).json()
    assert (emptied["version"], ignore_lists.active("desk")) == (2, None)
    assert [each["version"] for each in client.get("/api/v1/ignore-lists?app=desk").json()["lists"]] == [2, 1]


def test_what_is_wrong_is_named(client: Client) -> None:
    first, second = desk("a", ONE), desk("b", TWO)
    found = calibrated(client, first, second)
    for path, body, where in (
        ("/calibrations", {"base": str(first.id), "candidate": str(first.id)}, "/candidate"),
        (f"/calibrations/{found['id']}/accept", {"proposals": [99]}, "/proposals/0"),
        ("/ignore-lists", {"app": "desk", "rules": [{"type": "tool", "pointer": ""}]}, "/rules/0/pointer"),
        ("/ignore-lists", {"app": "desk", "rules": [{"type": "agent", "pointer": "/x"}]}, "/rules/0/type"),
    ):
        answer = post(client, path, body)
        assert (answer.status_code, answer.json()["where"]) == (422, where)
