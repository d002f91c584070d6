"""HELM: `scenario_state.json` with requests and answers, and `per_instance_stats.json` with what these are worth."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    has_object,
    is_number,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import normalize_messages
from traces.importers.common.model_calls import Answer, model_input, normalize_parameters, normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, add_milliseconds, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source, parse_records

FORMAT: Final = "helm"
_STATES: Final = "request_states"
_NO_SCENARIO: Final = "only statistics of instances: import them together with `scenario_state.json`"
_OTHER_STATISTICS: Final = "statistics that may be of several scenarios were not imported: import one folder at a time"
_NOT_PARAMETERS: Final = frozenset(
    {"model", "model_deployment", "prompt", "messages", "multimodal_prompt", "embedding", "echo_prompt", "random"}
)
_FACTS: Final = ("instance", "reference_index", "request_mode", "train_trial_index", "output_mapping", "annotations")


def is_file(value: JSONValue) -> bool:
    """Return True if `value` is the state of a scenario, or the statistics of its instances."""
    body = as_object(first_item(value))
    return (has_list(body, _STATES) and has_object(body, "adapter_spec")) or _is_statistics(body)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per request of a scenario; statistics of its instances become judgements.

    Instances of other scenarios and models have the same ids. So statistics are those of the scenario in their folder,
    and of none if several are there, as in files without folders.
    """
    folders: dict[PurePosixPath, list[Source]] = {}
    for source in sources:
        folders.setdefault(PurePosixPath(source.name).parent, []).append(source)
    for files in folders.values():
        yield from _runs(files)


def _runs(files: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield the runs of the files in one folder."""
    records = list(parse_records(files, _read))
    scenarios = [(body, location) for body, location in records if has_list(body, _STATES)]
    scores: dict[str, list[JSONObject]] = {}
    for body, _ in records:
        if _is_statistics(body):
            scores.setdefault(_instance(body, as_text(body.get("instance_id"))), []).append(body)
    if scores and len(scenarios) != 1:
        files[-1].problems.append(BadFile(_OTHER_STATISTICS if scenarios else _NO_SCENARIO, "/"))
        scores = {}
    for scenario, location in scenarios:
        for index, state in enumerate(as_objects(scenario[_STATES])):
            try:
                yield _run(scenario, state, scores, f"{location}/{_STATES}/{index}")
            except BadFile as problem:
                files[-1].problems.append(problem)


def _read(value: JSONValue, location: str) -> Iterator[tuple[JSONObject, str]]:
    for item in value if isinstance(value, list) else [value]:
        if not is_file(item):
            raise BadFile("not a state of a scenario of HELM, or statistics of its instances", location)
        yield as_object(item), location


def _is_statistics(body: JSONObject) -> bool:
    return {"instance_id", "train_trial_index", "stats"} <= body.keys()


def _instance(body: JSONObject, id: str) -> str:
    """Return what identifies an instance in a trial, also among perturbed copies of it."""
    perturbation = as_object(body.get("perturbation"))
    return f"{id}/{as_text(body.get('train_trial_index'))}/{content_id(perturbation, '') if perturbation else ''}"


def _run(scenario: JSONObject, state: JSONObject, scores: dict[str, list[JSONObject]], location: str) -> RecordedRun:
    adapter, instance = as_object(scenario.get("adapter_spec")), as_object(state.get("instance"))
    request, result = as_object(state.get("request")), as_object(state.get("result"))
    id = as_text(instance.get("id"))
    completions = as_objects(result.get("completions"))
    error = as_text(result.get("error")) or ("" if result.get("success") is not False else "failed")
    start = parse_time(result.get("request_datetime"), location)
    seconds = result.get("request_time")
    model = as_text(first_member(request, "model", "model_deployment")) or as_text(adapter.get("model"))
    messages = normalize_messages(first_member(request, "messages", "prompt"))
    parameters = {name: item for name, item in request.items() if name not in _NOT_PARAMETERS}
    step = build_step(
        SpanFacts(
            key="call",
            name=model or "model",
            type=StepType.MODEL,
            times=Span(start=start, end=add_milliseconds(start, seconds * 1_000 if is_number(seconds) else None)),
            failed=bool(error),
            error=error,
            request=model_input(messages, [], normalize_parameters(parameters)),
            answer=_answer(completions[0]) if completions else Answer(output=None),
            model=model.rpartition("/")[2],
            provider=model.partition("/")[0] if "/" in model else normalize_provider(None, model),
            attributes=_attributes(state, result, completions),
        )
    )
    identity: JSONValue = [adapter, id, *(state.get(name) for name in _FACTS), instance.get("perturbation")]
    return build_run(
        RunFacts(
            external_id=f"{id or 'instance'}-{content_id(identity, location)}",
            app=FORMAT,
            format=FORMAT,
            tags=[f"instance:{id}"] if id else [],
            metadata={"adapter_spec": adapter},
            judgements=[
                score
                for statistics in scores.get(_instance({**instance, **state}, id), [])
                for score in _judgements(statistics)
            ],
        ),
        [step],
        location=location,
    )


def _answer(completion: JSONObject) -> Answer:
    thought = as_text(as_object(completion.get("thinking")).get("text"))
    text = as_text(completion.get("text"))
    content: JSONValue = (
        [{"type": "thinking", "thinking": thought}, {"type": "text", "text": text}] if thought else text
    )
    reason = as_text(as_object(completion.get("finish_reason")).get("reason"))
    message: JSONObject = {"role": "assistant", "content": content}
    return Answer(output={"message": message, **({"finish_reason": reason} if reason else {})})


def _attributes(state: JSONObject, result: JSONObject, completions: list[JSONObject]) -> JSONObject:
    facts = {name: state[name] for name in _FACTS if state.get(name) is not None}
    logprob = completions[0].get("logprob") if completions else None
    details: JSONObject = {
        "cached": result.get("cached"),
        "logprob": logprob,
        "other_completions": [completion.get("text") for completion in completions[1:]],
    }
    return {**facts, **{name: item for name, item in details.items() if item not in (None, [])}}


def _judgements(statistics: JSONObject) -> Iterator[RecordedJudgement]:
    for item in as_list(statistics.get("stats")):
        stat = as_object(item)
        mean = stat.get("mean", stat.get("sum"))
        if is_number(mean):
            yield judgement(as_text(as_object(stat.get("name")).get("name")) or "score", mean)
