"""Results of tau-bench (a list of trials) and tau2-bench (simulations of one evaluation); each trial is a run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_parameters, normalize_provider
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcripts import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, require_list, require_object, text
from traces.importers.files.source import Source

FORMAT: Final = "tau-bench"
_KEPT: Final = ("seed", "duration", "agent_cost", "user_cost", "reward_info", "mode")


@dataclass(frozen=True, kw_only=True)
class _Trial:
    """One trial of a task; `setting` is what its evaluation states about all of them."""

    body: JSONObject
    messages: list[JSONValue]
    setting: TranscriptSettings
    metadata: JSONObject
    domain: str
    identity: str
    where: str


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each trial."""
    for record in source.records():
        for trial in _trials(record.value, record.location):
            try:
                yield _run(trial())
            except BadFile as problem:
                source.problems.append(problem)


def is_result(value: JSONValue) -> bool:
    """Whether `value` is a trial, a list of them, or an evaluation with simulations."""
    if isinstance(value, list):
        return bool(value) and is_result(value[0])
    given = obj(value)
    if {"task_id", "traj"} <= given.keys():
        return True
    return isinstance(given.get("simulations"), list) and not given.keys().isdisjoint({"tasks", "info"})


def _trials(value: JSONValue, where: str) -> Iterator[Callable[[], _Trial]]:
    """Readers of the trials: one that cannot be read leaves the others."""
    if isinstance(value, list):
        for at, each in enumerate(value):
            yield from _trials(each, f"{where}/{at}")
        return
    given = require_object(value, where)
    if "traj" in given:
        yield partial(_trial, given, where)
        return
    info = obj(given.get("info"))
    tasks = {text(obj(each).get("id")): each for each in items(given.get("tasks"))}
    for at, each in enumerate(require_list(given.get("simulations"), f"{where}/simulations")):
        place = f"{where}/simulations/{at}"
        yield partial(_simulation, each, info, tasks, place)


def _trial(body: JSONObject, where: str) -> _Trial:
    task, trial = text(body.get("task_id")), text(body.get("trial"))
    return _Trial(
        body=body,
        messages=require_list(body.get("traj"), f"{where}/traj"),
        setting=TranscriptSettings(),
        metadata={"info": body.get("info")},
        domain="",
        identity=f"{task}/{trial}-{content_id(body, where)}",
        where=where,
    )


def _simulation(value: JSONValue, info: JSONObject, tasks: dict[str, JSONValue], where: str) -> _Trial:
    body = require_object(value, where)
    agent, environment = obj(info.get("agent_info")), obj(info.get("environment_info"))
    model, task = text(agent.get("llm")), text(body.get("task_id"))
    messages: list[JSONValue] = []
    for each in require_list(body.get("messages") or [], f"{where}/messages"):
        several = obj(each).get("tool_messages")
        messages += items(several) if isinstance(several, list) else [each]
    return _Trial(
        body=body,
        messages=messages,
        setting=TranscriptSettings(
            model=model.rsplit("/", 1)[-1],
            provider=normalize_provider(model.split("/", 1)[0] if "/" in model else "", model),
            parameters=normalize_parameters(obj(agent.get("llm_args"))),
        ),
        metadata={name: body[name] for name in _KEPT if body.get(name) is not None}
        | {"task": tasks.get(task), "policy": first(environment, "policy"), "user": info.get("user_info")},
        domain=text(environment.get("domain_name")),
        identity=text(body.get("id")) or f"{task}/{text(body.get('trial'))}-{content_id(body, where)}",
        where=where,
    )


def _run(trial: _Trial) -> RecordedRun:
    body = trial.body
    said = [
        TranscriptMessage(value=each, location=f"{trial.where}/messages/{at}") for at, each in enumerate(trial.messages)
    ]
    steps = transcripts.build_steps(said, trial.setting)
    if error := text(obj(body.get("info")).get("error")):
        steps[0] = _failed(steps[0], error)
    task = text(body.get("task_id"))
    facts: JSONObject = {"task_id": body.get("task_id"), "trial": body.get("trial")}
    return build_run(
        RunFacts(
            external_id=trial.identity,
            app=app_name(trial.domain) or FORMAT,
            format=FORMAT,
            name=f"task {task}",
            tags=[f"task:{task}", f"trial:{text(body.get('trial'))}"],
            metadata={**facts, **trial.metadata},
            started_at=parse_time(body.get("start_time"), trial.where),
            ended_at=parse_time(body.get("end_time"), trial.where),
            judgements=benchmark_scores.read_judgements(body),
        ),
        steps,
        location=trial.where,
    )


def _failed(agent: RecordedStep, error: str) -> RecordedStep:
    """The agent of a trial that an exception ended."""
    return replace(agent, status=StepStatus.ERROR, error=error)
