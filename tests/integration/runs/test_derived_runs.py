"""Derived runs: copied steps, lineage and provenance."""

from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.support.recordings import assistant, conversation, order_run
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason, RunStatus, StepStatus, StepType
from traces.errors import NotFound, RunSealed
from traces.imports.run_digests import content_digest
from traces.ingest.step_rows import StepRow
from traces.models import Edge, Run, Step
from traces.origins import stored_provenance
from traces.runs import queries, services
from traces.storage import artifacts

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
_EXACT_COPY = [
    field.attname
    for field in Step._meta.concrete_fields
    if field.name not in {"id", "run", "label", "reason", "detail", "source_step"}
]


def _source() -> Run:
    """A run with provenance, like the source of any replay."""
    source = Run.objects.get(id=services.record(order_run()).run_id)
    stored_provenance.ensure(source.id)
    return source


def _fork(source: Run, upto: int) -> Run:
    run = services.open_run(name="fork", app=source.app, source_run=source, fork_sequence_no=upto + 1)
    count = services.copy_steps(
        source_run_id=source.id,
        run_id=run.id,
        first=1,
        last=upto,
        label=Label.EXACT,
        reason=Reason.SOURCE_OUTPUT_REUSED,
    )
    assert count == upto
    return run


def _ends(run_id: UUID) -> set[tuple[int, int, str]]:
    stored_provenance.ensure(run_id)
    return set(Edge.objects.filter(run_id=run_id).values_list("producer_no", "consumer_no", "kind"))


def test_copies_have_new_label_and_lineage() -> None:
    source = _source()
    run = _fork(source, 5)
    for copy, original in zip(queries.steps(run.id), queries.steps(source.id), strict=True):
        assert [getattr(copy, name) for name in _EXACT_COPY] == [getattr(original, name) for name in _EXACT_COPY]
        assert (copy.label, copy.reason, copy.source_step) == ("exact", "source_output_reused", original.id)
        assert copy.id != original.id
        assert copy.detail == {}


def test_copies_have_distinct_ids_in_their_order() -> None:
    source = _source()
    runs = [_fork(source, 5), _fork(source, 5)]
    ids = [step.id for run in runs for step in queries.steps(run.id)]
    assert ids == sorted(set(ids))
    assert {id.version for id in ids} == {7}


@pytest.mark.parametrize("repeats_source", [True, False])
def test_full_copy_has_source_provenance(repeats_source: bool) -> None:
    source = _source()
    run = _fork(source, 5)
    services.seal_run(run.id, RunStatus.COMPLETED, repeats_source=repeats_source)
    # Its edges are copied when they are first needed.
    assert not Edge.objects.filter(run=run).exists()
    assert _ends(run.id) == _ends(source.id)
    sealed_run = Run.objects.get(id=run.id)
    assert (sealed_run.step_count, sealed_run.exact_count, sealed_run.tokens_in) == (5, 5, 110)
    assert content_digest(sealed_run) not in ("", source.content_digest)
    assert sealed_run.sealed_at is not None


def test_copy_of_unexplained_steps_is_traced() -> None:
    source = Run.objects.get(id=services.record(order_run()).run_id)
    run = _fork(source, 5)
    services.seal_run(run.id, RunStatus.COMPLETED)
    assert _ends(run.id) == _ends(source.id)
    assert [step.unexplained for step in queries.steps(run.id)] == [
        step.unexplained for step in queries.steps(source.id)
    ]


def test_sealing_reads_steps_from_the_first_change_on() -> None:
    source = _source()
    run = _fork(source, 5)
    Step.objects.filter(run=run, sequence_no=5).update(label=Label.SIMULATED)
    with CaptureQueriesContext(connection) as captured:
        services.seal_run(run.id, RunStatus.COMPLETED)
    reads = [query["sql"] for query in captured if query["sql"].startswith('SELECT "traces_step"."sequence_no"')]
    assert [sql for sql in reads if "unexplained" in sql]
    assert all('"sequence_no" > 4' in sql for sql in reads if "unexplained" in sql)
    assert _ends(run.id) == _ends(source.id)
    sealed_run = Run.objects.get(id=run.id)
    assert (sealed_run.exact_count, sealed_run.simulated_count, sealed_run.tokens_in) == (4, 1, 110)


def test_missing_step_ends_the_unchanged_ones() -> None:
    source = _source()
    run = _fork(source, 5)
    Step.objects.filter(run=run, sequence_no=2).delete()
    services.seal_run(run.id, RunStatus.COMPLETED)
    assert (2, 3, "tool_call_id") in _ends(source.id)
    assert _ends(run.id) == {(3, 4, "tool_call_id"), (4, 5, "text")}


def test_copy_with_other_values_has_its_own_totals() -> None:
    source = _source()
    run = _fork(source, 5)
    Step.objects.filter(run=run, tokens_in__isnull=False).update(tokens_in=1)
    services.seal_run(run.id, RunStatus.COMPLETED)
    sealed_run = Run.objects.get(id=run.id)
    assert sealed_run.tokens_in == Step.objects.filter(run=run, tokens_in=1).count()
    assert _ends(run.id) == _ends(source.id)


def test_new_steps_get_new_edges() -> None:
    source = _source()
    run = _fork(source, 3)
    parameters = artifacts.payload(queries.find_step(source, 4).input_ref)
    message = assistant("It left yesterday and arrives with Northwind Parcels tomorrow morning.")
    output: JSONObject = {"message": message}
    services.append_steps(
        run.id,
        [
            StepRow(
                sequence_no=4,
                parent_no=1,
                type=StepType.MODEL,
                name="chat",
                status=StepStatus.OK,
                label=Label.SIMULATED,
                reason=Reason.LIVE_MODEL,
                input_ref=artifacts.save(parameters, run_id=run.id),
                output_ref=artifacts.save(output, run_id=run.id),
                source_step=queries.find_step(source, 4).id,
            ),
            StepRow(
                sequence_no=5,
                parent_no=1,
                type=StepType.OUTPUT,
                name="answer",
                status=StepStatus.OK,
                label=Label.SIMULATED,
                output_ref=artifacts.save({"text": message["content"]}, run_id=run.id),
            ),
        ],
    )
    services.seal_run(run.id, RunStatus.COMPLETED)
    assert _ends(run.id) == {(2, 3, "tool_call_id"), (2, 4, "history"), (3, 4, "tool_call_id"), (4, 5, "text")}
    assert Run.objects.get(id=run.id).simulated_count == 2


def test_link_to_changed_producer_remains() -> None:
    source = _source()
    run = _fork(source, 2)
    tool, tell = queries.find_step(source, 3), queries.find_step(source, 4)
    services.append_steps(
        run.id,
        [
            StepRow(
                sequence_no=3,
                type=StepType.TOOL,
                name=tool.name,
                tool_name=tool.tool_name,
                call_id=tool.call_id,
                label=Label.SIMULATED,
                input_ref=tool.input_ref,
                output_ref=artifacts.save({"status": "lost"}, run_id=run.id),
                source_step=tool.id,
                status=StepStatus.OK,
            ),
            StepRow(
                sequence_no=4,
                type=StepType.MODEL,
                name=tell.name,
                label=Label.EXACT,
                input_ref=tell.input_ref,
                output_ref=tell.output_ref,
                source_step=tell.id,
                status=StepStatus.OK,
            ),
        ],
    )
    services.seal_run(run.id, RunStatus.COMPLETED)
    assert (3, 4, "tool_call_id") in _ends(run.id)


def test_copying_uses_constant_queries() -> None:
    source = Run.objects.get(id=services.record(conversation(60)).run_id)
    run = services.open_run(name="fork", app="desk", source_run=source)
    with CaptureQueriesContext(connection) as queries_of_copy:
        services.copy_steps(
            source_run_id=source.id, run_id=run.id, first=1, last=source.step_count, label=Label.EXACT, reason=""
        )
    assert len([query for query in queries_of_copy if "SAVEPOINT" not in query["sql"]]) == 2
    assert Step.objects.filter(run=run).count() == source.step_count


def test_middle_range_and_empty_range() -> None:
    source = _source()
    run = services.open_run(name="fork", app="desk", source_run=source)
    copy = {"source_run_id": source.id, "run_id": run.id, "label": Label.EXACT, "reason": ""}
    assert services.copy_steps(first=2, last=3, **copy) == 2  # type: ignore[arg-type]  # a plain dict of arguments
    assert services.copy_steps(first=4, last=3, **copy) == 0  # type: ignore[arg-type]  # the same
    assert [step.sequence_no for step in queries.steps(run.id)] == [2, 3]


def test_copy_needs_an_open_run() -> None:
    source = _source()
    with pytest.raises(RunSealed):
        services.copy_steps(source_run_id=source.id, run_id=source.id, first=1, last=1, label=Label.EXACT, reason="")
    with pytest.raises(NotFound):
        services.append_steps(UUID(int=7), [])
