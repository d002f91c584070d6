"""Lists take as many queries for many rows as for few."""

from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from diffing import services as diffing
from diffing.models import Evidence
from replay.execution import runner, task_names
from replay.experiments import services as experiments
from replay.models import (
    Attempt,
    Bisection,
    BisectionProbe,
    Experiment,
    ExperimentRow,
    HookOutcome,
    LangfuseExport,
    Proof,
    ReplaySession,
    Trial,
)
from replay.sessions import prepare, services
from replay.tool_review import services as tool_review_services
from tests.support.queues import capture_tasks
from tests.support.recordings import order_run
from traces.call_index import ignore_lists
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.models import Run
from traces.runs.services import record
from traces.signatures.ignore_rules import IgnoreRule

pytestmark = pytest.mark.django_db(transaction=True)
# Address, and where in the answer its rows are.
LISTS: Final = (
    ("runs", "runs"),
    ("runs/facets", "apps"),
    ("runs/{source}", "derived"),
    ("runs/{source}/tree", "runs"),
    ("runs/{source}/judgements", "judgements"),
    ("runs/{source}/exports", "exports"),
    ("replays", "sessions"),
    ("replays?run={source}", "sessions"),
    ("replays/{session}/attempts", "attempts"),
    ("replays/{session}/hooks", "outcomes"),
    ("experiments", "experiments"),
    ("experiments/{experiment}", "results"),
    ("bisections", "bisections"),
    ("bisections/{bisection}", "results"),
    ("diffs", "diffs"),
    ("diffs/{diff}/shares", "shares"),
    ("diffs/{diff}/proofs", "proofs"),
    ("profiles", "profiles"),
    ("policies", "policies"),
    ("ignore-lists", "lists"),
    ("tools", "tools"),
    ("trials", "trials"),
)
WHAT_IF: Final = {"match": {"type": "tool"}, "tool": {"output": "none"}}


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Run:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE, task_names.SIGN_CALLS, task_names.PROVE)
    return Run.objects.get(id=record(order_run()).run_id)


@pytest.fixture
def places(source: Run) -> dict[str, str]:
    """What the addresses name; each of them has one row at first."""
    session = fork(source, 0)
    experiment, bisection = experiment_on(source), bisection_of(source)
    report = diffing.diff(base_id=source.id, candidate_id=session.run_id or source.id)
    named = {"source": source, "session": session, "experiment": experiment, "bisection": bisection, "diff": report}
    return {name: str(one.pk) for name, one in named.items()}


def experiment_on(source: Run) -> Experiment:
    values = [{"name": "other", "overrides": [WHAT_IF]}]
    asked: Any = {"run": str(source.id), "axes": [{"name": "answer", "values": values}], "policy": {"order": "reuse"}}
    return experiments.start(experiments.parse(asked))


def bisection_of(source: Run) -> Bisection:
    forks = [[2, "model", "chat", None]]
    request = {"checks": [{"kind": "contains", "text": "shipped"}]}
    return Bisection.objects.create(run=source, request=request, forks=forks, recorded=[])


def fork(source: Run, number: int) -> ReplaySession:
    """A replay that has ended, of changes that no other one makes."""
    body: Any = {"run": str(source.id), "overrides": {"overrides": [{**WHAT_IF, "tool": {"output": f"no {number}"}}]}}
    session = services.launch(prepare.parse(body))
    runner.execute(session.id)
    runner.compare(session.id)
    session.refresh_from_db()
    return session


def other(number: int) -> RecordedRun:
    """A run of another app that is offered a tool of its own, and calls it."""
    tool = f"tool_{number}"
    offered = RecordedStep(
        key="model",
        type=StepType.MODEL,
        name="chat",
        input={"messages": [], "tools": [{"name": tool}]},
    )
    called = RecordedStep(key="tool", type=StepType.TOOL, name=tool, tool_name=tool, input={}, output=number)
    return replace(order_run(f"other-{number}", app=f"app-{number}"), steps=(offered, called))


def more(client: Client, source: Run, places: dict[str, str], numbers: range) -> None:
    """Another row in every list for each of the numbers."""
    session, experiment = places["session"], places["experiment"]
    for at in numbers:
        record(other(at))
        experiment_on(source)
        bisection_of(source)
        mine = fork(source, at)
        Attempt.objects.create(session_id=session, sequence_no=at, attempt=1, kind="model", started_at=timezone.now())
        HookOutcome.objects.create(session_id=session, sequence_no=at, event="turn_end", decision={"action": "stop"})
        place = {"place": 0, "changed": False, "session": mine}
        BisectionProbe.objects.create(bisection_id=places["bisection"], number=at, sample=at, **place)
        kept = {"experiment_id": experiment, "cell": 1, "session": fork(source, -at)}
        ExperimentRow.objects.create(number=100 + at, sample=at, seq=at, **kept)
        note = {"kind": "note", "text": f"seen {at}"}
        client.post(f"/api/v1/runs/{source.id}/judgements", note, content_type="application/json")
        LangfuseExport.objects.create(run=source, target="gone")
        Proof.objects.create(diff_id=places["diff"], request={}, worked_at=timezone.now())
        Trial.objects.create(kind="tool", name="get_order", input={}, executor="http", confirmed=True, by="ada")
        Evidence.objects.create(
            diff_id=mine.diff_id or UUID(int=0),
            question="answer",
            verdict="single",
            confidence="high",
            body={},
            conclusion="It did.",
            created_at=timezone.now(),
        )
        diffing.share(diff_id=UUID(places["diff"]))
        ignore_lists.set_rules(app=f"app-{at}", rules=[IgnoreRule(type="tool", pointer=f"/{at}")], by="ada")
        tool_review_services.decide({f"tool_{at}": True}, author="ada")
        for kind, body in (
            ("profile", {"profile": {"overrides": [{**WHAT_IF, "tool": {"output": at}}]}}),
            ("policie", {"policy": {"max_turns": at}}),
        ):
            client.post(f"/api/v1/{kind}s", {"name": f"n-{at}", **body}, content_type="application/json")


def test_no_list_takes_more_queries_for_more_rows(client: Client, source: Run, places: dict[str, str]) -> None:
    def counted() -> dict[str, tuple[int, int]]:
        """By address: how many rows it lists, and in how many queries."""
        found = {}
        for address, rows in LISTS:
            with CaptureQueriesContext(connection) as made:
                answer = client.get("/api/v1/" + address.format(**places))
            assert answer.status_code == 200, (address, answer.content)
            found[address] = (len(answer.json()[rows]), len(made))
        return found

    more(client, source, places, range(1, 2))
    few = counted()
    more(client, source, places, range(2, 5))
    many = counted()
    assert [address for address in few if many[address][0] <= few[address][0]] == []
    assert {address: few[address][1] for address in few} == {address: many[address][1] for address in few}
