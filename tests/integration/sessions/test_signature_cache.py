"""Exact cache: a call is answered by an equal call of any sealed run of the app."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from forkpoint.vocabulary import MCP_SERVER
from replay.proofs.probes import recorded_answers
from replay.proofs.probes.recorded_answers import Recordings, Signatures
from replay.store import call_cache
from traces.core.vocabulary import Label, Reason, RunStatus, StepStatus, StepType
from traces.ingest.step_rows import StepRow
from traces.models import Artifact, Step
from traces.runs import services
from traces.signatures.call_signatures import signature
from traces.storage import artifacts

pytestmark = pytest.mark.django_db
ARGUMENTS: Any = {"order_id": "A-1"}
CALL = signature(type=StepType.TOOL, name="get_order", input=ARGUMENTS)


def record_answer(
    output: Any = "shipped",
    *,
    app: str = "desk",
    label: Label = Label.LIVE,
    reason: Reason | str = "",
    status: StepStatus = StepStatus.OK,
    is_sealed: bool = True,
    server: str = "",
) -> Step:
    """Record the call and its answer in a separate run."""
    run = services.open_run(name="desk", app=app)
    row = StepRow(
        sequence_no=1,
        type=StepType.TOOL,
        name="get_order",
        status=status,
        label=label,
        reason=reason,
        signature=CALL,
        input_ref=artifacts.save(ARGUMENTS, run_id=run.id),
        output_ref=artifacts.save(output, run_id=run.id),
        attributes_ref=artifacts.save({MCP_SERVER: server}, run_id=run.id) if server else "",
    )
    services.append_steps(run.id, [row])
    if is_sealed:
        services.seal_run(run.id, RunStatus.COMPLETED)
    return Step.objects.get(run=run)


def record_other_calls(count: int) -> None:
    """Record a run with calls of the same tool that have other arguments."""
    run = services.open_run(name="desk", app="desk")
    calls = (signature(type=StepType.TOOL, name="get_order", input=number) for number in range(count))
    rows = [
        StepRow(sequence_no=number, type=StepType.TOOL, name="get_order", label=Label.LIVE, signature=call)
        for number, call in enumerate(calls, 1)
    ]
    services.append_steps(run.id, rows)
    services.seal_run(run.id, RunStatus.COMPLETED)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (Label.LIVE, ""),
        (Label.SIMULATED, Reason.LIVE_TOOL),
        (Label.SIMULATED, Reason.LIVE_MODEL),
        (Label.SIMULATED, Reason.LIVE_RETRIEVAL),
    ],
)
def test_real_answers_are_reused(label: Label, reason: Reason) -> None:
    step = record_answer(label=label, reason=reason)
    hit = call_cache.lookup("desk", CALL)
    assert hit is not None
    assert (hit.output, hit.location["run"], hit.location["step"]) == ("shipped", str(step.run_id), 1)
    assert call_cache.lookup("desk", CALL, exclude=[step.id]) is None


def test_tool_of_another_mcp_server_gives_no_answer() -> None:
    source = record_answer("of the desk", server="desk").run
    record_answer("of the branch", server="branch")
    of_source = call_cache.lookup("desk", CALL, source=source.id)
    of_server = call_cache.lookup("desk", CALL, server={MCP_SERVER: "desk"})
    newest = call_cache.lookup("desk", CALL)
    assert [hit and hit.output for hit in (of_source, of_server, newest)] == ["of the desk"] * 2 + ["of the branch"]


def test_proof_takes_no_answer_of_another_mcp_server() -> None:
    source, other = record_answer(server="desk").run.id, record_answer(server="branch").run.id
    same = record_answer(server="desk").run.id
    recordings = Recordings(signatures=Signatures("desk", 0))
    coupling = recorded_answers.coupling([source, other, same], source=source, fork=1, load=recordings, counterparts={})
    assert [bool(recording[CALL]) for recording in coupling.recordings] == [True, False, True]


@pytest.mark.parametrize(
    "reason",
    [
        Reason.OPERATOR_OVERRIDE,
        Reason.POLICY_FALLBACK,
        Reason.SIDE_EFFECT_BLOCKED,
        Reason.DENIED,
        Reason.STOPPED,
        Reason.DUPLICATE_SUPPRESSED,
    ],
)
def test_simulated_outputs_are_never_reused(reason: Reason) -> None:
    record_answer(label=Label.SIMULATED, reason=reason)
    assert call_cache.lookup("desk", CALL) is None


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (Label.EXACT, Reason.SOURCE_OUTPUT_REUSED),
        (Label.CACHED, Reason.CACHE_SIGNATURE),
        (Label.CACHED, Reason.CACHE_SEMANTIC),
    ],
)
def test_copied_outputs_are_never_reused(label: Label, reason: Reason) -> None:
    record_answer(label=label, reason=reason)
    assert call_cache.lookup("desk", CALL) is None


@pytest.mark.parametrize(
    "options", [{"app": "shop"}, {"is_sealed": False}, {"status": StepStatus.ERROR}, {"status": StepStatus.DENIED}]
)
def test_other_apps_and_open_runs_do_not_answer(options: Any) -> None:
    record_answer(**options)
    assert call_cache.lookup("desk", CALL) is None


def test_newest_readable_answer_wins() -> None:
    record_answer("older")
    record_answer("newer")
    lost_run = record_answer("lost")
    with services.retention():
        Artifact.objects.filter(sha256=lost_run.output_ref).delete()
    hit = call_cache.lookup("desk", CALL)
    assert hit is not None
    assert hit.output == "newer"


def test_lookups_use_the_index_without_copies() -> None:
    record_other_calls(2_000)
    record_answer()
    with CaptureQueriesContext(connection) as queries:
        assert call_cache.lookup("desk", CALL) is not None
        assert call_cache.is_any_recorded([CALL])
    lookups = [query["sql"] for query in queries if '"traces_step"' in query["sql"] and CALL in query["sql"]]
    assert len(lookups) == 3
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Else it depends on what ran before whether the plan is for empty tables.
            cursor.execute("ANALYZE traces_step, traces_run")
            # In a table of a few rows it scans the table, or the primary key in the order asked for.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_indexscan = off")
        for lookup in lookups:
            cursor.execute(f"EXPLAIN {'QUERY PLAN ' if connection.vendor == 'sqlite' else ''}{lookup}")
            assert "step_signature" in str(cursor.fetchall())
