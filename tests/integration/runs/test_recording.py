"""Recording: atomic, idempotent, sealed and compact."""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
import pytest
from django.db import connection
from pytest_django import DjangoCaptureOnCommitCallbacks

from tests.support.recordings import conversation, order_run
from traces import notify
from traces.core.canonical import MAX_DEPTH
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.errors import InvalidRecording
from traces.models import Artifact, Run, RunTag, Step
from traces.runs import queries, services
from traces.runs.steps.full_steps import full_steps
from traces.storage import artifacts as artifact_store

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def _stored_run(run: RecordedRun) -> Run:
    return Run.objects.get(id=services.record(run).run_id)


def _with_step(index: int, **changes: Any) -> RecordedRun:
    run = order_run()
    steps = list(run.steps)
    steps[index] = replace(steps[index], **changes)
    return replace(run, steps=tuple(steps))


def test_run_is_sealed_with_totals() -> None:
    run = _stored_run(order_run())
    assert run.sealed_at is not None
    assert (run.step_count, run.error_count, run.tokens_in, run.tokens_out) == (5, 0, 110, 23)
    assert run.cost_usd == Decimal("0.003")
    assert run.duration_ms == 5_000
    assert list(RunTag.objects.values_list("tag", flat=True).order_by("tag")) == ["first line", "orders"]


def test_steps_have_recorded_fields() -> None:
    recorded_step = order_run()
    run = _stored_run(recorded_step)
    steps = queries.steps(run.id)
    assert [step.external_id for step in steps] == [step.key for step in recorded_step.steps]
    assert [step.parent_no for step in steps] == [None, 1, 1, 1, 1]
    values = artifact_store.payloads(ref for step in steps for ref in (step.input_ref, step.output_ref))
    for step, output in zip(steps, recorded_step.steps, strict=True):
        assert (values.get(step.input_ref), values.get(step.output_ref)) == (output.input, output.output)


def test_full_steps_have_all_fields() -> None:
    more: dict[str, Any] = {"call_id": "call_" + "x" * 5000, "attributes": {"tags": ["slow"], "shelf": 4}}
    run = _stored_run(_with_step(2, **more))
    steps, _ = full_steps(run, after=0, limit=10)
    assert [steps[2][name] for name in ("call_id", "attributes", "tags")] == [
        more["call_id"],
        more["attributes"],
        ["slow"],
    ]
    recorded_step = order_run().steps[2]
    assert (steps[2]["started_at"], steps[2]["ended_at"]) == (recorded_step.started_at, recorded_step.ended_at)
    assert (steps[1]["attributes"], steps[1]["tags"]) == ({}, [])


def test_list_shows_step_summaries() -> None:
    summaries = [step.summary for step in queries.steps(_stored_run(order_run()).id)]
    assert summaries == [
        "Where is my order A-1042?",
        "asks for get_order",
        "get_order(A-1042)",
        "Your order A-1042 has been shipped with Northwind Parcels.",
        "Your order A-1042 has been shipped with Northwind Parcels.",
    ]


def test_same_recording_is_stored_once() -> None:
    first = services.record(order_run())
    counts = Run.objects.count(), Step.objects.count(), Artifact.objects.count()
    second = services.record(order_run())
    assert (second.run_id, first.is_new, second.is_new) == (first.run_id, True, False)
    assert counts == (Run.objects.count(), Step.objects.count(), Artifact.objects.count())


def test_different_recording_is_kept_as_conflict() -> None:
    stored = services.record(order_run())
    result = services.record(_with_step(1, output={"message": {"content": "x"}}))
    assert (result.is_new, result.supersedes, result.conflicts_with) == (True, None, stored.run_id)


@pytest.mark.parametrize("changes", [{"tokens_in": 41}, {"name": "other"}])
def test_corrected_recording_is_next_revision(changes: dict[str, Any]) -> None:
    stored = services.record(order_run())
    result = services.record(_with_step(1, **changes))
    assert (result.revision, result.supersedes, result.conflicts_with) == (2, stored.run_id, None)


def test_external_ids_are_unique_per_app() -> None:
    services.record(order_run())
    assert services.record(replace(order_run(), app="shop")).is_new


def test_parents_come_before_children() -> None:
    run_facts = order_run()
    steps = queries.steps(_stored_run(replace(run_facts, steps=tuple(reversed(run_facts.steps)))).id)
    assert [step.external_id for step in steps] == ["agent", "out", "tell", "look", "ask"]
    assert [step.parent_no for step in steps] == [None, 1, 1, 1, 1]


_DEEP: JSONValue = 0
for _ in range(MAX_DEPTH + 5):
    _DEEP = [_DEEP]


@pytest.mark.parametrize(
    ("index", "changes", "pointer"),
    [
        (2, {"key": "ask"}, "/steps/2/key"),
        (2, {"key": ""}, "/steps/2/key"),
        (2, {"key": "k" * 201}, "/steps/2/key"),
        (2, {"parent": "nobody"}, "/steps/2/parent"),
        (0, {"parent": "agent"}, "/steps/0/parent"),
        (2, {"links": ("ask", "nobody")}, "/steps/2/links/1"),
        (2, {"output": {"a": [1, float("nan")]}}, "/steps/2/output/a/1"),
        (3, {"input": {"messages": [{"content": "a"}, {"content": "\udc80"}]}}, "/steps/3/input/messages/1/content"),
        (2, {"input": {"n": 2**64}}, "/steps/2/input/n"),
        (2, {"output": {"n": _DEEP}}, "/steps/2/output/n"),
        (2, {"attributes": {"x": float("inf")}}, "/steps/2/attributes/x"),
        (2, {"started_at": datetime(2026, 1, 1)}, "/steps/2/started_at"),  # noqa: DTZ001  # that is the fault
        (2, {"ended_at": datetime(2020, 1, 1, tzinfo=UTC)}, "/steps/2/ended_at"),
        (2, {"tokens_in": -1}, "/steps/2/tokens_in"),
        (2, {"cost_usd": Decimal("NaN")}, "/steps/2/cost_usd"),
        (2, {"call_id": "a\x00b"}, "/steps/2/call_id"),
        (2, {"name": "\ud800"}, "/steps/2/name"),
    ],
)
def test_invalid_recording_is_rejected_with_pointer(index: int, changes: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidRecording) as error:
        services.record(_with_step(index, **changes))
    assert error.value.where.startswith(pointer)
    assert not Run.objects.exists()
    assert not Artifact.objects.exists()


def test_parent_cycle_is_rejected() -> None:
    child = RecordedStep(key="one", type=StepType.AGENT, name="a", parent="two")
    two = RecordedStep(key="two", type=StepType.AGENT, name="b", parent="one")
    with pytest.raises(InvalidRecording, match="its own ancestor"):
        services.record(order_run(steps=(child, two)))


def test_nul_characters_are_replaced_in_columns() -> None:
    run = _stored_run(
        replace(_with_step(2, name="a\x00b", error="c\x00d", output="e\x00f"), metadata={"k\x00": "v\x00"})
    )
    step = queries.find_step(run, "look")
    assert (step.name, step.error, artifact_store.payload(step.output_ref)) == ("a\ufffdb", "c\ufffdd", "e\x00f")
    assert run.metadata == {"k\ufffd": "v\ufffd"}


def test_metadata_keep_the_order_of_members() -> None:
    run = _stored_run(replace(_with_step(2), metadata={"of": {"longer": 1, "b": 2, "a": 3}, "a": 4}))
    assert str(run.metadata) == "{'of': {'longer': 1, 'b': 2, 'a': 3}, 'a': 4}"


def test_totals_skip_containers_and_unknown_cost() -> None:
    steps = (
        RecordedStep(key="a", type=StepType.AGENT, name="a", status=StepStatus.ERROR, tokens_in=10, tokens_out=5),
        RecordedStep(key="m", type=StepType.MODEL, name="m", parent="a", tokens_in=10, tokens_out=5),
        RecordedStep(key="e", type=StepType.TOOL, name="t", parent="a", status=StepStatus.ERROR),
    )
    run = _stored_run(order_run(steps=steps))
    assert (run.tokens_in, run.tokens_out, run.cost_usd, run.error_count) == (10, 5, None, 1)
    assert _stored_run(order_run("alone", steps=steps[:2])).error_count == 1


def test_times_keep_their_instant() -> None:
    local = datetime(2026, 3, 1, 14, 30, 0, 123456, tzinfo=UTC).astimezone()
    run = _stored_run(_with_step(0, started_at=local - timedelta(hours=5)))
    assert queries.steps(run.id)[0].started_at == local - timedelta(hours=5)


def test_watchers_are_notified_after_commit(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[str] = []
    monkeypatch.setattr(notify, "_wake", groups.append)
    with django_capture_on_commit_callbacks(execute=True):
        services.record(order_run())
        assert groups == []
    assert groups == ["runs"]


@pytest.mark.django_db(transaction=True)
def test_thousand_turns_need_two_percent_space() -> None:
    """The size of the whole database, with rows and indexes. A message has about 120 characters."""
    run = conversation(1_000, words=6)
    came_in = sum(len(orjson.dumps([step.input, step.output])) for step in run.steps)
    services.record(order_run())  # the pages that every table has
    before = _database_size()
    services.record(run)
    grown = _database_size() - before
    assert grown < 0.02 * came_in, f"{grown} of {came_in} bytes: {grown / came_in:.2%}"


@pytest.mark.django_db(transaction=True)
def test_steps_of_runs_are_inserted_in_order_of_ids() -> None:
    """Rows in ascending order fill the pages of the indexes."""
    services.record_all(replace(order_run(), external_id=f"order-{number}") for number in range(20))
    position = "rowid" if connection.vendor == "sqlite" else "ctid"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT run_id FROM traces_step ORDER BY {position}")
        run_ids = [str(run_id) for (run_id,) in cursor.fetchall()]
    assert run_ids == sorted(run_ids)


def _database_size() -> int:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname LIKE 'traces_%' AND relkind = 'r'"
            )
            return int(cursor.fetchone()[0])
        cursor.execute("PRAGMA page_count")
        pages = cursor.fetchone()[0]
        cursor.execute("PRAGMA freelist_count")
        free = cursor.fetchone()[0]
        cursor.execute("PRAGMA page_size")
        return int((pages - free) * cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
def test_concurrent_recordings_create_one_run() -> None:
    outcomes: list[object] = []

    def work() -> None:
        try:
            outcomes.append(services.record(order_run()).is_new)
        except Exception as error:  # noqa: BLE001  # whatever it is must be seen by the test
            outcomes.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["False", "False", "False", "True"]
    assert Run.objects.count() == 1
