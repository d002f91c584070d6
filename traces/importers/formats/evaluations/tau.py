"""Results of tau-bench (a list of trials) and tau2-bench (simulations of an evaluation); each trial is a run.

tau2-bench writes an evaluation as one file, or as a folder with its settings and a file per simulation:

    <evaluation>/results.json     <evaluation>/simulations/<id>.json
"""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    is_integer,
    omit,
    other_members,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import normalize_parameters, normalize_provider
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import item_by_item, parse_embedded, require_list, require_object
from traces.importers.files.source import Record, Source
from traces.importers.formats.evaluations.tau_ticks import read_ticks

FORMAT: Final = "tau-bench"
# Members of a trial that have fields in a run, and those that are read as its steps.
_TRIAL_FIELDS: Final = frozenset(
    {"task_id", "trial", "traj", "messages", "info", "id", "start_time", "end_time", "tasks", "simulations"}
    | {"reward", "termination_reason", "ticks"}
)
_EVALUATION_FIELDS: Final = frozenset({"agent_info", "environment_info", "user_info"})
_SIMULATION: Final = frozenset({"task_id", "termination_reason", "start_time"})
_SIMULATIONS_FOLDER: Final = "simulations"
_REVIEWS: Final = ("review", "user_only_review")
_ONLY_SETTINGS: Final = (
    "the settings of an evaluation without its simulations: import the folder `simulations` beside it"
)

_ERROR: Final = "Error:"
# How the agents without calls of tools write them, and how they receive the results.
_ACTION: Final = "Action:"
_OUTPUT: Final = "API output: "


@dataclass(frozen=True, kw_only=True)
class _Evaluation:
    """Settings of simulations, and their tasks by id."""

    info: JSONObject = field(default_factory=dict)
    tasks: dict[str, JSONObject] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Trial:
    """One trial of a task; `setting` applies to all trials of its evaluation."""

    body: JSONObject
    messages: list[TranscriptMessage]
    setting: TranscriptSettings
    metadata: JSONObject
    domain: str
    identity: str
    location: str


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trial."""
    records = [(source, record) for source in sources for record in _records(source)]
    evaluations = {
        _folder(source): _evaluation(as_object(record.value))
        for source, record in records
        if _is_settings(record.value)
    }
    with_trials = {_folder(source) for source, record in records if not _is_settings(record.value)}
    for source, record in records:
        folder = _folder(source)
        if not _is_settings(record.value):
            yield from _runs(record, evaluations.get(folder, _Evaluation()), source)
        elif folder not in with_trials:
            source.problems.append(BadFile(_ONLY_SETTINGS, "/"))


def keys(source: Source) -> set[str]:
    """Group the files of an evaluation by their folder."""
    return {str(_folder(source))}


def is_result(value: JSONValue) -> bool:
    """Return True if `value` is a trial, a list of trials, an evaluation, its settings or one simulation of it."""
    body = as_object(first_item(value))
    if {"task_id", "traj"} <= body.keys() or _is_simulation(body) or _is_settings(body):
        return True
    return has_list(body, "simulations") and not body.keys().isdisjoint({"tasks", "info"})


def _is_simulation(body: JSONObject) -> bool:
    return body.keys() >= _SIMULATION and (has_list(body, "messages") or has_list(body, "ticks"))


def _is_settings(value: JSONValue) -> bool:
    """Return whether a file has the settings of an evaluation whose simulations are in other files."""
    body = as_object(value)
    return {"agent_info", "environment_info"} <= as_object(body.get("info")).keys() and not body.get("simulations")


def _folder(source: Source) -> PurePosixPath:
    """Return the folder of the evaluation to which a file belongs."""
    folder = PurePosixPath(source.name).parent
    return folder.parent if folder.name == _SIMULATIONS_FOLDER else folder


def _records(source: Source) -> list[Record]:
    try:
        return list(source.records())
    except BadFile as problem:
        source.problems.append(problem)
        return []


def _evaluation(body: JSONObject) -> _Evaluation:
    tasks = {as_text(task.get("id")): task for task in as_objects(body.get("tasks"))}
    return _Evaluation(info=as_object(body.get("info")), tasks=tasks)


def _runs(record: Record, evaluation: _Evaluation, source: Source) -> Iterator[RecordedRun]:
    for trial in _trials(record.value, record.location, evaluation):
        try:
            yield _run(trial())
        except BadFile as problem:
            source.problems.append(problem)


@item_by_item
def _trials(value: JSONValue, location: str, evaluation: _Evaluation) -> Iterator[Callable[[], _Trial]]:
    """Yield a reader per trial, so that one bad trial does not affect the others."""
    body = require_object(value, location)
    if "traj" in body:
        yield partial(_trial, body, location)
    elif _is_simulation(body):
        yield partial(_simulation, body, evaluation, location)
    else:
        whole = _evaluation(body)
        for index, item in enumerate(require_list(body.get("simulations"), f"{location}/simulations")):
            yield partial(_simulation, item, whole, f"{location}/simulations/{index}")


def _trial(body: JSONObject, location: str) -> _Trial:
    task, trial = as_text(body.get("task_id")), as_text(body.get("trial"))
    messages = [*map(_with_failure, require_list(body.get("traj"), f"{location}/traj"))]
    return _Trial(
        body=body,
        messages=_with_text_calls(_entries(messages, f"{location}/messages")),
        setting=TranscriptSettings(),
        metadata={**other_members(body, _TRIAL_FIELDS), "info": body.get("info")},
        domain="",
        identity=f"{task}/{trial}-{content_id(body, location)}",
        location=location,
    )


def _simulation(value: JSONValue, evaluation: _Evaluation, location: str) -> _Trial:
    body, info = require_object(value, location), evaluation.info
    agent, environment = as_object(info.get("agent_info")), as_object(info.get("environment_info"))
    model, task = as_text(agent.get("llm")), as_text(body.get("task_id"))
    return _Trial(
        body=body,
        messages=_conversation(body, location),
        setting=TranscriptSettings(
            model=model.rsplit("/", 1)[-1],
            provider=normalize_provider(model.split("/", 1)[0] if "/" in model else "", model),
            parameters=normalize_parameters(as_object(agent.get("llm_args"))),
            tools=[_tool(as_object(tool)) for tool in as_object(environment.get("tool_defs")).values()],
        ),
        metadata=other_members(body, _TRIAL_FIELDS)
        | {"evaluation": other_members(info, _EVALUATION_FIELDS), "agent": omit(agent, "llm", "llm_args")}
        | {"task": evaluation.tasks.get(task), "policy": first_member(body, "policy") or environment.get("policy")}
        | {"user": info.get("user_info")},
        domain=as_text(environment.get("domain_name")),
        identity=as_text(body.get("id")) or f"{task}/{as_text(body.get('trial'))}-{content_id(body, location)}",
        location=location,
    )


def _conversation(body: JSONObject, location: str) -> list[TranscriptMessage]:
    """Return the messages of a simulation, or those in the ticks of one in which both sides speak at a time."""
    if not body.get("messages") and body.get("ticks"):
        return read_ticks(body["ticks"], f"{location}/ticks")
    messages: list[JSONValue] = []
    for message in require_list(body.get("messages") or [], f"{location}/messages"):
        tool_messages = as_object(message).get("tool_messages")
        messages += as_list(tool_messages) if isinstance(tool_messages, list) else [_with_reason(message)]
    return _entries(messages, f"{location}/messages")


def _entries(messages: Sequence[JSONValue], location: str) -> list[TranscriptMessage]:
    return [TranscriptMessage(value=message, location=f"{location}/{index}") for index, message in enumerate(messages)]


def _with_text_calls(entries: list[TranscriptMessage]) -> list[TranscriptMessage]:
    """Add the calls in the texts of the agents `react` and `act`, and mark their results, which are no requests."""
    result = [*entries]
    for index, (entry, follower) in enumerate(pairwise(entries)):
        answer, reply = as_object(entry.value), as_object(follower.value)
        output = as_text(reply.get("content"))
        if answer.get("role") != "assistant" or reply.get("role") != "user" or not output.startswith(_OUTPUT):
            continue
        call = as_object(parse_embedded(as_text(answer.get("content")).rpartition(_ACTION)[2].strip()))
        if name := as_text(call.get("name")):
            output = output.removeprefix(_OUTPUT)
            error = output if output.startswith(_ERROR) else ""
            action = TextAction(
                name=name,
                arguments=first_member(call, "arguments", "kwargs"),
                output=output,
                error=error,
                status=StepStatus.ERROR if error else StepStatus.OK,
            )
            result[index] = replace(result[index], actions=(action,))
            result[index + 1] = replace(follower, is_injected=True)
    return result


def _tool(definition: JSONObject) -> JSONObject:
    fields: JSONObject = {
        "description": first_member(definition, "doc", "description"),
        "parameters": first_member(definition, "params", "parameters"),
    }
    return {"name": definition.get("name"), **{name: item for name, item in fields.items() if item}}


def _with_failure(message: JSONValue) -> JSONValue:
    """Return a result of tau-bench, in which a text says that the call failed."""
    body = as_object(message)
    is_failure = body.get("role") == "tool" and as_text(body.get("content")).startswith(_ERROR)
    return {**body, "is_error": True} if is_failure else message


def _with_reason(message: JSONValue) -> JSONValue:
    """Return an answer with the finish reason, which only the response that it was read from has."""
    body = as_object(message)
    reason = as_object(body.get("raw_data")).get("finish_reason")
    return {**body, "finish_reason": reason} if reason and body.get("role") == "assistant" else message


def _run(trial: _Trial) -> RecordedRun:
    body = trial.body
    steps = transcripts.build_steps(trial.messages, trial.setting)
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
            judgements=[*judgements, *_reviews(body, {step.key for step in steps})],
        ),
        steps,
        location=trial.location,
    )


def _reviews(body: JSONObject, keys: Container[str]) -> Iterator[RecordedJudgement]:
    """Yield the errors that a judging model found, as notes: also the simulated user makes some."""
    for name in _REVIEWS:
        for error in as_objects(as_object(body.get(name)).get("errors")):
            turn = error.get("turn_idx")
            step = f"msg-{turn + 1}" if is_integer(turn) else ""
            yield judgement(
                name,
                as_text(error.get("reasoning")),
                step=step if step in keys else None,
                detail=omit(error, "reasoning", "turn_idx"),
            )


def _with_error(agent: RecordedStep, error: str) -> RecordedStep:
    """Return the agent step of a trial that ended with an exception."""
    return replace(agent, status=StepStatus.ERROR, error=error)
