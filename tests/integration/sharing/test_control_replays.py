"""Control lanes of diffs, and the tree of a run and its forks."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from diffing.models import Lane
from diffing.schemas.report import DiffReport as Report
from replay import tasks
from replay.control_replays import attach as control_replays_attach
from replay.live import providers
from replay.models import ReplaySession
from tests.support.queues import capture_tasks
from tests.support.replay_runs import Reply, order_desk
from tests.support.servers.provider_server import Exchange, openai_chunk, provider_server
from traces.core.vocabulary import Label, Reason, RunStatus
from traces.models import Run
from traces.runs import services as traces
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
MODELS: dict[str, Any] = {"type": "model"}
TALK = [(f"question {turn}", (Reply(f"answer {turn}"),)) for turn in range(3)]
FIRST, SECOND, LAST = 3, 5, 7


def answers(exchange: Exchange) -> None:
    """Answer the second question differently; the model `other` answers all of them differently."""
    questions = sum(message["role"] == "user" for message in exchange.body["messages"])
    same = questions != 2 and exchange.body["model"] != "other"
    exchange.stream()
    text = f"answer {questions - 1}" if same else f"something else by {exchange.body['model']}"
    exchange.send(openai_chunk({"role": "assistant", "content": text}))
    exchange.send(openai_chunk(finish="stop", usage={"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}))
    exchange.send("[DONE]")


@pytest.fixture
def queue(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Any, str]]]:
    """The queued tasks, which the test runs itself."""
    pending_tasks: list[tuple[Any, str]] = []
    names = {task.name: task for task in (tasks.execute, tasks.compare)}
    capture_tasks(monkeypatch, *names, callback=lambda name, id: pending_tasks.append((names[name], id)))
    with provider_server(answers) as running:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{running.base_url}/v1"}}
        yield pending_tasks
        providers.close()


def post(client: Client, path: str, body: Any = None) -> Any:
    answer = client.post(f"/api/v1{path}", body or {}, content_type="application/json")
    assert answer.status_code < 300, answer.content
    return answer.json()


def work_off(pending_tasks: list[tuple[Any, str]]) -> None:
    while pending_tasks:
        task, id = pending_tasks.pop(0)
        task(id)


def run_fork(client: Client, queue: list[tuple[Any, str]], run: str, **body: Any) -> dict[str, Any]:
    """The session of a fork, after it ended and was compared."""
    session = post(client, "/replays", {"run": run, "fork_step": FIRST, **body})
    work_off(queue)
    replay: dict[str, Any] = client.get(f"/api/v1/replays/{session['id']}").json()
    assert replay["diff"], replay
    return replay


@pytest.fixture
def run(queue: list[tuple[Any, str]]) -> str:
    return str(record(order_desk(TALK)).run_id)


@pytest.fixture
def model_fork(client: Client, queue: list[tuple[Any, str]], run: str) -> dict[str, Any]:
    """A fork with another model."""
    change = {"overrides": [{"match": MODELS, "model": {"model": "other"}}]}
    return run_fork(client, queue, run, overrides=change)


class TestUnchangedReplay:
    def test_lane_shows_differences_of_replaying_alone(
        self, client: Client, queue: list[tuple[Any, str]], model_fork: dict[str, Any]
    ) -> None:
        path = f"/diffs/{model_fork['diff']}/unchanged"
        price = client.get(f"/api/v1{path}").json()
        assert (price["live_calls"], price["session"], price["attached"]) == (3, None, False)
        assert client.get(f"/api/v1/diffs/{model_fork['diff']}").json()["unchanged"] is None
        response = post(client, path)
        assert post(client, path)["session"]["id"] == response["session"]["id"]
        work_off(queue)
        assert client.get(f"/api/v1{path}").json()["attached"] is True
        report = Report.model_validate(client.get(f"/api/v1/diffs/{model_fork['diff']}").json())
        lane = report.unchanged
        assert lane is not None
        assert not lane.answer_differs
        alone = {step.base.sequence_no: step.without_changes for step in lane.steps if step.base.type == "model"}
        # The last request repeats the second answer, so it differs, too: its own answer does not.
        assert alone == {FIRST: "same", SECOND: "changed", LAST: "changed"}
        assert [step.changes for step in lane.steps if step.base.sequence_no == LAST] == [["input", "tokens"]]
        assert "were called live again, without the changes" in lane.how
        assert ReplaySession.objects.get(id=response["session"]["id"]).profile.profile == {"overrides": []}

    def test_lane_is_in_exported_files(
        self, client: Client, queue: list[tuple[Any, str]], model_fork: dict[str, Any]
    ) -> None:
        post(client, f"/diffs/{model_fork['diff']}/unchanged")
        work_off(queue)
        for form in ("md", "html"):
            text = client.get(f"/api/v1/diffs/{model_fork['diff']}", {"format": form}).content.decode()
            assert "Without the changes" in text
            assert "also without the changes" in text

    def test_fork_without_live_calls_has_empty_lane(
        self, client: Client, queue: list[tuple[Any, str]], run: str
    ) -> None:
        what_if = {
            "overrides": [{"match": {"step": LAST}, "output": {"message": {"role": "assistant", "content": "x"}}}]
        }
        session = run_fork(client, queue, run, overrides=what_if, fork_step=LAST)
        post(client, f"/diffs/{session['diff']}/unchanged")
        work_off(queue)
        lane = client.get(f"/api/v1/diffs/{session['diff']}").json()["unchanged"]
        assert lane["sentence"].endswith("replaying alone changes nothing.")
        assert "made no live calls" in lane["how"]

    def test_lane_is_attached_after_worker_crash(
        self, client: Client, queue: list[tuple[Any, str]], model_fork: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as broken:
            broken.setattr(control_replays_attach, "attach", lambda session: None)
            post(client, f"/diffs/{model_fork['diff']}/unchanged")
            work_off(queue)
        assert not Lane.objects.exists()
        assert control_replays_attach.attach_missed() == 1
        assert Lane.objects.count() == 1
        assert control_replays_attach.attach_missed() == 0

    def test_lane_is_immutable(self, client: Client, queue: list[tuple[Any, str]], model_fork: dict[str, Any]) -> None:
        post(client, f"/diffs/{model_fork['diff']}/unchanged")
        work_off(queue)
        for statement in ("UPDATE diffing_lane SET created_at = NULL", "DELETE FROM diffing_lane"):
            with pytest.raises(DatabaseError, match="a lane cannot"), transaction.atomic():
                connection.cursor().execute(statement)


class TestTree:
    def test_forks_appear_under_their_source_with_scores(
        self, client: Client, queue: list[tuple[Any, str]], run: str, model_fork: dict[str, Any]
    ) -> None:
        refork = run_fork(client, queue, model_fork["run"], policy={"order": "reexecute"})
        tree = client.get(f"/api/v1/runs/{model_fork['run']}/tree").json()
        assert (tree["root"], tree["asked"], tree["left_out"]) == (run, model_fork["run"], 0)
        assert [(node["id"], node["depth"], node["parent"]) for node in tree["runs"]] == [
            (run, 0, None),
            (model_fork["run"], 1, run),
            (refork["run"], 2, model_fork["run"]),
        ]
        root, fork, grandchild = tree["runs"]
        assert (root["origin"], root["ars"], root["change"]) == ("recorded", None, None)
        assert (fork["origin"], fork["change"]["text"], fork["diff"]) == ("fork", "m1 → other", model_fork["diff"])
        scores = client.get(f"/api/v1/diffs/{model_fork['diff']}").json()["scores"]
        names = ("ars", "output_similarity", "tool_accuracy")
        assert [fork[name] for name in names] == [scores[name] for name in names]
        assert (grandchild["session"], grandchild["latency_ms"] > 0) == (refork["id"], True)

    def test_fork_states_its_purpose(
        self, client: Client, queue: list[tuple[Any, str]], run: str, model_fork: dict[str, Any]
    ) -> None:
        values = [{"name": "another", "overrides": [{"match": MODELS, "model": {"model": "other"}}]}]
        body = {
            "run": run,
            "fork_step": FIRST,
            "axes": [{"name": "model", "values": values}],
            "name": "Try",
            "checks": [{"kind": "contains", "text": "something"}],
        }
        post(client, "/experiments", body)
        post(client, "/experiments", {**body, "name": ""})
        post(client, f"/diffs/{model_fork['diff']}/unchanged")
        work_off(queue)
        tree = client.get(f"/api/v1/runs/{run}/tree").json()["runs"]
        nodes = {node["origin"]: node for node in tree}
        names = {node["origin_name"] for node in tree if node["origin"] == "experiment"}
        assert names == {"Try: another, sample 1", "another, sample 1"}
        assert [check["passed"] for check in nodes["experiment"]["checks"]] == [True]
        assert nodes["unchanged"]["origin_id"] == model_fork["diff"]

    def test_query_count_does_not_grow_with_forks(self, client: Client, run: str) -> None:
        def count_queries() -> int:
            with CaptureQueriesContext(connection) as queries:
                assert client.get(f"/api/v1/runs/{run}/tree").status_code == 200
            return len(queries)

        source = Run.objects.get(id=run)
        self._fork(source, 2)
        few_queries = count_queries()
        self._fork(source, 198)
        assert count_queries() == few_queries
        assert len(client.get(f"/api/v1/runs/{run}/tree").json()["runs"]) == 201

    @staticmethod
    def _fork(source: Run, times: int) -> None:
        with transaction.atomic():
            for _ in range(times):
                fork = traces.open_run(name="fork", app=source.app, source_run=source, fork_sequence_no=1)
                traces.copy_steps(
                    source_run_id=source.id,
                    run_id=fork.id,
                    first=1,
                    last=2,
                    label=Label.EXACT,
                    reason=Reason.SOURCE_OUTPUT_REUSED,
                )
                traces.seal_run(fork.id, RunStatus.COMPLETED)

    def test_unknown_run_has_no_tree(self, client: Client) -> None:
        assert client.get(f"/api/v1/runs/{UUID(int=1)}/tree").status_code == 404


def test_lane_fits_the_published_schema(
    client: Client, queue: list[tuple[Any, str]], model_fork: dict[str, Any]
) -> None:
    import jsonschema_rs

    post(client, f"/diffs/{model_fork['diff']}/unchanged")
    work_off(queue)
    schema = json.loads(client.get("/api/v1/schemas/diff-report.json").content)
    jsonschema_rs.validate(schema, client.get(f"/api/v1/diffs/{model_fork['diff']}").json())
