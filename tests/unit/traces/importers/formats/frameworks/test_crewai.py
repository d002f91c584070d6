"""CrewAI logs, outputs and events."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source


def read(content: Any) -> list[RecordedRun]:
    source = Source(name="renamed", data=content if isinstance(content, bytes) else orjson.dumps(content))
    assert registry.detect(fixtures.sample(source.name, source.data)).name == "crewai"
    return list(registry.get_importer("crewai").runs([source]))


def outline(run: RecordedRun) -> list[tuple[str, str, str | None]]:
    names = {step.key: step.name for step in run.steps}
    return [(step.type.value, step.name, names.get(step.parent or "")) for step in run.steps]


def test_log_has_run_per_execution() -> None:
    complete_run, interrupted_run = fixtures.runs("crewai_log.json")
    assert outline(complete_run) == [
        ("agent", "crew", None),
        ("agent", "Stock Keeper", "crew"),
        ("agent", "Clerk", "crew"),
        ("output", "output", "crew"),
    ]
    assert (complete_run.steps[1].input, complete_run.steps[1].output) == (
        {"task": "Count the copies of Dune."},
        {"text": "3 copies"},
    )
    assert complete_run.steps[-1].output == {"text": "Yes, three copies."}
    assert [step.status for step in interrupted_run.steps[1:]] == [StepStatus.PARTIAL]
    assert complete_run.external_id != interrupted_run.external_id


def test_text_log_has_multiline_outputs() -> None:
    (run,) = read(fixtures.source("crewai_log.txt").data)
    assert run.steps[1].output == {"text": 'There are:\n- "three" copies, of which\n- one is red'}
    assert run.steps[1].ended_at is not None


def test_old_log_has_result_as_task() -> None:
    (run,) = read(
        b'2024-05-01 10:00:00: agent="Clerk", task="Answer.", status="started"\n\n'
        b'2024-05-01 10:00:02: agent="Clerk", task="Yes.", status="completed"\n'
    )
    assert (run.steps[1].input, run.steps[1].output) == ({"task": "Answer."}, {"text": "Yes."})


def test_failed_task_fails_the_run() -> None:
    entry = {"timestamp": "2026-03-01 10:00:00", "task": "Answer.", "agent": "Clerk"}
    (run,) = read([{**entry, "status": "started"}, {**entry, "status": "failed", "output": "no answer"}])
    assert (run.status, run.steps[1].error) == (RunStatus.FAILED, "no answer")


def test_output_has_tasks_messages_and_totals() -> None:
    run = fixtures.run("crewai_output.json")
    assert [row[:2] for row in outline(run)] == [
        ("agent", "crew"),
        ("agent", "Stock Keeper"),
        ("turn", "Count the copies of Dune."),
        ("model", "model"),
        ("agent", "Clerk"),
        ("output", "output"),
    ]
    assert (run.steps[0].tokens_in, run.steps[0].tokens_out, run.steps[0].tokens_cached) == (100, 30, 20)
    assert run.steps[-1].output == {"text": "Yes, three copies."}


def test_events_nest_by_order() -> None:
    run = fixtures.run("crewai_events.jsonl")
    assert outline(run) == [
        ("agent", "shop", None),
        ("agent", "count", "shop"),
        ("agent", "Stock Keeper", "count"),
        ("model", "gpt-4o", "Stock Keeper"),
        ("tool", "find_book", "Stock Keeper"),
    ]
    (model,), (tool,) = fixtures.steps(run, StepType.MODEL), fixtures.steps(run, StepType.TOOL)
    assert (model.tokens_in, model.output) == (40, {"message": {"role": "assistant", "content": "Action: find_book"}})
    assert (tool.input, tool.status, tool.error) == ({"title": "Dune"}, StepStatus.ERROR, "the shelf is locked")


def test_task_inside_its_event_is_input() -> None:
    task = {"description": "Count the copies.", "expected_output": "A number."}
    events = [
        {"type": "crew_kickoff_started", "timestamp": "2026-03-01T10:00:00Z", "crew_name": "shop"},
        {"type": "task_started", "timestamp": "2026-03-01T10:00:01Z", "task_id": "t1", "task": task},
    ]
    ((run,), _) = fixtures.detect_and_read("crewai", fixtures.json_lines(events))
    step = run.steps[1]
    assert (step.input, step.attributes["expected_output"]) == ({"task": "Count the copies."}, "A number.")


def test_execution_ids_separate_runs() -> None:
    events = [
        {"execution_id": name, "type": f"crew_kickoff_{phase}", "timestamp": "2026-03-01T10:00:00Z", "data": data}
        for phase, data in (("started", {"crew_name": "shop"}), ("failed", {"error": "no model"}))
        for name in ("e1", "e2")
    ]
    first, second = read({"events": events})
    assert (first.external_id, second.external_id) == ("e1", "e2")
    assert (first.status, first.steps[0].error) == (RunStatus.FAILED, "no model")
