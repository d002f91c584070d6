"""Redaction of a bundle before its run is stored: what another store may keep need not be stored here. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from traces.bundles.lines import CaptionLine, EdgeLine, JudgementLine, RunLine, StepLine, UnexplainedItem
from traces.core.json_access import as_object
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import EdgeKind
from traces.ingest.redaction import REDACTION, redaction_note, with_note
from traces.payloads import step_summaries
from traces.payloads.missing_parts import Readable
from traces.payloads.splitter import Splitter
from traces.redaction.output_forms import check_form
from traces.redaction.raw_responses import RAW_RESPONSE, drop_raw_response
from traces.redaction.redactor import Redaction, Redactor

_REFS: Final = {"input": "input_ref", "output": "output_ref", "attributes": "attributes_ref"}
_STEP_TEXTS: Final = ("name", "external_id", "error", "provider", "model", "tool_name", "call_id")
_RUN_TEXTS: Final = ("name", "external_id", "environment")
# Their evidence is copied content.
_CONTENT_EDGES: Final = frozenset({EdgeKind.TEXT, EdgeKind.VALUE})


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleContent:
    """The run of a bundle: its tables, the payloads of its steps by digest, and the parts to store."""

    run: RunLine
    steps: Sequence[StepLine]
    edges: Sequence[EdgeLine]
    judgements: Sequence[JudgementLine]
    values: Readable
    parts: Mapping[str, bytes]


def redact(content: BundleContent, redaction: Redaction) -> BundleContent:
    """Return the content without what the policy or a detector rejects; the same one if it has none.

    A payload with lost parts is then lost as a whole, because its other parts cannot be stored on their own.
    """
    if redaction.is_off:
        return content
    redactor = redaction.redactor()
    result = _redact(content, redactor)
    if not redactor.kinds and not redactor.failures:
        return content
    if redactor.literals:
        result = _redact(result, redactor.for_literals())
    return _derive(content, result, redactor)


def _redact(content: BundleContent, redactor: Redactor) -> BundleContent:
    splitter = Splitter()
    values: dict[str, JSONValue] = {}
    lines = [_step(line, content.values, values, splitter, redactor) for line in content.steps]
    run = content.run
    metadata = redactor.field(None, "metadata", run.metadata, "the run's metadata")
    texts: dict[str, Any] = {name: redactor.text(getattr(run, name), f"the run's {name}") for name in _RUN_TEXTS}
    tags = [redactor.text(tag, "a tag") for tag in run.tags]
    if run.caption is not None:
        texts["caption"] = _caption(run.caption, redactor)
    changes = {**texts, "tags": tags, "metadata": as_object(metadata) or {REDACTION: metadata} if metadata else {}}
    return BundleContent(
        run=run.model_copy(update=changes),
        steps=lines,
        edges=[
            edge.model_copy(update={"evidence": redactor.text(edge.evidence, "evidence")}) for edge in content.edges
        ],
        judgements=[_judgement(line, redactor) for line in content.judgements],
        values=Readable(values=values, lost_digests=content.values.lost_digests),
        parts=splitter.parts,
    )


def _caption(caption: CaptionLine, redactor: Redactor) -> CaptionLine:
    tags = None if caption.tags is None else [redactor.text(tag, "a tag") for tag in caption.tags]
    texts = {name: redactor.text(getattr(caption, name), f"the run's {name}") for name in ("title", "note")}
    return caption.model_copy(update={**texts, "tags": tags})


def _judgement(line: JudgementLine, redactor: Redactor) -> JudgementLine:
    texts = {name: redactor.text(getattr(line, name), "a judgement") for name in ("name", "text", "by")}
    detail = redactor.value(line.detail)
    return line.model_copy(update={**texts, "detail": as_object(detail) or None})


def _step(
    line: StepLine, source: Readable, values: dict[str, JSONValue], splitter: Splitter, redactor: Redactor
) -> StepLine:
    place = f"step {line.sequence_no}"
    changes: dict[str, Any] = {name: redactor.text(getattr(line, name), place) for name in _STEP_TEXTS}
    changes["error"] = redactor.field(line.type, "error", changes["error"], place)
    changes["detail"] = as_object(redactor.field(line.type, "attributes", line.detail, f"{place}, detail"))
    payloads = {
        column: redactor.field(line.type, field, source.values[ref], f"{place}, {field}")
        for field, column in _REFS.items()
        if (ref := getattr(line, column)) and not source.lacks(ref)
    }
    attributes = payloads.get("attributes_ref")
    if isinstance(attributes, dict) and RAW_RESPONSE in attributes and _is_changed(line, changes, payloads, source):
        payloads["attributes_ref"] = drop_raw_response(attributes)
    if isinstance(attributes := payloads.get("attributes_ref"), dict):
        source_attributes = as_object(source.values[line.attributes_ref])
        is_output_redacted = "output_ref" in payloads and payloads["output_ref"] != source.values[line.output_ref]
        payloads["attributes_ref"] = check_form(attributes, source_attributes, is_output_redacted=is_output_redacted)
    for column, value in payloads.items():
        changes[column] = splitter.split(value)
        values[changes[column]] = value
    return line.model_copy(update=changes)


def _is_changed(line: StepLine, changes: dict[str, Any], payloads: dict[str, JSONValue], source: Readable) -> bool:
    return any(getattr(line, name) != value for name, value in changes.items()) or any(
        source.values[getattr(line, column)] != value for column, value in payloads.items()
    )


def _derive(source: BundleContent, content: BundleContent, redactor: Redactor) -> BundleContent:
    """Compute anew what is derived from payloads: summaries, the search text, and quotations."""
    numbers = {
        line.sequence_no
        for line, original in zip(content.steps, source.steps, strict=True)
        if any(getattr(line, column) != getattr(original, column) for column in _REFS.values())
    }
    steps = [_derived_step(line, content.values, line.sequence_no in numbers) for line in content.steps]
    metadata = with_note(content.run.metadata, redaction_note(redactor))
    search = step_summaries.search_text(_search_fields(content))
    edges = [
        edge.model_copy(update={"evidence": ""})
        if edge.kind in _CONTENT_EDGES and numbers & {edge.producer, edge.consumer}
        else edge
        for edge in content.edges
    ]
    run = content.run.model_copy(update={"metadata": metadata, "search": search})
    return replace(content, run=run, steps=steps, edges=edges)


def _derived_step(line: StepLine, values: Readable, is_changed: bool) -> StepLine:
    if not is_changed:
        return line
    summary = step_summaries.summarize(
        type=line.type,
        name=line.name,
        tool_name=line.tool_name,
        input=values.values.get(line.input_ref),
        output=values.values.get(line.output_ref),
    )
    return line.model_copy(update={"summary": summary, "unexplained": _without_quotations(line.unexplained or ())})


def _without_quotations(items: Iterable[UnexplainedItem]) -> list[UnexplainedItem]:
    return [item.model_copy(update={"snippet": "", "digest": ""}) for item in items]


def _search_fields(content: BundleContent) -> RecordedRun:
    """Return the fields that the search text is made of."""
    run = content.run
    steps = tuple(
        RecordedStep(
            key=str(line.sequence_no),
            type=line.type,
            name=line.name,
            model=line.model,
            input=content.values.values.get(line.input_ref),
        )
        for line in content.steps
    )
    return RecordedRun(
        external_id=run.external_id,
        name=run.name,
        app=run.app,
        format=run.format,
        environment=run.environment,
        tags=tuple(run.tags),
        steps=steps,
    )
