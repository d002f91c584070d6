"""Logs of OpenAI Evals: events of samples, after a line about the whole evaluation and its final report."""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_object, list_or_single
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import normalize_arguments, normalize_messages
from traces.importers.common.model_calls import normalize_provider, normalize_usage
from traces.importers.common.run_builder import AGENT_KEY, RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

FORMAT: Final = "openai-evals"
_EVENT: Final = frozenset({"run_id", "event_id", "sample_id", "type", "data"})
_SAMPLING: Final = "sampling"
_CALL: Final = "function_call"
_ERROR: Final = "error"
_MATCH: Final = "match"
_METRICS: Final = "metrics"


def is_line(value: JSONValue) -> bool:
    """Return True if `value` is a line of such a log."""
    body = as_object(value)
    return body.keys() >= _EVENT or (has_object(body, "spec") and "run_config" in as_object(body["spec"]))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per sample of the evaluation."""
    spec: JSONObject = {}
    report: JSONValue = None
    samples: dict[str, list[JSONObject]] = {}
    for body, location in source.objects():
        if has_object(body, "spec"):
            spec = as_object(body["spec"])
        elif "final_report" in body:
            report = body["final_report"]
        elif body.keys() >= _EVENT and body.get("sample_id") is not None:
            samples.setdefault(as_text(body["sample_id"]), []).append(body)
        elif body.keys() < _EVENT:
            source.problems.append(BadFile("not an event of OpenAI Evals", location))
    if not samples:
        source.problems.append(BadFile("this log of OpenAI Evals has no events of samples", "line 1"))
    for sample, events in samples.items():
        try:
            yield _run(spec, report, sample, events)
        except BadFile as problem:
            source.problems.append(problem)


def _run(spec: JSONObject, report: JSONValue, sample: str, events: Sequence[JSONObject]) -> RecordedRun:
    place = f"sample {sample}"
    errors = [as_object(event["data"]) for event in events if event.get("type") == _ERROR]
    model = _model(spec)
    steps = [step for event in events for step in _steps(event, model, place)]
    root = RecordedStep(
        key=AGENT_KEY,
        type=StepType.AGENT,
        name=as_text(spec.get("eval_name")) or FORMAT,
        started_at=min((step.started_at for step in steps if step.started_at), default=None),
        status=StepStatus.ERROR if errors else StepStatus.OK,
        error=as_text(first_member(errors[-1], "message", "type")) or "error" if errors else "",
    )
    return build_run(
        RunFacts(
            external_id=f"{as_text(events[0].get('run_id'))}/{sample}",
            app=as_text(first_member(spec, "base_eval", "eval_name")) or FORMAT,
            format=FORMAT,
            tags=[f"sample:{sample}"],
            metadata={
                "spec": {name: item for name, item in spec.items() if name != "run_id"},
                "final_report": report,
                "events": [_other(event) for event in events if event.get("type") not in (_SAMPLING, _CALL, _ERROR)],
            },
            judgements=[score for event in events for score in _judgements(event)],
        ),
        [root, *steps],
        location=place,
    )


def _model(spec: JSONObject) -> str:
    """Return the model, if the program that answers is named like one."""
    names = [as_text(name) for name in as_list(spec.get("completion_fns"))]
    return names[0] if len(names) == 1 and normalize_provider(None, names[0]) else ""


def _other(event: JSONObject) -> JSONObject:
    return {"type": event.get("type"), "data": event.get("data")}


def _steps(event: JSONObject, default_model: str, place: str) -> Iterator[RecordedStep]:
    """Yield the steps of an event: several texts that were sampled are several calls of a model."""
    data, key = as_object(event.get("data")), as_text(event.get("event_id"))
    time = parse_time(event.get("created_at"), place)
    if event.get("type") == _SAMPLING:
        model = as_text(data.get("model")) or default_model
        usage = normalize_usage(as_object(data.get("usage")), f"{place}/usage")
        messages = normalize_messages(data.get("prompt"))
        texts = list_or_single(data.get("sampled"))
        for index, text in enumerate(texts):
            yield RecordedStep(
                key=key if index == 0 else f"{key}.{index}",
                type=StepType.MODEL,
                name=model or "model",
                model=model,
                provider=normalize_provider(None, model),
                parent=AGENT_KEY,
                ended_at=time,
                input={"messages": [*messages]} if messages else None,
                output={"message": _answer(text)},
                tokens_in=usage.tokens_in if index == 0 else None,
                tokens_out=usage.tokens_out if index == 0 else None,
            )
    elif event.get("type") == _CALL:
        name = as_text(data.get("name"))
        yield RecordedStep(
            key=key,
            type=StepType.TOOL,
            name=name or "tool",
            tool_name=name,
            parent=AGENT_KEY,
            ended_at=time,
            input=normalize_arguments(data.get("arguments")),
            output=data.get("return_value"),
        )


def _answer(value: JSONValue) -> JSONObject:
    messages = normalize_messages(value, "assistant")
    return messages[-1] if messages else {"role": "assistant", "content": as_text(value)}


def _judgements(event: JSONObject) -> Iterator[RecordedJudgement]:
    data = as_object(event.get("data"))
    if event.get("type") == _MATCH:
        notes = [f"{name} {text}" for name in ("expected", "picked") if (text := as_text(data.get(name)))]
        yield judgement("correct", data.get("correct"), text=", ".join(notes))
    elif event.get("type") == _METRICS:
        for name, value in data.items():
            if isinstance(value, bool | int | float):
                yield judgement(name, value)
