"""MAST (MAD): logs of systems of several agents as texts, with the failure modes that were found in them."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, has_list, has_object, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

FORMAT: Final = "mast"
_ANNOTATORS: Final = ("annotator_1", "annotator_2", "annotator_3")
_NOT_METADATA: Final = frozenset({"trace", "mast_annotation", "annotations"})


def is_trace(value: JSONValue) -> bool:
    """Return True if `value` is an annotated trace of the data set, or a list of them."""
    body = as_object(first_item(value))
    is_annotated = has_object(body, "mast_annotation") or has_list(body, "annotations")
    return is_annotated and {"mas_name", "trace"} <= body.keys()


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    for body, location in source.entries():
        try:
            yield _run(body, location)
        except BadFile as problem:
            source.problems.append(problem)


def _run(body: JSONObject, location: str) -> RecordedRun:
    """Build the run of a trace: the systems log differently, so that its text is one step."""
    trace = as_object(body.get("trace"))
    log = trace.get("trajectory") if trace else body.get("trace")
    text = "" if log is None else text_or_json(log)
    if not text.strip():
        raise BadFile("a trace without a trajectory", f"{location}/trace")
    system = as_text(body.get("mas_name"))
    names = (system, as_text(body.get("benchmark_name")), as_text(body.get("trace_id")), content_id(body, location))
    step = RecordedStep(key="trace", type=StepType.AGENT, name=system or "agents", output={"text": text})
    return build_run(
        RunFacts(
            external_id="-".join(filter(None, names)),
            app=app_name(system) or FORMAT,
            format=FORMAT,
            name=" ".join(filter(None, names[:3])),
            tags=[f"benchmark:{name}" for name in names[1:2] if name],
            metadata={
                **{name: item for name, item in body.items() if name not in _NOT_METADATA},
                **{name: item for name, item in trace.items() if name != "trajectory"},
            },
            judgements=[*_modes(body), *_opinions(body)],
        ),
        [step],
        location=location,
    )


def _modes(body: JSONObject) -> Iterator[RecordedJudgement]:
    """Yield whether each failure mode was found. A run with one may have succeeded: it is a score and no verdict."""
    for mode, value in as_object(body.get("mast_annotation")).items():
        if isinstance(value, bool | int | float):
            yield judgement(f"mast.{mode}", float(value))


def _opinions(body: JSONObject) -> Iterator[RecordedJudgement]:
    for annotation in as_objects(as_list(body.get("annotations"))):
        mode = as_text(annotation.get("failure mode"))
        for annotator in _ANNOTATORS:
            if isinstance(value := annotation.get(annotator), bool):
                yield judgement(f"mast.{mode.partition(' ')[0]}", float(value), text=mode, author=annotator)
