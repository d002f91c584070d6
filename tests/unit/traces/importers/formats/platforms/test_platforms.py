"""Exports of Braintrust, Opik, Weave and Helicone."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source


def tokens(run: RecordedRun) -> list[tuple[str, int | None, int | None]]:
    return [(step.key, step.tokens_in, step.tokens_out) for step in run.steps if step.tokens_in is not None]


def test_tokens_around_model_calls_count_once() -> None:
    assert tokens(fixtures.run("braintrust.jsonl")) == [("b-3", 20, 5), ("b-6", 30, 6)]
    assert tokens(fixtures.run("weave_calls.jsonl")) == [("w-2", 20, 5), ("w-4", 30, 6)]


def test_rows_have_scores_and_errors() -> None:
    run = fixtures.run("braintrust.jsonl")
    assert [(score.name, score.value, score.step) for score in run.judgements] == [
        ("Factuality", 0.6, None),
        ("Factuality", 0.6, "b-7"),
    ]
    found, missing = fixtures.steps(run, StepType.TOOL)
    assert (found.call_id, found.output, missing.status, missing.error) == (
        "call_1",
        "3 copies",
        StepStatus.ERROR,
        "no such shelf",
    )
    assert [step.key for step in fixtures.steps(run, StepType.VALIDATOR)] == ["b-7"]


def test_rows_without_spans_are_runs() -> None:
    row = {"id": "r", "span_id": "s", "root_span_id": "s", "_xact_id": "1", "created": "2026-03-01T10:00:00Z"}
    result = {"input": "Is Dune in stock?", "output": "Yes.", "expected": "Yes.", "scores": {"exact": 1}}
    ((run,), problems) = fixtures.detect_and_read("braintrust", orjson.dumps({"events": [{**row, **result}]}))
    assert (run.external_id, run.metadata["expected"], run.judgements[0].value, problems) == ("s", "Yes.", 1, [])


def test_spans_of_a_trace_may_be_apart() -> None:
    trace: Any = fixtures.source("opik_trace.json").value
    pages = [{"content": [{**trace, "spans": []}]}, {"content": trace["spans"]}]
    run, whole_run = fixtures.read("opik", [pages[1]], [pages[0]])[0], fixtures.run("opik_trace.json")
    assert (run.steps, run.judgements) == (whole_run.steps, whole_run.judgements)
    assert [(step.status, step.error) for step in fixtures.steps(run, StepType.MODEL)] == [
        (StepStatus.OK, ""),
        (StepStatus.ERROR, "too many requests"),
    ]


def test_called_operations_are_tools() -> None:
    run = fixtures.run("weave_calls.jsonl")
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.tool_name, tool.input, tool.call_id) == ("find_book", {"title": "Dune"}, "call_1")
    assert [str(step.cost_usd) for step in fixtures.steps(run, StepType.MODEL)] == ["0.00200000", "None"]


def test_cached_tokens_are_in_original_answers() -> None:
    times = {"started_at": "2026-03-01T10:00:00Z", "ended_at": "2026-03-01T10:00:01Z"}
    answer = {
        "usage": {"prompt_tokens": 42, "prompt_tokens_details": {"cached_tokens": 16}},
        "choices": [{"message": {"role": "assistant", "content": "Hi."}}],
    }
    summary = {"usage": {"gpt-x": {"prompt_tokens": 42, "requests": 1}}}
    call = {"id": "w", "trace_id": "t", "project_id": "p", "op_name": "op", "summary": summary, "output": answer}
    request = {"model": "gpt-x", "messages": [{"role": "user", "content": "Hi"}]}
    details = {"original_usage.prompt_tokens_details.cached_tokens": 16, "prompt_tokens": 42}
    span = {
        "id": "s",
        "trace_id": "t",
        "type": "llm",
        "name": "chat",
        "usage": details,
        "parent_span_id": None,
        "start_time": times["started_at"],
    }
    for format, value in (("weave", {**call, **times, "inputs": request}), ("opik", span)):
        (run,) = fixtures.read(format, [value])
        (step,) = fixtures.steps(run, StepType.MODEL)
        assert (step.tokens_in, step.tokens_cached) == (42, 16)


def test_output_of_a_scorer_is_its_scores() -> None:
    outputs: list[Any] = [{"helpful": 0.7, "is_toxic": False}, 0.5, {"text": "fine"}]
    feedback = [{"feedback_type": "judge", "payload": {"output": output}} for output in outputs]
    call = {"id": "w", "trace_id": "t", "project_id": "p", "op_name": "op", "started_at": "2026-03-01T10:00:00Z"}
    (run,) = fixtures.read("weave", [{**call, "inputs": {"n": 1}, "summary": {"weave": {"feedback": feedback}}}])
    assert [(score.name, score.value) for score in run.judgements] == [
        ("judge.helpful", 0.7),
        ("judge.is_toxic", 0),
        ("judge", 0.5),
        ("judge", None),
    ]


def test_requests_of_a_session_are_one_run() -> None:
    run = fixtures.run("helicone_requests.json")
    assert [(step.key, step.error) for step in run.steps] == [("h-2", ""), ("h-3", "too many requests")]
    assert (run.external_id, run.app, run.status) == ("h-1", "bookshop", RunStatus.FAILED)
    assert {(score.name, score.kind.value, score.step) for score in run.judgements} == {
        ("tone", "score", "h-3"),
        ("feedback", "pass", "h-2"),
    }


def test_cached_tokens_of_a_request_are_beside_its_bodies() -> None:
    rows: Any = fixtures.source("helicone_requests.json").value
    row = {**(rows["data"] if isinstance(rows, dict) else rows)[0], "prompt_cache_read_tokens": 3}
    (run,) = fixtures.read("helicone", [row])
    assert run.steps[0].tokens_cached == 3


def test_bad_traces_are_skipped() -> None:
    trace: Any = fixtures.source("opik_trace.json").value
    (runs, problems) = fixtures.detect_and_read(
        "opik", fixtures.json_lines([{**trace, "id": "bad", "start_time": "never"}, trace])
    )
    assert ([run.external_id for run in runs], len(problems)) == (["o-1"], 1)


def test_calls_of_a_task_are_one_run_with_verdict() -> None:
    def call(number: int, task: str) -> dict[str, Any]:
        messages = [{"role": "user", "content": f"Task {task}"}]
        return {
            "id": f"w-{number}",
            "trace_id": f"t-{number}",
            "project_id": "me/gaia",
            "op_name": "openai.chat.completions.create",
            "started_at": f"2026-03-01T10:00:0{number}Z",
            "ended_at": f"2026-03-01T10:00:0{number}Z",
            "attributes": {"weave_task_id": task},
            "inputs": {"model": "gpt-5", "messages": messages},
            "output": {"choices": [{"message": {"role": "assistant", "content": "Yes."}}]},
        }

    def results(run: str) -> bytes:
        verdicts = {"successful_tasks": ["a"], "failed_tasks": ["b"]}
        calls = [call(1, "a"), call(2, "b"), call(3, "a")]
        return orjson.dumps({"config": {"run_id": run}, "results": verdicts, "raw_logging_results": calls})

    sources = [Source(name=run, data=results(run)) for run in ("r1", "r2")]
    runs = list(registry.get_importer("weave").runs(sources))
    assert [[step.key for step in run.steps] for run in runs] == [["w-1", "w-3"], ["w-2"]] * 2
    assert [run.judgements[0].kind for run in runs] == [JudgementKind.PASS, JudgementKind.FAIL] * 2
    assert (runs[0].external_id, runs[0].metadata["weave_task_id"], runs[0].metadata["config"]) == (
        "t-1",
        "a",
        {"run_id": "r1"},
    )
