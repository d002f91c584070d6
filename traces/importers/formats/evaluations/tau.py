"""Results of tau-bench (a list of trials) and tau2-bench (simulations of an evaluation); each trial is a run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_list, omit, other_members
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_parameters, normalize_provider
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_list, require_object
from traces.importers.files.source import Source

FORMAT: Final = "tau-bench"
# Members of a trial that have fields in a run, and those that are read as its steps.
_TRIAL_FIELDS: Final = frozenset(
    {"task_id", "trial", "traj", "messages", "info", "id", "start_time", "end_time", "tasks", "simulations"}
    | {"reward", "termination_reason"}
)
_EVALUATION_FIELDS: Final = frozenset({"agent_info", "environment_info", "user_info"})


@dataclass(frozen=True, kw_only=True)
class _Trial:
    """One trial of a task; `setting` applies to all trials of its evaluation."""

    body: JSONObject
    messages: list[JSONValue]
    setting: TranscriptSettings
    metadata: JSONObject
    domain: str
    identity: str
    location: str


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per trial."""
    for record in source.records():
        for trial in _trials(record.value, record.location):
            try:
                yield _run(trial())
            except BadFile as problem:
                source.problems.append(problem)


def is_result(value: JSONValue) -> bool:
    """Return True if `value` is a trial, a list of trials, or an evaluation with simulations."""
    body = as_object(first_item(value))
    if {"task_id", "traj"} <= body.keys():
        return True
    return has_list(body, "simulations") and not body.keys().isdisjoint({"tasks", "info"})


def _trials(value: JSONValue, location: str) -> Iterator[Callable[[], _Trial]]:
    """Yield a reader per trial, so that one bad trial does not affect the others."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _trials(item, f"{location}/{index}")
        return
    body = require_object(value, location)
    if "traj" in body:
        yield partial(_trial, body, location)
        return
    info = as_object(body.get("info"))
    tasks = {as_text(as_object(task).get("id")): task for task in as_list(body.get("tasks"))}
    for index, item in enumerate(require_list(body.get("simulations"), f"{location}/simulations")):
        trial_location = f"{location}/simulations/{index}"
        yield partial(_simulation, item, info, tasks, trial_location)


def _trial(body: JSONObject, location: str) -> _Trial:
    task, trial = as_text(body.get("task_id")), as_text(body.get("trial"))
    return _Trial(
        body=body,
        messages=require_list(body.get("traj"), f"{location}/traj"),
        setting=TranscriptSettings(),
        metadata={**other_members(body, _TRIAL_FIELDS), "info": body.get("info")},
        domain="",
        identity=f"{task}/{trial}-{content_id(body, location)}",
        location=location,
    )


def _simulation(value: JSONValue, info: JSONObject, tasks: dict[str, JSONValue], location: str) -> _Trial:
    body = require_object(value, location)
    agent, environment = as_object(info.get("agent_info")), as_object(info.get("environment_info"))
    model, task = as_text(agent.get("llm")), as_text(body.get("task_id"))
    messages: list[JSONValue] = []
    for message in require_list(body.get("messages") or [], f"{location}/messages"):
        tool_messages = as_object(message).get("tool_messages")
        messages += as_list(tool_messages) if isinstance(tool_messages, list) else [_with_reason(message)]
    return _Trial(
        body=body,
        messages=messages,
        setting=TranscriptSettings(
            model=model.rsplit("/", 1)[-1],
            provider=normalize_provider(model.split("/", 1)[0] if "/" in model else "", model),
            parameters=normalize_parameters(as_object(agent.get("llm_args"))),
            tools=[_tool(as_object(tool)) for tool in as_object(environment.get("tool_defs")).values()],
        ),
        metadata=other_members(body, _TRIAL_FIELDS)
        | {"evaluation": other_members(info, _EVALUATION_FIELDS), "agent": omit(agent, "llm", "llm_args")}
        | {"task": tasks.get(task), "policy": first_member(environment, "policy"), "user": info.get("user_info")},
        domain=as_text(environment.get("domain_name")),
        identity=as_text(body.get("id")) or f"{task}/{as_text(body.get('trial'))}-{content_id(body, location)}",
        location=location,
    )


def _tool(definition: JSONObject) -> JSONObject:
    fields: JSONObject = {
        "description": first_member(definition, "doc", "description"),
        "parameters": first_member(definition, "params", "parameters"),
    }
    return {"name": definition.get("name"), **{name: item for name, item in fields.items() if item}}


def _with_reason(message: JSONValue) -> JSONValue:
    """Return an answer with the finish reason, which only the response that it was read from has."""
    body = as_object(message)
    reason = as_object(body.get("raw_data")).get("finish_reason")
    return {**body, "finish_reason": reason} if reason and body.get("role") == "assistant" else message


def _run(trial: _Trial) -> RecordedRun:
    body = trial.body
    messages = [
        TranscriptMessage(value=message, location=f"{trial.location}/messages/{index}")
        for index, message in enumerate(trial.messages)
    ]
    steps = transcripts.build_steps(messages, trial.setting)
    if error := as_text(as_object(body.get("info")).get("error")):
        steps[0] = _with_error(steps[0], error)
    judgements = benchmark_scores.read_judgements(body)
    if judgements:
        steps = benchmark_scores.fail_without_turns(steps, benchmark_scores.termination_reason(body))
    task = as_text(body.get("task_id"))
    facts: JSONObject = {"task_id": body.get("task_id"), "trial": body.get("trial")}
    return build_run(
        RunFacts(
            external_id=trial.identity,
            app=app_name(trial.domain) or FORMAT,
            format=FORMAT,
            name=f"task {task}",
            tags=[f"task:{task}", f"trial:{as_text(body.get('trial'))}"],
            metadata={**facts, **trial.metadata},
            started_at=parse_time(body.get("start_time"), trial.location),
            ended_at=parse_time(body.get("end_time"), trial.location),
            judgements=judgements,
        ),
        steps,
        location=trial.location,
    )


def _with_error(agent: RecordedStep, error: str) -> RecordedStep:
    """Return the agent step of a trial that ended with an exception."""
    return replace(agent, status=StepStatus.ERROR, error=error)
