"""Chat transcripts with tool calls: benchmark trajectories, `messages` lists, requests with their tools.

A transcript says what was said, not which calls were made: every assistant message is taken as one model call
whose input is the conversation so far, every tool message as the answer of the call that it names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from traces.core.canonical import NotCanonical, digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.messages import is_message, normalize_tools
from traces.importers.common.model_calls import normalize_answer, normalize_parameters, normalize_provider
from traces.importers.common.model_names import find_model_name
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.transcripts import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, require_list, text
from traces.importers.files.source import Source

FORMAT = "chat"
_IDS = ("run_id", "id", "conversation_id", "session_id", "trace_id")
# What tells the runs of one evaluation apart, where its name or the name of a session is all that they share.
_COORDINATES = ("task_id", "sample_id", "trial", "epoch", "attempt")
_TRIAL = frozenset({*_COORDINATES, "simulation_id", "outcome", "reward", "reward_info", "termination_reason"})
_NOT_METADATA = frozenset({"messages", "tools", "functions", "traj", "trajectory", "request", "response", "run_id"})
_NOT_PARAMETERS = frozenset({"messages", "model", "tools", "functions", "system", "response_format", "stream"})
_SAMPLING = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "max_tokens",
        "max_completion_tokens",
        "seed",
        "stop",
        "frequency_penalty",
        "presence_penalty",
        "tool_choice",
        "reasoning_effort",
    }
)


@dataclass(frozen=True, kw_only=True)
class _Transcript:
    """A transcript with its envelope."""

    body: JSONObject
    messages: list[JSONValue]
    where: str
    name: str = ""
    extra: list[JSONValue] = field(default_factory=list)


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each transcript of the file."""
    loose: list[TranscriptMessage] = []
    for record in source.records():
        if source.is_lines and is_message(record.value):
            loose.append(TranscriptMessage(value=record.value, location=record.location))
            continue
        try:
            yield from [_run(each) for each in _transcripts(record.value, record.location, source.name)]
        except BadFile as problem:
            if not source.is_lines:
                raise
            source.problems.append(problem)
    if loose:
        said = transcripts.drop_unreadable(loose, source.problems)
        yield _run(_Transcript(body={}, messages=[each.value for each in said], where="", name=source.name), said)


def _transcripts(value: JSONValue, where: str, name: str) -> Iterator[_Transcript]:
    if isinstance(value, list):
        if all(is_message(each) for each in value):
            yield _Transcript(body={}, messages=value, where=where, name=name)
        else:
            for at, each in enumerate(value):
                yield from _transcripts(each, f"{where}/{at}", name)
        return
    body = obj(value)
    request = obj(body.get("request")) or body
    messages = first(request, "messages", "traj", "trajectory")
    if messages is None:
        raise BadFile("a chat transcript needs `messages`", where or "/messages")
    answer = normalize_answer(first(body, "response", "choices") and (body.get("response") or body))
    extra = [answer.output["message"]] if answer.output else []
    given = require_list(messages, f"{where}/messages")
    yield _Transcript(body={**body, **request}, messages=given, where=where, name=name, extra=extra)


def _run(given: _Transcript, lines: list[TranscriptMessage] | None = None) -> RecordedRun:
    """The run of a transcript; `lines` are its messages where each has a line of its own."""
    body = given.body
    model = _model(body)
    setting = TranscriptSettings(
        model=model,
        provider=normalize_provider(first(body, "provider"), model),
        tools=normalize_tools(first(body, "tools", "functions") or []),
        parameters=normalize_parameters({key: value for key, value in body.items() if key in _SAMPLING}),
        response_format=body.get("response_format"),
        system=body.get("system"),
        agent=text(obj(body.get("config")).get("agent")) or "agent",
    )
    said = lines or [
        TranscriptMessage(value=each, location=f"{given.where}/messages/{at}") for at, each in enumerate(given.messages)
    ]
    said += [TranscriptMessage(value=each, location=f"{given.where}/response") for each in given.extra]
    steps = transcripts.build_steps(said, setting)
    if not said and not _TRIAL.isdisjoint(body):
        steps = [_failed_trial(steps[0], body)]
    return build_run(_facts(given, said), steps, location=given.where)


def _failed_trial(agent: RecordedStep, body: JSONObject) -> RecordedStep:
    """The agent of a trial that ended before anything was said: it is a run, with what is known of its end."""
    reason = text(first(body, "error", "termination_reason") or first(obj(body.get("run_info")), "termination_reason"))
    said = f"the trial ended before any message{': ' if reason else ''}{reason}"
    return replace(agent, status=StepStatus.ERROR, error=said)


def _model(body: JSONObject) -> str:
    """The model, where the transcript or the name of its configuration leaves no doubt."""
    config = obj(body.get("config"))
    named = first(body, "model", "model_name") or first(config, "model", "model_name")
    if named:
        return text(named)
    return find_model_name(text(first(config, "run", "name"))) or find_model_name(text(body.get("source")))


def _facts(given: _Transcript, said: list[TranscriptMessage]) -> RunFacts:
    body = given.body
    metadata = {key: value for key, value in body.items() if key not in _NOT_METADATA | _NOT_PARAMETERS | _SAMPLING}
    scores: JSONObject = {key: value for key, value in obj(body.get("outcome")).items() if value is not None}
    scores |= {key: body[key] for key in ("reward", "score") if body.get(key) is not None}
    return RunFacts(
        external_id=_own_id(body) or f"chat-{_digest([each.value for each in said], given.where)[:16]}",
        app=app_name(body.get("app"), body.get("dataset"), body.get("service_name")) or FORMAT,
        format=FORMAT,
        name=given.name,
        tags=_tags(body),
        metadata={**metadata, **({"imported_scores": scores} if scores else {})},
        judgements=benchmark_scores.read_judgements(body),
    )


def _own_id(body: JSONObject) -> str:
    """The id of the run from everything that identifies it in its file; empty where the file has no ids.

    A run id may be that of a whole evaluation: then the task and the trial belong to the identity. Where a task and a
    trial are all that there is, the rest of the transcript does too, because other files repeat them.
    """
    named = text(first(body, *_IDS))
    place = [part for name in _COORDINATES if (part := text(_coordinate(body, name)))]
    if named and (not place or _ends_with(named, place)):
        return named
    if own := text(first(body, "simulation_id", "id") or first(obj(body.get("run_info")), "simulation_id")):
        return own
    if place:
        return "/".join([named, *place]) if named else f"{'/'.join(place)}-{_digest([body], '')[:16]}"
    return named


def _coordinate(body: JSONObject, name: str) -> JSONValue:
    known = body.get(name)
    return obj(body.get("config")).get(name) if known is None else known


def _ends_with(named: str, place: list[str]) -> bool:
    """Whether an id ends with the task and the trial already, as `airline/12#3` does with 12 and 3."""
    words = re.split(r"[^A-Za-z0-9]+", named)
    ending = re.split(r"[^A-Za-z0-9]+", "/".join(place))
    return words[-len(ending) :] == ending


def _tags(body: JSONObject) -> list[str]:
    """What a person filters by: the task, the configuration, how it went."""
    config, outcome = obj(body.get("config")), obj(body.get("outcome"))
    tags = [text(each) for each in items(body.get("tags"))]
    if (task := text(body.get("task_id"))) != "":
        tags.append(f"task:{task}")
    tags += [f"{key}:{text(value)}" for key, value in config.items() if text(value) and key != "agent"]
    success = outcome.get("success")
    if success is None and isinstance(reward := first(body, "reward"), int | float):
        success = reward >= 1
    if isinstance(success, bool):
        tags.append("outcome:success" if success else "outcome:failed")
    if body.get("annotation"):
        tags.append("annotated")
    return tags


def _digest(value: list[JSONValue], where: str) -> str:
    try:
        return digest(value)
    except NotCanonical as error:
        raise BadFile(error.problem, f"{where}{error.where}") from error
