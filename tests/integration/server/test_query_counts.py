"""The query count of a list does not depend on its number of rows."""

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
    Calibration,
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
from traces.core.vocabulary import ShareKind, StepType
from traces.models import Run
from traces.runs.services import record
from traces.sharing.links import Subject, create_link
from traces.sharing.schemas import ShareRequest
from traces.signatures.ignore_rules import IgnoreRule

pytestmark = pytest.mark.django_db(transaction=True)
# Path, and the response's field with the rows.
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
    ("calibrations", "calibrations"),
    ("ignore-lists", "lists"),
    ("tools", "tools"),
    ("usage", "tools"),
    ("trials", "trials"),
)
WHAT_IF: Final = {"match": {"type": "tool"}, "tool": {"output": "none"}}


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Run:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE, task_names.SIGN_CALLS, task_names.PROVE)
    return Run.objects.get(id=record(order_run()).run_id)


@pytest.fixture
def ids(source: Run) -> dict[str, str]:
    """Return the ids used in the paths. Each list has one row at first."""
    session = fork(source, 0)
    experiment, bisection = experiment_on(source), bisection_of(source)
    report = diffing.diff(base_id=source.id, candidate_id=session.run_id or source.id)
    calibration_with(source, session)
    objects = {"source": source, "session": session, "experiment": experiment, "bisection": bisection, "diff": report}
    return {name: str(value.pk) for name, value in objects.items()}


def experiment_on(source: Run) -> Experiment:
    values = [{"name": "other", "overrides": [WHAT_IF]}]
    request: Any = {"run": str(source.id), "axes": [{"name": "answer", "values": values}], "policy": {"order": "reuse"}}
    return experiments.start(experiments.parse(request))


def bisection_of(source: Run) -> Bisection:
    forks = [[2, "model", "chat", None]]
    request = {"checks": [{"kind": "contains", "text": "shipped"}]}
    return Bisection.objects.create(run=source, request=request, forks=forks, recorded=[])


def calibration_with(source: Run, session: ReplaySession) -> Calibration:
    return Calibration.objects.create(
        base=source, candidate_id=session.run_id or source.id, found={"proposals": [], "unified": []}
    )


def fork(source: Run, number: int) -> ReplaySession:
    """Run a replay with changes that no other one has."""
    body: Any = {"run": str(source.id), "overrides": {"overrides": [{**WHAT_IF, "tool": {"output": f"no {number}"}}]}}
    session = services.launch(prepare.parse(body))
    runner.execute(session.id)
    runner.compare(session.id)
    session.refresh_from_db()
    return session


def other_run(number: int) -> RecordedRun:
    """Build a run of another app that calls its own tool."""
    tool = f"tool_{number}"
    model_step = RecordedStep(
        key="model",
        type=StepType.MODEL,
        name="chat",
        input={"messages": [], "tools": [{"name": tool}]},
    )
    tool_step = RecordedStep(key="tool", type=StepType.TOOL, name=tool, tool_name=tool, input={}, output=number)
    return replace(order_run(f"other-{number}", app=f"app-{number}"), steps=(model_step, tool_step))


def add_rows(client: Client, source: Run, ids: dict[str, str], numbers: range) -> None:
    """Add a row to every list for each number."""
    session, experiment = ids["session"], ids["experiment"]
    for number in numbers:
        record(other_run(number))
        experiment_on(source)
        bisection_of(source)
        own_fork = fork(source, number)
        calibration_with(source, own_fork)
        Attempt.objects.create(
            session_id=session, sequence_no=number, attempt=1, kind="model", started_at=timezone.now()
        )
        HookOutcome.objects.create(
            session_id=session, sequence_no=number, event="turn_end", decision={"action": "stop"}
        )
        probe_fields = {"place": 0, "changed": False, "session": own_fork}
        BisectionProbe.objects.create(bisection_id=ids["bisection"], number=number, sample=number, **probe_fields)
        row_fields = {"experiment_id": experiment, "cell": 1, "session": fork(source, -number)}
        ExperimentRow.objects.create(number=100 + number, sample=number, seq=number, **row_fields)
        note = {"kind": "note", "text": f"seen {number}"}
        client.post(f"/api/v1/runs/{source.id}/judgements", note, content_type="application/json")
        LangfuseExport.objects.create(run=source, target="gone")
        Proof.objects.create(diff_id=ids["diff"], request={}, worked_at=timezone.now())
        Trial.objects.create(kind="tool", name="get_order", input={}, executor="http", confirmed=True, by="ada")
        Evidence.objects.create(
            diff_id=own_fork.diff_id or UUID(int=0),
            question="answer",
            verdict="single",
            confidence="high",
            body={},
            conclusion="It did.",
            created_at=timezone.now(),
        )
        create_link(Subject(ShareKind.DIFF, UUID(ids["diff"]), source.id), ShareRequest())
        ignore_lists.set_rules(app=f"app-{number}", rules=[IgnoreRule(type="tool", pointer=f"/{number}")], by="ada")
        tool_review_services.decide({f"tool_{number}": True}, author="ada")
        for kind, body in (
            ("profile", {"profile": {"overrides": [{**WHAT_IF, "tool": {"output": number}}]}}),
            ("policie", {"policy": {"max_turns": number}}),
        ):
            client.post(f"/api/v1/{kind}s", {"name": f"n-{number}", **body}, content_type="application/json")


def test_query_counts_do_not_grow_with_rows(client: Client, source: Run, ids: dict[str, str]) -> None:
    def count_queries() -> dict[str, tuple[int, int]]:
        """Return the number of rows and queries by path."""
        counts = {}
        for address, rows in LISTS:
            with CaptureQueriesContext(connection) as queries:
                answer = client.get("/api/v1/" + address.format(**ids))
            assert answer.status_code == 200, (address, answer.content)
            counts[address] = (len(answer.json()[rows]), len(queries))
        return counts

    add_rows(client, source, ids, range(1, 2))
    counts_before = count_queries()
    add_rows(client, source, ids, range(2, 5))
    many = count_queries()
    assert [address for address in counts_before if many[address][0] <= counts_before[address][0]] == []
    assert {address: counts_before[address][1] for address in counts_before} == {
        address: many[address][1] for address in counts_before
    }
