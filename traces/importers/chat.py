"""Chat transcripts with tool calls: benchmark trajectories, `messages` lists, requests with their tools.

A transcript says what was said, not which calls were made: every assistant message is taken as one model call
whose input is the conversation so far, every tool message as the answer of the call that it names.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from traces.canonical import NotCanonical, digest
from traces.importers import transcripts
from traces.importers.building import RunFacts, app_name, finish
from traces.importers.calls import answer_of, parameters_of, provider_of
from traces.importers.messages import is_message, tools_of
from traces.importers.models_named import model_in
from traces.importers.problems import BadFile
from traces.importers.reading import first, items, obj, required_list, text
from traces.importers.source import Source
from traces.importers.transcripts import Said, Setting
from traces.json_types import JSONObject, JSONValue
from traces.recording import RecordedRun

FORMAT = "chat"
_IDS = ("run_id", "id", "conversation_id", "session_id", "trace_id", "simulation_id")
_NOT_METADATA = frozenset({"messages", "tools", "functions", "traj", "trajectory", "request", "response", "run_id"})
_NOT_PARAMETERS = frozenset({"messages", "model", "tools", "functions", "system", "response_format", "stream"})
_SAMPLING = frozenset({"temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "seed", "stop",
                       "frequency_penalty", "presence_penalty", "tool_choice", "reasoning_effort"})  # fmt: skip


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
    loose: list[JSONValue] = []
    for record in source.records():
        if source.is_lines and is_message(record.value):
            loose.append(record.value)
        else:
            yield from (_run(each) for each in _transcripts(record.value, record.where, source.name))
    if loose:
        yield _run(_Transcript(body={}, messages=loose, where="", name=source.name))


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
    answer = answer_of(first(body, "response", "choices") and (body.get("response") or body))
    extra = [answer.output["message"]] if answer.output else []
    given = required_list(messages, f"{where}/messages")
    yield _Transcript(body={**body, **request}, messages=given, where=where, name=name, extra=extra)


def _run(given: _Transcript) -> RecordedRun:
    body = given.body
    model = _model(body)
    setting = Setting(
        model=model, provider=provider_of(first(body, "provider"), model),
        tools=tools_of(first(body, "tools", "functions") or []),
        parameters=parameters_of({key: value for key, value in body.items() if key in _SAMPLING}),
        response_format=body.get("response_format"), system=body.get("system"),
        agent=text(obj(body.get("config")).get("agent")) or "agent",
    )  # fmt: skip
    said = [Said(value=each, where=f"{given.where}/messages/{at}") for at, each in enumerate(given.messages)]
    said += [Said(value=each, where=f"{given.where}/response") for each in given.extra]
    return finish(_facts(given, said), transcripts.steps_of(said, setting), where=given.where)


def _model(body: JSONObject) -> str:
    """The model, where the transcript or the name of its configuration leaves no doubt."""
    config = obj(body.get("config"))
    named = first(body, "model", "model_name") or first(config, "model", "model_name")
    if named:
        return text(named)
    return model_in(text(first(config, "run", "name"))) or model_in(text(body.get("source")))


def _facts(given: _Transcript, said: list[Said]) -> RunFacts:
    body = given.body
    metadata = {key: value for key, value in body.items() if key not in _NOT_METADATA | _NOT_PARAMETERS | _SAMPLING}
    scores: JSONObject = {key: value for key, value in obj(body.get("outcome")).items() if value is not None}
    scores |= {key: body[key] for key in ("reward", "score") if body.get(key) is not None}
    return RunFacts(
        external_id=text(first(body, *_IDS)) or f"chat-{_digest([each.value for each in said], given.where)[:16]}",
        app=app_name(body.get("app"), body.get("dataset"), body.get("service_name")) or FORMAT, format=FORMAT,
        name=given.name, tags=_tags(body),
        metadata={**metadata, **({"imported_scores": scores} if scores else {})},
    )  # fmt: skip


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
