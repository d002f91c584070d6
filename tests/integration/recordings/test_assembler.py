"""Recordings that arrive in parts: how they grow, when they are sealed, and what arrives afterwards."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from replay.sessions.prepare import source_refusal
from tests.support import importing_fixtures as fixtures
from tests.support.arriving_events import Event, answer, beginning, ending, event, lines
from tests.support.assembler_time import let_pass
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Outcome, RunStatus
from traces.importers.assembly import Assembly, SegmentContent, assemble
from traces.importers.files.source import Source
from traces.importers.formats.codex import rollouts
from traces.importers.formats.tracing import event_lines, forkpoint_events
from traces.imports import import_files
from traces.ingest.prepare import PreparedRun, prepare
from traces.models import Judgement, Recording, Run, Segment, Step
from traces.reading.progress import NamedFile
from traces.recordings import arrivals, assembler, segment_reading
from traces.recordings.arrivals import NewSegment
from traces.redaction.redactor import Redaction
from traces.runs import growing_runs
from traces.runs.growing_runs import PreparedStates

pytestmark = pytest.mark.django_db
RUN = "run-1"


def _send(events: Iterable[Event], *, has_ended: bool = False, project: str = "") -> None:
    segment = NewSegment(external_id=RUN, format="forkpoint", data=lines(events), has_ended=has_ended)
    arrivals.accept([segment], project=project)


def _run() -> Run:
    return Run.objects.order_by("-revision")[0]


def _summaries(run: Run) -> list[str]:
    return list(run.steps.order_by("sequence_no").values_list("summary", flat=True))


def test_first_steps_are_visible_before_the_run_ends() -> None:
    _send(beginning(RUN))
    let_pass(1)
    run = _run()
    assert (run.name, run.app, run.status, run.sealed_at) == ("order status", "desk", RunStatus.RUNNING, None)
    assert run.step_count == 1
    assert run.verdict.outcome == Outcome.UNKNOWN


def test_recording_run_cannot_be_forked() -> None:
    _send(beginning(RUN))
    let_pass(1)
    refusal = source_refusal(_run())
    assert refusal is not None
    assert refusal.code == "source_not_sealed"


def test_growing_run_keeps_its_id_and_those_of_its_steps() -> None:
    _send(beginning(RUN))
    let_pass(1)
    run, step = _run(), Step.objects.get()
    _send(answer(RUN))
    _send(ending(RUN), has_ended=True)
    let_pass(1)
    assert _run().id == run.id
    assert run.steps.order_by("sequence_no")[0].id == step.id
    assert _summaries(run) == ["It is on its way.", "It is on its way."]


def test_run_is_sealed_a_quiet_period_after_its_root_ended() -> None:
    _send([*beginning(RUN), *answer(RUN), *ending(RUN)], has_ended=True)
    let_pass(1)
    assert _run().sealed_at is None
    assert _run().status == RunStatus.COMPLETED
    let_pass(5)
    assert _run().sealed_at is not None
    assert Recording.objects.get().due_at is None


def test_run_without_an_end_is_sealed_as_partial_after_the_idle_limit() -> None:
    _send(beginning(RUN))
    let_pass(60)
    assert _run().sealed_at is None
    let_pass(900)
    assert (_run().status, _run().sealed_at is None) == (RunStatus.PARTIAL, False)


def test_clock_that_is_set_back_keeps_no_run_open() -> None:
    _send(beginning(RUN))
    let_pass(-3 * 3600)
    _send(ending(RUN), has_ended=True)
    assembler.work()
    assert Recording.objects.filter(due_at__lt=datetime.now(UTC) + timedelta(minutes=1)).exists()
    let_pass(-3 * 3600)
    assembler.follow_clock()
    let_pass(5)
    assert _run().status == RunStatus.COMPLETED


def test_run_that_a_restart_interrupted_is_sealed_unless_more_arrives() -> None:
    _send(beginning(RUN))
    arrivals.accept([NewSegment(external_id="run-2", format="forkpoint", data=lines(beginning("run-2")))])
    let_pass(60)
    assembler.note_restart()
    let_pass(1)
    _send(answer(RUN))
    let_pass(10)
    sealed = {run.external_id: (run.status, run.sealed_at is not None) for run in Run.objects.all()}
    assert sealed == {RUN: (RunStatus.RUNNING, False), "run-2": (RunStatus.PARTIAL, True)}
    _send(ending(RUN), has_ended=True)
    let_pass(10)
    assert Run.objects.get(external_id=RUN).status == RunStatus.COMPLETED


def test_session_file_outlives_a_restart() -> None:
    session = (fixtures.FOLDER / "codex.jsonl").read_bytes()
    (id,) = rollouts.keys(Source(name="rollout-1.jsonl", data=session))
    arrivals.append(NewSegment(external_id=id, format=rollouts.FORMAT, data=session, file="rollout-1.jsonl"))
    let_pass(1)
    assembler.note_restart()
    let_pass(60)
    assert _run().sealed_at is None


def test_finalized_run_is_sealed_at_once() -> None:
    _send([*beginning(RUN), *answer(RUN)])
    arrivals.finalize(RUN)
    let_pass(0)
    assert _run().sealed_at is not None


def test_sealed_run_equals_the_imported_file() -> None:
    events = [*beginning(RUN), *answer(RUN), *ending(RUN)]
    for index in range(len(events)):
        _send(events[index : index + 1], has_ended=index == len(events) - 1)
        let_pass(1)
    let_pass(10)
    report = import_files.import_files([NamedFile(name="events.jsonl", file=io.BytesIO(lines(events)))])
    assert [(run.id, run.created) for run in report.runs] == [(_run().id, False)]


def test_batch_that_arrives_twice_is_stored_once() -> None:
    events = [*beginning(RUN), *answer(RUN), *ending(RUN)]
    _send(events, has_ended=True)
    _send(events, has_ended=True)
    let_pass(10)
    _send(events, has_ended=True)
    let_pass(10)
    assert Segment.objects.count() == 1
    assert list(Run.objects.values_list("revision", flat=True)) == [1]


def test_late_step_becomes_the_next_revision() -> None:
    _send(beginning(RUN), has_ended=True)
    let_pass(10)
    first = _run()
    digest = first.content_digest
    _send(answer(RUN))
    let_pass(1)
    assert (_run().revision, _run().supersedes_id, _run().sealed_at) == (2, first.id, None)
    let_pass(10)
    assert _run().sealed_at is not None
    first.refresh_from_db()
    assert first.content_digest == digest


def test_arrival_during_assembly_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    _send([*beginning(RUN), *answer(RUN)], has_ended=True)
    write = growing_runs.write

    def write_while_more_arrives(states: PreparedStates) -> list[object]:
        monkeypatch.undo()
        _send(ending(RUN))
        return list(write(states))

    monkeypatch.setattr(growing_runs, "write", write_while_more_arrives)
    let_pass(10)
    assert _run().sealed_at is None
    let_pass(10)
    assert (_run().step_count, _run().revision) == (2, 1)
    assert _run().sealed_at is not None


def test_failure_leaves_nothing_half_written_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("database is locked")

    _send([*beginning(RUN), *answer(RUN)], has_ended=True)
    monkeypatch.setattr(growing_runs, "seal", fail)
    with pytest.raises(OperationalError):
        let_pass(10)
    assert not Run.objects.exists()
    monkeypatch.undo()
    Recording.objects.update(leased_until=None)
    let_pass(0)
    assert _run().sealed_at is not None


def test_recording_that_cannot_be_stored_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_for_one(run: RecordedRun, redaction: Redaction) -> PreparedRun:
        if run.external_id == RUN:
            raise ValueError("unforeseen")
        return prepare(run, redaction)

    monkeypatch.setattr(growing_runs, "prepare", fail_for_one)
    _send(beginning(RUN), has_ended=True)
    arrivals.accept([NewSegment(external_id="run-2", format="forkpoint", data=lines(beginning("run-2")))])
    let_pass(1)
    assert [run.external_id for run in Run.objects.all()] == ["run-2"]
    assert Recording.objects.get(external_id=RUN).problem == "its run could not be stored (ValueError)"


def test_project_of_the_client_is_the_app() -> None:
    _send(beginning(RUN), project="shop")
    let_pass(1)
    assert _run().app == "shop"


def test_first_of_two_contradicting_events_counts_and_the_other_is_named() -> None:
    _send(beginning(RUN))
    _send([event(RUN, 1, "tool_called", "look", tool_name="look")])
    let_pass(1)
    assert (_run().step_count, _run().steps.get().model) == (1, "m1")
    problem = Recording.objects.get().problem
    assert "two different events with number 1: model_called of step “ask” and tool_called of step “look”" in problem
    assert _run().metadata["recording_problem"] == problem


def test_problem_of_a_run_stays_when_it_is_sealed() -> None:
    _send([*beginning(RUN), event(RUN, 2, "tool_result", "lost", result=1), *ending(RUN)], has_ended=True)
    let_pass(1)
    let_pass(10)
    assert (_run().status, _run().sealed_at is None, _run().step_count) == (RunStatus.COMPLETED, False, 3)
    assert "tool_result of step lost, has no tool_called before it" in _run().metadata["recording_problem"]
    assert Recording.objects.get().problem == _run().metadata["recording_problem"]


def test_run_without_steps_shows_its_output() -> None:
    _send([beginning(RUN)[0], event(RUN, 1, "run_completed", output="Nothing to do.")], has_ended=True)
    let_pass(10)
    assert (_run().name, _run().status, _summaries(_run())) == ("order status", RunStatus.COMPLETED, ["Nothing to do."])
    _send(answer(RUN), has_ended=True)
    let_pass(10)
    assert _run().revision == 2


def test_run_that_did_nothing_is_not_shown() -> None:
    _send([beginning(RUN)[0], event(RUN, 1, "run_completed")], has_ended=True)
    let_pass(10)
    assert not Run.objects.exists()


def test_recording_of_which_nothing_is_readable_is_shown_at_its_end() -> None:
    arrivals.accept([NewSegment(external_id=RUN, format="otlp", data=b"{}", has_ended=True)])
    let_pass(1)
    assert not Run.objects.exists()
    let_pass(10)
    assert (_run().status, _run().sealed_at is None, _run().app) == (RunStatus.PARTIAL, False, "otlp")
    assert _run().steps.get().error == _run().metadata["recording_problem"] != ""


def test_segment_that_cannot_be_read_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    read = event_lines.read_event

    def fail_for_one(record: JSONObject, location: str) -> event_lines.Event:
        if record["step_id"] == "bad":
            raise ValueError("unforeseen")
        return read(record, location)

    monkeypatch.setattr(forkpoint_events, "read_event", fail_for_one)
    _send(beginning(RUN))
    for number in range(5, 40):
        _send([event(RUN, number, "final_output", "bad" if number % 7 == 0 else f"s{number}", output="x")])
    _send([event(RUN, 50, "run_completed")], has_ended=True)
    let_pass(10)
    assert (_run().status, _run().step_count) == (RunStatus.PARTIAL, 1 + 35 - 5)
    assert "its records could not be read (ValueError)" in _run().metadata["recording_problem"]


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"retries": 10**6}, "retries is out of range"),
        ({"name": "\ud800"}, "lone surrogate"),
        ({"output": {"x": float("nan")}}, "in its output"),
        ({"key": "out"}, "two steps have the key"),
    ],
)
def test_step_that_cannot_be_stored_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], detail: str
) -> None:
    def damage(external_id: str, segments: Sequence[SegmentContent]) -> Assembly:
        assembly = assemble(external_id, segments)
        assert assembly.run is not None
        first, *others = assembly.run.steps
        return replace(assembly, run=replace(assembly.run, steps=(replace(first, **changes), *others)))

    monkeypatch.setattr(segment_reading, "assemble", damage)
    _send([*beginning(RUN), *answer(RUN), *ending(RUN)], has_ended=True)
    let_pass(10)
    assert [step.type for step in _run().steps.order_by("sequence_no")] == ["model", "output"]
    assert (_run().status, _run().sealed_at is None) == (RunStatus.COMPLETED, False)
    assert detail in _run().metadata["recording_problem"]


def test_shown_run_whose_end_cannot_be_stored_is_sealed_as_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(run: RecordedRun, redaction: Redaction) -> PreparedRun:
        raise ValueError("unforeseen")

    _send(beginning(RUN))
    let_pass(1)
    monkeypatch.setattr(growing_runs, "prepare", fail)
    _send([*answer(RUN), *ending(RUN)], has_ended=True)
    let_pass(10)
    assert (_run().status, _run().sealed_at is None, _run().step_count) == (RunStatus.PARTIAL, False, 1)
    assert _run().metadata["recording_problem"] == "its run could not be stored (ValueError)"
    assert source_refusal(_run()) is None


def test_judgements_of_a_complete_run_are_stored_once() -> None:
    check = event(RUN, 3, "validator_decision", "check", name="polite", decision="pass")
    _send([*beginning(RUN), *answer(RUN), check], has_ended=True)
    let_pass(1)
    _send([event(RUN, 4, "run_completed")], has_ended=True)
    let_pass(10)
    assert Judgement.objects.count() == 1
    assert _run().verdict.outcome == Outcome.PASSED


def test_recordings_of_a_batch_share_their_queries() -> None:
    _queries_of_batch(["first"])
    # So many that PostgreSQL inserts the rows of every table with COPY, which takes other statements than a few rows.
    small, large = [f"a{number}" for number in range(20)], [f"b{number}" for number in range(40)]
    assert _queries_of_batch(small) == _queries_of_batch(large)
    assert Run.objects.filter(sealed_at__isnull=False).count() == 61


@pytest.mark.django_db(transaction=True)
def test_batch_is_written_without_savepoints() -> None:
    """But for one on PostgreSQL: it takes back the packs of a writer that came second."""
    for name in ("first", "second"):
        events = [*beginning(name), *answer(name), *ending(name)]
        arrivals.accept([NewSegment(external_id=name, format="forkpoint", data=lines(events), is_final=True)])
    with CaptureQueriesContext(connection) as queries:
        let_pass(1)
    statements = [query["sql"] for query in queries if "SAVEPOINT" in query["sql"]]
    assert len(statements) == (2 if connection.vendor == "postgresql" else 0)
    assert Run.objects.filter(sealed_at__isnull=False).count() == 2


def _queries_of_batch(names: Sequence[str]) -> int:
    """Record finished runs in one batch, and return the number of queries."""
    for name in names:
        events = [*beginning(name), *answer(name), *ending(name)]
        arrivals.accept([NewSegment(external_id=name, format="forkpoint", data=lines(events), is_final=True)])
    with CaptureQueriesContext(connection) as queries:
        let_pass(1)
    return len(queries)


def test_new_recordings_are_stored_without_looking_for_earlier_ones() -> None:
    segments = [
        NewSegment(external_id=f"run-{no}", format="forkpoint", data=lines(beginning(f"run-{no}"))) for no in range(9)
    ]
    with CaptureQueriesContext(connection) as queries:
        arrivals.accept(segments)
    tables = {"traces_recording", "traces_segment"}
    reads = [
        query["sql"]
        for query in queries
        if query["sql"].startswith("SELECT") and any(t in query["sql"] for t in tables)
    ]
    assert reads == []
    # Those of which a part has arrived are looked up, and none of it is stored twice.
    arrivals.accept([*segments, NewSegment(external_id="run-9", format="forkpoint", data=lines(beginning("run-9")))])
    assert Segment.objects.count() == 10
    assert set(Recording.objects.values_list("version", flat=True)) == {1}
