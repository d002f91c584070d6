"""Trials of Terminal-Bench with the calls of their agent."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import ModelRequest

TRIAL: Any = {
    "id": "t1",
    "trial_name": "shelf.1",
    "task_id": "shelf",
    "instruction": "Count the books.",
    "is_resolved": True,
    "failure_mode": "unset",
    "parser_results": {"test_count": "passed"},
    "total_input_tokens": 30,
}
REQUEST: Any = {"role": "user", "content": "You are in a terminal."}
COMMAND: Any = {"role": "assistant", "content": "ls"}


def call(answer: Any, *messages: Any) -> Any:
    response = {"choices": [{"message": answer}], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}
    return {
        "litellm_call_id": "c",
        "model": "claude-3",
        "messages": messages,
        "optional_params": {"temperature": 0.5},
        "original_response": orjson.dumps(response).decode(),
    }


def read(files: dict[str, Any]) -> tuple[list[RecordedRun], list[str]]:
    importer = registry.get_importer("terminal-bench")
    sources = [Source(name=name, data=orjson.dumps(value)) for name, value in files.items()]
    for source in sources:
        assert registry.detect(fixtures.sample(source.name, source.data)) is importer
    return list(importer.runs(sources)), [str(problem) for source in sources for problem in source.problems]


def test_calls_belong_to_the_trial_of_their_folder() -> None:
    screen, end = {"role": "user", "content": "a.txt"}, {"role": "assistant", "content": "done"}
    files = {
        "run/results.json": {"results": [TRIAL]},
        "run/shelf/shelf.1/results.json": TRIAL,
        "run/shelf/shelf.1/agent-logs/episode-10/debug.json": call(end, REQUEST, COMMAND, screen),
        "run/shelf/shelf.1/agent-logs/episode-9/debug.json": call(COMMAND, REQUEST),
        "run/other/agent-logs/episode-0/debug.json": call(end, REQUEST),
    }
    (run, lone_call), problems = read(files)
    assert (run.external_id, lone_call.format, problems) == ("t1", "chat", [])
    first, second = fixtures.steps(run, StepType.MODEL)
    assert fixtures.answer_contents(run) == ["ls", "done"]
    assert fixtures.request_contents(second) == ["You are in a terminal.", "ls", "a.txt"]
    assert (first.model, first.tokens_in, ModelRequest(first.input).parameters) == (
        "claude-3",
        10,
        {"temperature": 0.5},
    )
    assert (run.steps[0].tokens_in, run.steps[0].output) == (None, {"text": "done"})
    assert [step.name for step in fixtures.steps(run, StepType.VALIDATOR)] == ["test_count"]
    assert [item.name for item in run.judgements] == ["resolved"]


def test_calls_outside_of_episodes_are_those_of_any_program() -> None:
    data = orjson.dumps(call(COMMAND, REQUEST))
    assert registry.detect(fixtures.sample("logs/debug.json", data)).name == "chat"
