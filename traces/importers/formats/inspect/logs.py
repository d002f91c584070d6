"""Logs of Inspect (inspect_ai): JSON logs, `.eval` archives, and single samples from them.

Each sample of each epoch is a run; its scores are judgements.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import orjson

from traces.core.json_access import as_list, as_object, as_text, first_member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, StepStatus, StepType
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.messages import result_text
from traces.importers.common.model_calls import normalize_parameters, normalize_provider
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.archives import MAGIC, Archive
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value, require_list, require_object
from traces.importers.files.sample import Sample
from traces.importers.files.source import Record, Source
from traces.importers.formats.inspect import events
from traces.importers.formats.inspect.events import ROOT
from traces.importers.formats.inspect.usage import read_usage

FORMAT: Final = "inspect"
_HEADERS: Final = ("header.json", "_journal/start.json")
_SAMPLES: Final = "samples/"
# Inspect's letters for correct, incorrect and no answer; a partial answer is a score.
_LETTERS: Final = {"C": JudgementKind.PASS, "I": JudgementKind.FAIL, "N": JudgementKind.FAIL}
_PARTIAL: Final = 0.5
_SAMPLE_FACTS: Final = (
    *("target", "choices", "metadata", "model_usage", "role_usage", "total_time", "working_time", "limit"),
    *("error_retries", "invalidation", "store", "files", "setup"),
)
_EVALUATION_FACTS: Final = (
    *("eval_id", "created", "task_file", "task_version", "dataset", "sandbox", "revision", "packages", "solver"),
    *("model_generate_config", "model_args", "model_base_url", "model_roles", "config", "plan"),
)


@dataclass(frozen=True, kw_only=True)
class _Sample:
    """A sample, the facts about its evaluation, and the model's parameters in it."""

    value: JSONObject
    evaluation: JSONObject
    parameters: JSONObject
    location: str


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per sample."""
    samples = _archive_samples(source) if source.data.startswith(MAGIC) else _log_samples(source)
    has_samples = False
    for sample in samples:
        has_samples = True
        try:
            yield _run(sample)
        except BadFile as problem:
            source.problems.append(problem)
    if not has_samples and not source.problems:
        raise BadFile("this Inspect log has no samples: it is a header, or its samples were not logged", "/samples")


def is_inspect_file(sample: Sample) -> bool:
    """Return True if the file is an Inspect log or sample."""
    if sample.head.startswith(MAGIC):
        try:
            names = Archive(sample.head).names
        except BadFile:
            return False
        return any(name in _HEADERS for name in names)
    values = sample.values or [record.value for record in _with_nan(sample.source)]
    return any(_is_log(as_object(value)) or _is_sample(as_object(value)) for value in values)


def _with_nan(source: Source) -> list[Record]:
    """Return the document of a log with NaN metrics, which Inspect writes and JSON forbids."""
    if b"NaN" not in source.data or b'"eval"' not in source.data or source.data[:1] != b"{":
        return []
    try:
        return [Record(value=_json(source.data), location="")]
    except BadFile:
        return []


def _json(data: bytes) -> JSONValue:
    """Parse the JSON in `data`; NaN and infinities become null."""
    try:
        return json_value(data)
    except BadFile as problem:
        if "is not a JSON number" not in problem.problem:
            raise
        try:
            return json_value(orjson.dumps(json.loads(data, parse_constant=lambda name: None)))
        except (ValueError, RecursionError):
            raise problem from None


def _is_log(body: JSONObject) -> bool:
    return "task" in as_object(body.get("eval")) and "status" in body


def _is_sample(body: JSONObject) -> bool:
    return {"id", "epoch", "input", "target", "messages"} <= body.keys()


def _log_samples(source: Source) -> Iterator[_Sample]:
    source.documents = _with_nan(source)
    for record in source.records():
        body = require_object(record.value, record.location)
        if _is_sample(body):
            value = _with_current_names(body, {})
            yield _Sample(value=value, evaluation={}, parameters={}, location=record.location or "/")
            continue
        require_object(body.get("eval"), f"{record.location}/eval")
        evaluation = _evaluation(body)
        parameters = _parameters(evaluation)
        for index, sample in enumerate(require_list(body.get("samples") or [], f"{record.location}/samples")):
            location = f"{record.location}/samples/{index}"
            value = _with_current_names(require_object(sample, location), evaluation)
            yield _Sample(value=value, evaluation=evaluation, parameters=parameters, location=location)


def _evaluation(log: JSONObject) -> JSONObject:
    """Return the facts about an evaluation, with its plan and the name of its only scorer, which early logs have."""
    scorer = as_object(as_object(log.get("results")).get("scorer")).get("name")
    return {**as_object(log.get("eval")), "plan": log.get("plan"), "scorer": scorer}


def _parameters(evaluation: JSONObject) -> JSONObject:
    """Return the parameters of an evaluation's model: those of its plan, and what overrides them."""
    plan_settings = as_object(as_object(evaluation.get("plan")).get("config"))
    return normalize_parameters({**plan_settings, **as_object(evaluation.get("model_generate_config"))})


def _with_current_names(sample: JSONObject, evaluation: JSONObject) -> JSONObject:
    """Return a sample with the members that replaced those of early logs."""
    early: JSONObject = {}
    if "score" in sample:
        early["scores"] = {as_text(evaluation.get("scorer")) or "score": sample["score"]}
    if transcript := as_object(sample.get("transcript")):
        early |= {"events": transcript.get("events"), "attachments": transcript.get("content")}
    return {**early, **sample} if early else sample


def _archive_samples(source: Source) -> Iterator[_Sample]:
    archive = Archive(source.data)
    header = next((name for name in _HEADERS if name in archive.names), None)
    evaluation = _evaluation(as_object(_json(archive.read(header)))) if header else {}
    parameters = _parameters(evaluation)
    for name in archive.names:
        if not name.startswith(_SAMPLES) or not name.endswith(".json"):
            continue
        try:
            value = _with_current_names(require_object(_json(archive.read(name)), ""), evaluation)
        except BadFile as problem:
            source.problems.append(problem.prefix_location(name))
        else:
            yield _Sample(value=value, evaluation=evaluation, parameters=parameters, location=name)


def _run(sample: _Sample) -> RecordedRun:
    body, evaluation = sample.value, sample.evaluation
    task, model = as_text(evaluation.get("task")), as_text(evaluation.get("model"))
    error = as_object(body.get("error"))
    facts: JSONObject = {name: body.get(name) for name in _SAMPLE_FACTS}
    evaluation_facts: JSONObject = {name: evaluation[name] for name in _EVALUATION_FACTS if evaluation.get(name)}
    if "dataset" in evaluation_facts:
        evaluation_facts["dataset"] = omit(as_object(evaluation["dataset"]), "sample_ids")
    sample_steps = events.read_steps(body, sample.location)
    has_calls = any(step.type is StepType.MODEL for step in sample_steps.steps)
    steps = [_root(body, task, sample.location), *sample_steps.steps] if has_calls else _transcript(sample, model)
    return build_run(
        RunFacts(
            external_id=_identity(sample),
            app=app_name(task.rsplit("/", 1)[-1]) or FORMAT,
            format=FORMAT,
            name=f"{task or 'sample'} {as_text(body.get('id'))}",
            failed=bool(error),
            started_at=parse_time(body.get("started_at"), sample.location),
            ended_at=parse_time(body.get("completed_at"), sample.location),
            tags=[*(as_text(tag) for tag in as_list(evaluation.get("tags"))), f"sample:{as_text(body.get('id'))}"],
            metadata={
                **facts,
                "sample_id": body.get("id"),
                "epoch": body.get("epoch"),
                "task": task,
                "model": model,
                "run_id": evaluation.get("run_id"),
                "task_args": evaluation.get("task_args"),
                "task_metadata": evaluation.get("metadata"),
                "evaluation": evaluation_facts,
                "error": error or None,
                "events": sample_steps.reports,
                "other_events": dict(sample_steps.ignored_events),
            },
            judgements=[*_judgements(as_object(body.get("scores"))), *_termination(body)],
        ),
        steps,
        location=sample.location,
    )


def _identity(sample: _Sample) -> str:
    """Return the sample's id, or in older logs, one derived from the id of the run."""
    body, evaluation = sample.value, sample.evaluation
    if key := as_text(body.get("uuid")):
        return key
    name = f"{as_text(body.get('id'))}/{as_text(body.get('epoch'))}"
    run = as_text(first_member(evaluation, "eval_id", "run_id"))
    return (
        f"{run}/{as_text(evaluation.get('task_id'))}/{name}" if run else f"{name}/{content_id(body, sample.location)}"
    )


def _root(body: JSONObject, task: str, location: str) -> RecordedStep:
    task_input = body.get("input")
    attachments = as_object(body.get("attachments"))
    messages = [
        message for item in as_list(task_input) for message in events.normalize_sample_messages(item, attachments)
    ]
    error = as_text(as_object(body.get("error")).get("message"))
    answer = as_text(as_object(body.get("output")).get("completion"))
    return RecordedStep(
        key=ROOT,
        type=StepType.AGENT,
        name=task or "sample",
        input={"messages": [dict(message) for message in messages]} if messages else {"task": as_text(task_input)},
        output={"text": answer} if answer else None,
        status=StepStatus.ERROR if error else StepStatus.OK,
        error=error,
        started_at=parse_time(body.get("started_at"), location),
        ended_at=parse_time(body.get("completed_at"), location),
    )


def _transcript(sample: _Sample, model: str) -> list[RecordedStep]:
    """Build the steps of a sample without logged events."""
    body, location = sample.value, sample.location
    attachments = as_object(body.get("attachments"))
    messages: list[TranscriptMessage] = []
    entries = as_list(body.get("messages"))
    if entries and not any(as_object(entry).get("role") in ("user", "assistant") for entry in entries):
        # A log may have only the results of tools.
        entries = [*_input_messages(body.get("input")), *entries]
    last_answer = next((entry for entry in reversed(entries) if as_object(entry).get("role") == "assistant"), None)
    for index, entry in enumerate(entries):
        error = as_object(as_object(entry).get("error"))
        facts = {
            "error": as_text(first_member(error, "message", "type")) or None,
            "model": as_object(entry).get("model"),
            **(_output_facts(as_object(body.get("output"))) if entry is last_answer else {}),
        }
        for message in events.normalize_sample_messages(entry, attachments):
            known_facts = {name: value for name, value in facts.items() if value}
            messages.append(
                TranscriptMessage(value={**message, **known_facts}, location=f"{location}/messages/{index}")
            )
    setting = TranscriptSettings(
        model=model.split("/", 1)[-1],
        provider=normalize_provider(model.split("/", 1)[0], model),
        parameters=sample.parameters,
    )
    steps = transcripts.build_steps(messages, setting)
    problem = as_text(as_object(body.get("error")).get("message"))
    if problem:
        return [replace(steps[0], error=problem, status=StepStatus.ERROR), *steps[1:]]
    limit = _limit(body)
    has_result = bool(limit or as_object(body.get("scores")))
    return benchmark_scores.fail_without_turns(steps, limit) if has_result else steps


def _input_messages(task_input: JSONValue) -> list[JSONValue]:
    return [{"role": "user", "content": task_input}] if isinstance(task_input, str) else as_list(task_input)


def _limit(body: JSONObject) -> str:
    """Return the limit that ended a sample, such as `message limit`."""
    limit = as_text(as_object(body.get("limit")).get("type"))
    return limit and f"{limit} limit"


def _output_facts(output: JSONObject) -> JSONObject:
    """Return what the output of a sample, which is its last answer, states beside the message."""
    choice = as_object(next(iter(as_list(output.get("choices"))), None))
    return {"usage": read_usage(output), "finish_reason": choice.get("stop_reason")}


def _termination(body: JSONObject) -> list[RecordedJudgement]:
    return [termination(limit)] if (limit := _limit(body)) else []


def _judgements(scores: JSONObject) -> Iterator[RecordedJudgement]:
    for name, score_value in scores.items():
        score = as_object(score_value)
        detail: JSONObject = {part: score[part] for part in ("metadata", "history") if score.get(part)}
        comments = [as_text(score.get(part)) for part in ("answer", "explanation") if as_text(score.get(part))]
        value = score.get("value")
        parts = value.items() if isinstance(value, dict) else [("", value)]
        for part, number in parts:
            verdict = _judgement(f"{name}.{part}" if part else name, number, ": ".join(comments))
            yield replace(verdict, detail=detail)


def _judgement(name: str, value: JSONValue, comment: str) -> RecordedJudgement:
    if isinstance(value, str) and value in _LETTERS:
        return RecordedJudgement(name=name, kind=_LETTERS[value], text=comment)
    if isinstance(value, bool):
        return RecordedJudgement(name=name, kind=JudgementKind.PASS if value else JudgementKind.FAIL, text=comment)
    if value == "P":
        return judgement(name, _PARTIAL, text=comment)
    return judgement(name, value if not isinstance(value, list) else result_text(value), text=comment)
