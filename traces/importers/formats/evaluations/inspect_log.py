"""Logs of Inspect (inspect_ai): JSON logs, `.eval` archives, and single samples out of them.

Each sample of each epoch is a run; its scores are judgements.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import orjson

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, StepStatus, StepType
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import as_text
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcripts import TranscriptMessage, TranscriptSettings
from traces.importers.files.archives import MAGIC, Archive
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, json_value, obj, require_list, require_object, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Record, Source
from traces.importers.formats.evaluations import inspect_events
from traces.importers.formats.evaluations.inspect_events import ROOT

FORMAT: Final = "inspect"
_HEADERS: Final = ("header.json", "_journal/start.json")
_SAMPLES: Final = "samples/"
# Inspect's letters for correct, incorrect and no answer; a partial answer is a score.
_LETTERS: Final = {"C": JudgementKind.PASS, "I": JudgementKind.FAIL, "N": JudgementKind.FAIL}
_PARTIAL: Final = 0.5
_SAMPLE_FACTS: Final = ("target", "choices", "metadata", "model_usage", "total_time", "working_time", "limit")


@dataclass(frozen=True, kw_only=True)
class _Sample:
    """A sample with the facts of its evaluation."""

    value: JSONObject
    evaluation: JSONObject
    where: str


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each sample."""
    samples = _archived(source) if source.data.startswith(MAGIC) else _listed(source)
    found = False
    for sample in samples:
        found = True
        try:
            yield _run(sample)
        except BadFile as problem:
            source.problems.append(problem)
    if not found and not source.problems:
        raise BadFile("this log of Inspect holds no sample: it is a header, or the samples were not logged", "/samples")


def recognise(sample: Sample) -> bool:
    """Whether a file is a log or a sample of Inspect."""
    if sample.head.startswith(MAGIC):
        try:
            names = Archive(sample.head).names
        except BadFile:
            return False
        return any(name in _HEADERS for name in names)
    values = sample.values or [record.value for record in _with_nan(sample.source)]
    return any(_is_log(obj(value)) or _is_sample(obj(value)) for value in values)


def _with_nan(source: Source) -> list[Record]:
    """The document of a log in which a metric is NaN, which Inspect writes and JSON does not know."""
    if b"NaN" not in source.data or b'"eval"' not in source.data or source.data[:1] != b"{":
        return []
    try:
        return [Record(value=_json(source.data), location="")]
    except BadFile:
        return []


def _json(data: bytes) -> JSONValue:
    """The JSON in `data`, null in the place of numbers that are none."""
    try:
        return json_value(data)
    except BadFile as problem:
        if "is not a JSON number" not in problem.problem:
            raise
        try:
            return json_value(orjson.dumps(json.loads(data, parse_constant=lambda name: None)))
        except (ValueError, RecursionError):
            raise problem from None


def _is_log(given: JSONObject) -> bool:
    return "task" in obj(given.get("eval")) and "status" in given


def _is_sample(given: JSONObject) -> bool:
    return {"id", "epoch", "input", "target", "messages"} <= given.keys()


def _listed(source: Source) -> Iterator[_Sample]:
    source.documents = _with_nan(source)
    for record in source.records():
        given = require_object(record.value, record.location)
        if _is_sample(given):
            yield _Sample(value=given, evaluation={}, where=record.location or "/")
            continue
        evaluation = require_object(given.get("eval"), f"{record.location}/eval")
        for at, each in enumerate(require_list(given.get("samples") or [], f"{record.location}/samples")):
            where = f"{record.location}/samples/{at}"
            yield _Sample(value=require_object(each, where), evaluation=evaluation, where=where)


def _archived(source: Source) -> Iterator[_Sample]:
    archive = Archive(source.data)
    header = next((name for name in _HEADERS if name in archive.names), None)
    evaluation = obj(obj(_json(archive.read(header))).get("eval")) if header else {}
    for name in archive.names:
        if not name.startswith(_SAMPLES) or not name.endswith(".json"):
            continue
        try:
            value = require_object(_json(archive.read(name)), "")
        except BadFile as problem:
            source.problems.append(problem.prefix_location(name))
        else:
            yield _Sample(value=value, evaluation=evaluation, where=name)


def _run(sample: _Sample) -> RecordedRun:
    given, evaluation = sample.value, sample.evaluation
    task, model = text(evaluation.get("task")), text(evaluation.get("model"))
    error = obj(given.get("error"))
    facts: JSONObject = {name: given.get(name) for name in _SAMPLE_FACTS}
    recorded = inspect_events.read(given, sample.where)
    has_calls = any(step.type is StepType.MODEL for step in recorded.steps)
    steps = (
        [_root(given, task, sample.where), *recorded.steps] if has_calls else _transcript(given, model, sample.where)
    )
    return build_run(
        RunFacts(
            external_id=_identity(sample),
            app=app_name(task.rsplit("/", 1)[-1]) or FORMAT,
            format=FORMAT,
            name=f"{task or 'sample'} {text(given.get('id'))}",
            failed=bool(error),
            tags=[*(text(tag) for tag in items(evaluation.get("tags"))), f"sample:{text(given.get('id'))}"],
            metadata={
                **facts,
                "sample_id": given.get("id"),
                "epoch": given.get("epoch"),
                "task": task,
                "model": model,
                "run_id": evaluation.get("run_id"),
                "error": error or None,
                "other_events": dict(recorded.ignored),
            },
            judgements=list(_judgements(obj(given.get("scores")))),
        ),
        steps,
        location=sample.where,
    )


def _identity(sample: _Sample) -> str:
    """The sample's own identifier; older logs have only that of their run."""
    given, evaluation = sample.value, sample.evaluation
    if key := text(given.get("uuid")):
        return key
    name = f"{text(given.get('id'))}/{text(given.get('epoch'))}"
    run = text(first(evaluation, "eval_id", "run_id"))
    return f"{run}/{text(evaluation.get('task_id'))}/{name}" if run else f"{name}/{content_id(given, sample.where)}"


def _root(given: JSONObject, task: str, where: str) -> RecordedStep:
    asked = given.get("input")
    attachments = obj(given.get("attachments"))
    messages = [message for each in items(asked) for message in inspect_events.messages(each, attachments)]
    error = text(obj(given.get("error")).get("message"))
    answer = text(obj(given.get("output")).get("completion"))
    return RecordedStep(
        key=ROOT,
        type=StepType.AGENT,
        name=task or "sample",
        input={"messages": [dict(each) for each in messages]} if messages else {"task": text(asked)},
        output={"text": answer} if answer else None,
        status=StepStatus.ERROR if error else StepStatus.OK,
        error=error,
        started_at=parse_time(given.get("started_at"), where),
        ended_at=parse_time(given.get("completed_at"), where),
    )


def _transcript(given: JSONObject, model: str, where: str) -> list[RecordedStep]:
    """Steps of a sample whose events were not logged."""
    attachments = obj(given.get("attachments"))
    said: list[TranscriptMessage] = []
    for at, each in enumerate(items(given.get("messages"))):
        error = obj(obj(each).get("error"))
        facts = {"error": text(first(error, "message", "type")) or None, "model": obj(each).get("model")}
        for message in inspect_events.messages(each, attachments):
            kept = {name: value for name, value in facts.items() if value}
            said.append(TranscriptMessage(value={**message, **kept}, location=f"{where}/messages/{at}"))
    setting = TranscriptSettings(
        model=model.split("/", 1)[-1], provider=normalize_provider(model.split("/", 1)[0], model)
    )
    steps = transcripts.build_steps(said, setting)
    problem = text(obj(given.get("error")).get("message"))
    return [replace(steps[0], error=problem, status=StepStatus.ERROR), *steps[1:]] if problem else steps


def _judgements(scores: JSONObject) -> Iterator[RecordedJudgement]:
    for name, each in scores.items():
        score = obj(each)
        words = [text(score.get(part)) for part in ("answer", "explanation") if text(score.get(part))]
        value = score.get("value")
        parts = value.items() if isinstance(value, dict) else [("", value)]
        for part, number in parts:
            yield _judgement(f"{name}.{part}" if part else name, number, ": ".join(words))


def _judgement(name: str, value: JSONValue, words: str) -> RecordedJudgement:
    if isinstance(value, str) and value in _LETTERS:
        return RecordedJudgement(name=name, kind=_LETTERS[value], text=words)
    if isinstance(value, bool):
        return RecordedJudgement(name=name, kind=JudgementKind.PASS if value else JudgementKind.FAIL, text=words)
    if value == "P":
        return judgement(name, _PARTIAL, text=words)
    return judgement(name, value if not isinstance(value, list) else as_text(value), text=words)
