"""Chat transcripts with tool calls: benchmark trajectories, `messages` lists, requests with their tools.

A transcript records messages, not calls. Every assistant message becomes one model call whose input is the
conversation so far. Every tool message becomes the result of the call that it names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from traces.core.canonical import NotCanonical, digest
from traces.core.json_access import (
    as_list,
    as_object,
    as_string,
    as_text,
    first_member,
    has_list,
    has_object,
    has_string,
    omit,
    text_or_json,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.messages import is_message, message_text, normalize_messages
from traces.importers.common.model_calls import normalize_answer, normalize_parameters, normalize_provider
from traces.importers.common.names import find_model_name
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import (
    TextAction,
    TranscriptMessage,
    TranscriptSettings,
    drop_unreadable,
)
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded, require_list
from traces.importers.files.python_literals import parse_object
from traces.importers.files.source import Source
from traces.importers.formats.chats.openai_items import is_item_list, normalize_items, page_items
from traces.importers.formats.training.text_calls import answer_actions, results_after

FORMAT = "chat"
_IDS = ("run_id", "id", "traj_id", "trajectory_id", "uuid", "conversation_id", "session_id", "trace_id", "executionId")
# Ids of conversations under which applications store them.
_CHAT_IDS = ("thread_id", "chat_id", "threadId", "chatId", "conversationId", "sessionId", "_id", "rollout_id")
# Fields that distinguish the runs of one evaluation when they share its name or a session id.
_COORDINATES = (
    *("task_id", "instance_id", "sample_id", "trial", "epoch", "attempt"),
    *("suite_name", "user_task_id", "injection_task_id", "attack_type"),
)
_TRIAL = frozenset(
    {*_COORDINATES, "simulation_id", "outcome", "reward", "reward_info", "eval_result", "termination_reason"}
)
# Where the messages of a transcript are, in the terms of benchmarks and data sets.
LISTS = ("messages", "traj", "trajectory", "conversation", "conversations", "history", "turns", "chat")
_TOOLS = ("tools", "functions", "available_tools")
_NOT_METADATA = frozenset({*LISTS, *_TOOLS, "request", "response", "run_id", "kwargs", "completion"})
_COUNTS = ("prompt_tokens", "completion_tokens")
_NOT_PARAMETERS = frozenset({"messages", "model", "tools", "functions", "system", "response_format", "stream"})
_SAMPLING = frozenset(
    {"temperature", "top_p", "top_k", "seed", "stop", "stop_sequences", "top_logprobs"}
    | {"max_tokens", "max_completion_tokens", "max_output_tokens", "frequency_penalty", "presence_penalty"}
    | {"tool_choice", "parallel_tool_calls", "reasoning_effort"}
)
_ANSWER_FIELDS = frozenset({"role", "content", "tool_calls"})
_SYSTEM_PROMPT = "_system_prompt"
_MARKS = frozenset({"_usage", "_checkpoint"})
# Settings of requests, which in data sets are texts.
_OBJECT_SETTINGS = ("thinking", "reasoning")


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """A transcript and the object around it."""

    body: JSONObject
    messages: list[JSONValue]
    location: str
    name: str = ""
    extra: list[JSONValue] = field(default_factory=list)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per transcript of the file."""
    lines: list[TranscriptMessage] = []
    for record in source.records():
        if source.has_rows and (line := _line(record.value)) is not None:
            lines += [TranscriptMessage(value=line, location=record.location)] if line else []
            continue
        try:
            yield from [_run(transcript) for transcript in read_transcripts(record.value, record.location, source.name)]
        except BadFile as problem:
            if not source.has_rows:
                raise
            source.problems.append(problem)
    if lines:
        yield _lines_run(lines, source)


def _line(value: JSONValue) -> JSONObject | None:
    """Return the message on a line, empty if it is none of the conversation; None if it is something else."""
    body = as_object(value)
    if is_message(value) or is_item_list([value]):
        return body
    # Kimi CLI writes its own facts in roles that begin so.
    role = as_text(body.get("role"))
    if role == _SYSTEM_PROMPT:
        return {"role": "system", "content": body.get("content")}
    return {} if role in _MARKS else None


def _lines_run(lines: list[TranscriptMessage], source: Source) -> RecordedRun:
    values = [line.value for line in lines]
    if not all(map(is_message, values)):
        return _run(Transcript(body={}, messages=[*normalize_items(values)], location="", name=source.name))
    messages = drop_unreadable(lines, source.problems)
    transcript = Transcript(body={}, messages=[message.value for message in messages], location="", name=source.name)
    return _run(transcript, messages)


def read_transcripts(value: JSONValue, location: str, name: str) -> Iterator[Transcript]:
    """Yield the transcripts in a value; `extra` of each is the answer beside its messages."""
    if isinstance(value, list):
        if _are_messages(value):
            yield Transcript(body={}, messages=value, location=location, name=name)
        elif is_item_list(value):
            yield Transcript(body={}, messages=[*normalize_items(value)], location=location, name=name)
        else:
            for index, item in enumerate(value):
                yield from read_transcripts(item, f"{location}/{index}", name)
        return
    body = logged_call(as_object(value))
    if items := page_items(body):
        yield from read_transcripts(items, f"{location}/data", name)
        return
    request = request_of(body)
    messages = first_member(request, *LISTS)
    if messages is None:
        raise BadFile("a chat transcript needs `messages`", location or "/messages")
    listed_messages = require_list(messages, f"{location}/messages")
    extra = _recorded_answer(body, listed_messages, as_text(request.get("model")))
    if extra and listed_messages and _is_same_answer(listed_messages[-1], extra[0]):
        # Benchmarks state the last answer once more.
        extra = [{**as_object(listed_messages[-1]), **as_object(extra[0])}]
        listed_messages = listed_messages[:-1]
    yield Transcript(body={**body, **request}, messages=listed_messages, location=location, name=name, extra=extra)


def _is_same_answer(message: JSONValue, answer: JSONValue) -> bool:
    """Return whether a message is the answer that a file also states beside its messages."""
    fields = {name: item for name, item in as_object(answer).items() if name in _ANSWER_FIELDS}
    is_answer = as_object(message).get("role") == "assistant"
    return is_answer and normalize_messages(message, "assistant") == normalize_messages(fields, "assistant")


def _are_messages(items: list[JSONValue]) -> bool:
    """Return whether these are messages; some programs have roles of their own after the first ones."""
    return all(map(is_message, items[:1])) and all(is_message(item) or _has_own_role(item) for item in items)


def _has_own_role(item: JSONValue) -> bool:
    """Return whether a message has a role of the program that added it, such as `context_file`."""
    return not is_message(item) and has_string(item, "role") and "content" in as_object(item)


def logged_call(body: JSONObject) -> JSONObject:
    """Return a call with its response: as OpenPipe exports it, or LiteLLM passes it to loggers such as Terminus's."""
    if has_list(body.get("input"), "messages") and has_list(body.get("output"), "choices"):
        return {**omit(body, "input", "output"), "request": body["input"], "response": body["output"]}
    response = parse_embedded(body.get("original_response"))
    if "litellm_call_id" not in body or not isinstance(response, dict):
        return body
    settings = as_object(body.get("optional_params"))
    return {**settings, **omit(body, "original_response", "optional_params", "input"), "response": response}


def request_of(body: JSONObject) -> JSONObject:
    """Return the object with the messages of a transcript and its settings, which OpenHands writes as `kwargs`.

    Data sets from tables have lists as texts. Rollouts of training have a prompt and what followed as two lists.
    """
    request = {**as_object(body.get("kwargs")), **(as_object(body.get("request")) or body)}
    texts = {name: request[name] for name in LISTS if isinstance(request.get(name), str)}
    lists: JSONObject = {name: value for name, text in texts.items() if isinstance(value := parse_embedded(text), list)}
    if has_list(body, "prompt") and has_list(body, "completion"):
        lists |= {"messages": [*as_list(body["prompt"]), *as_list(body["completion"])], "prompt": None}
    elif has_list(body, "input") and isinstance(body.get("output"), str) and is_message(first_item(body["input"])):
        answer: JSONObject = {"role": "assistant", "content": body["output"]}
        lists |= {"messages": [*as_list(body["input"]), answer], "input": None, "output": None}
    return {**request, **lists}


def _recorded_answer(body: JSONObject, messages: list[JSONValue], model: str) -> list[JSONValue]:
    """Return the answer to the messages with the facts of its envelope, or the error instead of it; none if neither.

    `model` is that of the request; the answer may name a version of it.
    """
    response = as_object(_response(body))
    envelope = (_response(body) or body) if first_member(body, "response", "choices") else None
    # Some logs have the error as the response.
    answer = normalize_answer(None if "error" in response and "choices" not in response else envelope)
    is_open = bool(messages) and as_object(messages[-1]).get("role") != "assistant"
    if not answer.output and not (is_open and _error(body)):
        return []
    facts: JSONObject = {
        "id": first_member(response, "id"),
        "model": model or answer.model,
        "response_model": answer.model if model and model != answer.model else "",
        "usage": first_member(response, "usage") or _usage(body),
        "cost": first_member(body, "response_cost", "cost"),
        "ts": first_member(body, "endTime", "end_time", "timestamp") or first_member(response, "created"),
        "error": None if answer.output else _error(body),
        "finish_reason": (answer.output or {}).get("finish_reason"),
        "other_choices": as_list(first_member(response or body, "choices"))[1:],
    }
    message = as_object((answer.output or {}).get("message")) or {"role": "assistant", "content": None}
    return [{**message, **{name: value for name, value in facts.items() if value}}]


def _response(body: JSONObject) -> JSONValue:
    """Return the response of a call. In DSPy's history as JSON, it is the text of an object; `outputs` has the rest."""
    response = body.get("response")
    if not isinstance(response, str) or "outputs" not in body:
        return response
    if (fields := parse_object(response)) is not None:
        return fields
    output = next(iter(as_list(body["outputs"])), None)
    text = as_object(output).get("text")
    thoughts = as_object(output).get("reasoning_content")
    return (
        response if output is None else {"role": "assistant", "content": text or output, "reasoning_content": thoughts}
    )


def _error(body: JSONObject) -> JSONValue:
    """Return the error instead of an answer, which some logs have as the response."""
    return body.get("error") or as_object(body.get("response")).get("error")


def _usage(body: JSONObject) -> JSONValue:
    """Return the usage of a call in the log of a client, which may write its counts beside the answer."""
    return first_member(body, "usage") or {name: body[name] for name in _COUNTS if name in body}


def read_settings(body: JSONObject) -> JSONObject:
    """Return what shapes the answers."""
    objects: JSONObject = {name: body[name] for name in _OBJECT_SETTINGS if has_object(body, name)}
    return {**{key: value for key, value in body.items() if key in _SAMPLING}, **objects}


def _run(transcript: Transcript, lines: list[TranscriptMessage] | None = None) -> RecordedRun:
    """Build the run of a transcript; `lines` are its messages if the file has one message per line."""
    body, settings = transcript.body, read_settings(transcript.body)
    model = _model(body)
    setting = TranscriptSettings(
        model=model,
        provider=normalize_provider(first_member(body, "provider"), model),
        tools=normalize_tools(first_member(body, *_TOOLS) or []),
        parameters=normalize_parameters(settings),
        response_format=body.get("response_format"),
        system=_system(body, transcript.messages),
        agent=as_text(as_object(body.get("config")).get("agent")) or "agent",
    )
    messages = lines or list(_entries(transcript))
    messages += [
        TranscriptMessage(value=message, location=f"{transcript.location}/response") for message in transcript.extra
    ]
    steps = transcripts.build_steps(messages, setting)
    if not _TRIAL.isdisjoint(body):
        steps = benchmark_scores.fail_without_turns(steps, benchmark_scores.termination_reason(body))
    if (error := _error(body)) and not steps[0].error:
        steps = [replace(steps[0], status=StepStatus.ERROR, error=text_or_json(error)), *steps[1:]]
    return build_run(_facts(transcript, messages), steps, location=transcript.location)


def _entries(transcript: Transcript) -> Iterator[TranscriptMessage]:
    """Yield the messages; after an answer with calls in its text, those that follow are what these returned."""
    last_result = -1
    for index, message in enumerate(transcript.messages):
        body = as_object(message)
        actions: tuple[TextAction, ...] = ()
        if body.get("role") == "assistant" and not body.get("tool_calls"):
            results = results_after(transcript.messages, index)
            actions = answer_actions(message_text(body), results)
            last_result = index + len(results) if actions else last_result
        location = f"{transcript.location}/messages/{index}"
        is_injected = index <= last_result and body.get("role") != "assistant"
        yield TranscriptMessage(
            value=message, location=location, actions=actions, is_injected=is_injected or _has_own_role(message)
        )


def _system(body: JSONObject, messages: list[JSONValue]) -> JSONValue:
    """Return the instructions that a file states beside the messages, if these have none."""
    has_instructions = any(as_object(message).get("role") == "system" for message in messages[:1])
    return body.get("system") or (None if has_instructions else body.get("system_prompt"))


def _model(body: JSONObject) -> str:
    """Return the model, if the transcript or the name of its configuration is unambiguous."""
    config = as_object(body.get("config"))
    model = first_member(body, "model", "model_name") or first_member(config, "model", "model_name")
    # Kiro writes it in the metadata of an execution.
    model = model or as_object(body.get("metadata")).get("modelId")
    if model:
        return as_text(model)
    names = (first_member(config, "run", "name"), body.get("source"), body.get("pipeline_name"), body.get("model_path"))
    return next((model for name in names if (model := find_model_name(as_text(name)))), "")


def _facts(transcript: Transcript, messages: list[TranscriptMessage]) -> RunFacts:
    body = transcript.body
    mapped_fields = _NOT_METADATA | _NOT_PARAMETERS | read_settings(body).keys()
    metadata = {key: value for key, value in body.items() if key not in mapped_fields}
    scores: JSONObject = {key: value for key, value in as_object(body.get("outcome")).items() if value is not None}
    scores |= {key: body[key] for key in ("reward", "score") if body.get(key) is not None}
    return RunFacts(
        external_id=_own_id(body) or f"chat-{_content_id(body, messages, transcript.location)}",
        app=app_name(body.get("app"), body.get("dataset"), body.get("service_name")) or FORMAT,
        format=FORMAT,
        name=transcript.name,
        title=as_string(body.get("title")),
        tags=_tags(body),
        metadata={**metadata, **({"imported_scores": scores} if scores else {})},
        judgements=benchmark_scores.read_judgements(body),
    )


def _own_id(body: JSONObject) -> str:
    """Return the id of the run; empty if the file has no ids.

    A run id may name a whole evaluation: then the task and the trial are part of the identity. Without any id, so is
    the rest of the transcript, because other files repeat the same task and trial.
    """
    run_id = as_text(first_member(body, *_IDS, *_CHAT_IDS) or as_object(body.get("metadata")).get("session_id"))
    coordinates = [part for name in _COORDINATES if (part := as_text(_coordinate(body, name)))]
    if run_id and (not coordinates or _ends_with(run_id, coordinates)):
        return run_id
    if trial_id := as_text(
        first_member(body, "simulation_id", "id") or first_member(as_object(body.get("run_info")), "simulation_id")
    ):
        return trial_id
    if coordinates:
        return "/".join([run_id, *coordinates]) if run_id else f"{'/'.join(coordinates)}-{_digest([body], '')[:16]}"
    return run_id


def _content_id(body: JSONObject, messages: list[TranscriptMessage], location: str) -> str:
    """Return a digest of the messages and of what else the file states: equal messages may be of different trials."""
    values = [message.value for message in messages] or [body]
    fields: JSONObject = {name: value for name, value in body.items() if name not in LISTS}
    return _digest([*values, fields] if fields and messages else values, location)[:16]


def _coordinate(body: JSONObject, name: str) -> JSONValue:
    value = body.get(name)
    return as_object(body.get("config")).get(name) if value is None else value


def _ends_with(run_id: str, coordinates: list[str]) -> bool:
    """Return True if an id already ends with the task and the trial, as `airline/12#3` does for 12 and 3."""
    words = re.split(r"[^A-Za-z0-9]+", run_id)
    ending = re.split(r"[^A-Za-z0-9]+", "/".join(coordinates))
    return words[-len(ending) :] == ending


def _tags(body: JSONObject) -> list[str]:
    """Return tags to filter by: task, configuration, outcome."""
    config, outcome = as_object(body.get("config")), as_object(body.get("outcome"))
    tags = [as_text(tag) for tag in as_list(body.get("tags"))]
    if (task := as_text(first_member(body, "task_id", "instance_id"))) != "":
        tags.append(f"task:{task}")
    tags += [f"{key}:{as_text(value)}" for key, value in config.items() if as_text(value) and key != "agent"]
    success = outcome.get("success")
    if success is None and isinstance(reward := first_member(body, "reward"), int | float):
        success = reward >= 1
    if isinstance(success, bool):
        tags.append("outcome:success" if success else "outcome:failed")
    if body.get("annotation"):
        tags.append("annotated")
    return tags


def _digest(value: list[JSONValue], location: str) -> str:
    try:
        return digest(value)
    except NotCanonical as error:
        raise BadFile(error.problem, f"{location}{error.pointer}") from error
