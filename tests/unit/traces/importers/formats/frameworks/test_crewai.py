"""CrewAI logs, outputs and events."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object, as_objects
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


def event(number: int, type: str, **fields: Any) -> dict[str, Any]:
    time = f"2026-03-01T10:00:{number:02}Z"
    return {"type": type, "timestamp": time, "event_id": f"e{number}", "emission_sequence": number, **fields}


def parallel_calls() -> list[dict[str, Any]]:
    """Return the events of two calls at the same time, as CrewAI 1.15 writes them with `to_json`."""
    calls = [
        {"id": f"c{number}", "function": {"name": "'find_book'", "arguments": f"'{{\"id\": {number}}}'"}}
        for number in (1, 2)
    ]
    question = [{"role": "user", "content": "Count."}]
    use = {"tool_name": "find_book", "parent_event_id": "e1"}
    return [
        event(1, "crew_kickoff_started", crew_name="shop"),
        event(2, "llm_call_started", call_id="l1", model="gpt-4o", messages=question, temperature=0.2, seed=1),
        event(3, "llm_call_completed", call_id="l1", response=calls, finish_reason="tool_calls"),
        event(4, "tool_usage_started", **use, tool_args={"id": 1}),
        event(5, "tool_usage_started", **use, tool_args={"id": 2}),
        event(6, "tool_usage_finished", **use, started_event_id="e4", output="red"),
        event(7, "tool_usage_finished", **use, started_event_id="e5", output="", failure={"message": "no shelf"}),
        event(8, "memory_save_completed", parent_event_id="e1", value="Dune is red."),
        event(9, "agent_evaluation_completed", metric_category="goal_alignment", score={"score": 7, "feedback": "ok"}),
        event(10, "crew_kickoff_completed", started_event_id="e1", output="Red."),
    ]


def test_parallel_calls_have_their_ids_results_and_parent() -> None:
    (run,) = read(fixtures.json_lines(parallel_calls()))
    assert outline(run) == [
        ("agent", "shop", None),
        ("model", "gpt-4o", "shop"),
        ("tool", "find_book", "shop"),
        ("tool", "find_book", "shop"),
    ]
    model, first, second = run.steps[1:]
    assert as_object(model.input)["parameters"] == {"temperature": 0.2, "seed": 1}
    assert as_object(model.output)["finish_reason"] == "tool_calls"
    assert (first.call_id, first.output, second.call_id, second.error) == ("c1", "red", "c2", "no shelf")


def test_events_outside_of_steps_are_kept() -> None:
    (run,) = read(fixtures.json_lines(parallel_calls()))
    memory = as_objects(run.steps[0].attributes["events"])[0]
    assert (memory["name"], memory["attributes"]) == ("memory_save_completed", {"value": "Dune is red."})
    assert [(item.name, item.value, item.text) for item in run.judgements] == [("goal_alignment", 7.0, "ok")]


def test_order_of_lines_does_not_matter() -> None:
    events = parallel_calls()
    assert read(fixtures.json_lines(events[::-1])) == read(fixtures.json_lines(events))


def test_failure_that_is_reported_twice_is_one_call() -> None:
    failure = {"call_id": "l1", "error": "overloaded"}
    events = [*parallel_calls()[:2], event(3, "llm_call_failed", **failure), event(4, "llm_call_failed", **failure)]
    (run,) = read(fixtures.json_lines(events))
    assert [(step.type, step.error) for step in run.steps[1:]] == [(StepType.MODEL, "overloaded")]
    assert run.status is RunStatus.PARTIAL


def test_log_keeps_other_fields_and_has_no_end_without_that_of_a_task() -> None:
    entry = {"timestamp": "2026-03-01 10:00:00", "task": "Answer.", "agent": "Clerk", "crew": "shop"}
    (run,) = read([{**entry, "status": "started"}])
    assert (run.status, run.steps[1].attributes) == (RunStatus.PARTIAL, {"crew": "shop"})


def test_executions_with_other_inputs_are_runs() -> None:
    names = [("Weather in Paris", "helper"), ("Poem", "writer"), ("Weather in Rome", "helper"), ("Poem", "writer")]
    entries = [
        {"timestamp": f"2026-03-01 10:00:0{number}", "task_name": None, "task": task, "agent": agent, "status": status}
        for number, (task, agent) in enumerate([*names, ("Weather in Oslo", "helper")])
        for status in ("started", "completed")
    ]
    helper, writer = ("agent", "helper", "crew"), ("agent", "writer", "crew")
    assert [outline(run)[1:-1] for run in read(entries)] == [[helper, writer], [helper, writer], [helper]]


def test_calls_in_texts_and_last_answers_are_steps() -> None:
    text = 'Thought: I look.\nAction: find\nAction Input: {"title": "Dune"}\nObservation: 3'
    messages = [
        {"role": "system", "content": "You count."},
        {"role": "user", "content": "Any Dune?"},
        {"role": "assistant", "content": text},
        {"role": "user", "content": "Answer."},
    ]
    task = {"description": "Count.", "raw": "Three.", "agent": "Clerk", "messages": messages}
    (run,) = read({"raw": "Three.", "tasks_output": [task]})
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.tool_name, tool.input, tool.output) == ("find", {"title": "Dune"}, "3")
    last = as_object(fixtures.steps(run, StepType.MODEL)[-1].output)
    assert last["message"] == {"role": "assistant", "content": "Three."}


def test_instructions_of_a_task_without_an_answer_stay() -> None:
    task = {"description": "Count.", "agent": "Clerk", "messages": [{"role": "system", "content": "You count."}]}
    (run,) = read({"raw": "", "tasks_output": [task]})
    assert run.steps[1].attributes["unread_messages"] == [{"role": "system", "content": "You count."}]
