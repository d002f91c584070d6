"""Results of Terminal-Bench (`results.json` of a run or of one trial): what was asked, and which tests passed.

What the agent did is in the logs of the agent. The run of a trial has a validator per test.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common import benchmark_scores
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.model_calls import parse_token_count
from traces.importers.common.run_builder import AGENT_KEY, RunFacts, build_run
from traces.importers.common.times import parse_span
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_list, require_object
from traces.importers.files.source import Source

FORMAT: Final = "terminal-bench"
_TRIAL: Final = frozenset({"trial_name", "task_id", "is_resolved"})
# Why a trial did not fail.
_NO_FAILURE: Final = frozenset({"", "unset", "none"})


def is_result(value: JSONValue) -> bool:
    """Return True if `value` is the result of a trial, or of a run with trials."""
    body = as_object(value)
    results = body.get("results")
    first = as_object(results[0]) if isinstance(results, list) and results else body
    return first.keys() >= _TRIAL


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per trial."""
    for record in source.records():
        body = require_object(record.value, record.location)
        location = f"{record.location}/results"
        results = require_list(body["results"], location) if "results" in body else [body]
        for index, trial in enumerate(results):
            place = f"{location}/{index}" if "results" in body else record.location
            try:
                yield _run(require_object(trial, place), place)
            except BadFile as problem:
                source.problems.append(problem)


def _run(body: JSONObject, location: str) -> RecordedRun:
    task, failure = as_text(body.get("task_id")), as_text(body.get("failure_mode"))
    failure = "" if failure in _NO_FAILURE else failure
    times = parse_span(body.get("trial_started_at"), body.get("trial_ended_at"), location)
    return build_run(
        RunFacts(
            external_id=as_text(first_member(body, "id", "trial_name")),
            app=FORMAT,
            format=FORMAT,
            name=task,
            failed=bool(failure),
            started_at=times.start,
            ended_at=times.end,
            tags=[f"task:{task}"],
            metadata=omit(body, "id", "instruction", "parser_results"),
            judgements=_judgements(body, failure),
        ),
        benchmark_scores.fail_without_turns([_agent(body, failure, location), *_tests(body, location)], failure),
        location=location,
    )


def _agent(body: JSONObject, failure: str, location: str) -> RecordedStep:
    times = parse_span(body.get("agent_started_at"), body.get("agent_ended_at"), location)
    request: JSONObject = {"role": "user", "content": body.get("instruction")}
    return RecordedStep(
        key=AGENT_KEY,
        type=StepType.AGENT,
        name="agent",
        input={"messages": [request]} if body.get("instruction") else None,
        status=StepStatus.ERROR if failure else StepStatus.OK,
        error=failure,
        # Agents that do not count have zeros.
        tokens_in=parse_token_count(body.get("total_input_tokens") or None, location),
        tokens_out=parse_token_count(body.get("total_output_tokens") or None, location),
        started_at=times.start,
        ended_at=times.end,
    )


def _tests(body: JSONObject, location: str) -> Iterator[RecordedStep]:
    times = parse_span(body.get("test_started_at"), body.get("test_ended_at"), location)
    for name, verdict in as_object(body.get("parser_results")).items():
        yield RecordedStep(
            key=f"test-{name}",
            type=StepType.VALIDATOR,
            name=name,
            output={"passed": verdict == "passed", "result": verdict},
            started_at=times.start,
            ended_at=times.end,
        )


def _judgements(body: JSONObject, failure: str) -> Iterator[RecordedJudgement]:
    if isinstance(body.get("is_resolved"), bool):
        yield judgement("resolved", body["is_resolved"])
    if failure:
        yield termination(failure)
