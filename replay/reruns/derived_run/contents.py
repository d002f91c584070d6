"""The steps of a rerun: the calls that the agent made, and what it did between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from forkpoint.vocabulary import RERUN_CALL
from replay.models import Rerun
from replay.reruns import reports
from replay.reruns.core import event_groups
from replay.reruns.core.event_groups import Reader
from replay.reruns.derived_run.call_answers import CallAnswers
from replay.reruns.derived_run.labels import Labels
from replay.reruns.derived_run.source_steps import SourceSteps
from replay.reruns.exchanges import Exchange
from traces.core.json_access import as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus
from traces.importers.assembly import SegmentContent, assemble
from traces.importers.formats.tracing.event_lines import FORMAT
from traces.importers.formats.tracing.reported_tools import MODEL_TEXT
from traces.ingest.prepare import prepare
from traces.ingest.step_rows import StepRow
from traces.models import Run
from traces.payloads.lost_payloads import LostPayloads
from traces.redaction_policies import services as policies
from traces.storage import artifacts
from traces.storage.integrity import Inspector


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContents:
    """The steps of a rerun with their labels, and their payloads."""

    rows: Sequence[StepRow]
    parts: Mapping[str, bytes]

    def store_payloads(self, run_id: UUID) -> None:
        artifacts.write_many({run_id: self.parts})

    def restore_payloads(self, run_id: UUID) -> None:
        """Store payloads of the recording again that the store has lost and the agent has produced."""
        artifacts.restore_many({run_id: self.parts})


def read(rerun: Rerun, *, is_final: bool = True) -> RunContents | None:
    """Return the steps of the agent's last start; None if nothing of it is known.

    While the agent runs (`is_final` is False), calls without an answer are left out.
    """
    calls = rerun.calls.filter(attempt=rerun.attempt).exclude(exchange=None).order_by("id")
    exchanges = [Exchange(call) for call in calls]
    if not is_final:
        exchanges = [exchange for exchange in exchanges if exchange.is_complete]
    rows = [*rerun.reports.filter(attempt=rerun.attempt).order_by("id")]
    segments: list[Reader] = [
        *(exchange.lines for exchange in exchanges),
        *(partial(reports.lines, row) for row in rows),
    ]
    source = SourceSteps.load(rerun.source_run)
    segments = [*event_groups.fit(segments, has_groups=source.has_groups)]
    results = {id for exchange in exchanges for id in exchange.call.detail.get("results", ())}
    recording = _recording(rerun, segments, results)
    if recording is None:
        return None
    call_ids = {step.key: id for step in recording.steps if (id := as_text(step.attributes.get(RERUN_CALL)))}
    recording = replace(recording, steps=_with_arguments(rerun, recording.steps, call_ids))
    preparation = prepare(recording, policies.redaction_of(rerun.source_run.app))
    if is_final:
        source = replace(source, losses=_losses(rerun.source_run, preparation.parts))
    labels = Labels(
        source,
        exchanges={item.key: item for item in exchanges},
        results=results,
        answers=CallAnswers(rerun, call_ids=call_ids, reports=rows),
    )
    return RunContents(rows=labels.rows(preparation.rows, is_final=is_final), parts=preparation.parts)


def _losses(source: Run, parts: Mapping[str, bytes]) -> dict[int, LostPayloads]:
    """Return the unreadable payloads of a recording that the agent did not produce again."""
    losses = Inspector().steps(source.id, 1, source.step_count)
    remaining = {no: tuple(item for item in payloads if item.digest not in parts) for no, payloads in losses.items()}
    return {no: payloads for no, payloads in remaining.items() if payloads}


def _recording(rerun: Rerun, segments: Sequence[Reader], results: set[str]) -> RecordedRun | None:
    """Return the run that the events are; `results` are the ids of the tool calls whose results were replaced."""
    run = assemble(str(rerun.id), [SegmentContent(format=FORMAT, file="", read=read) for read in segments]).run
    if run is None or not run.steps:
        return None
    steps = tuple(_with_result(step) if step.call_id in results else step for step in run.steps)
    return replace(run, app=rerun.source_run.app, steps=steps)


def _with_arguments(
    rerun: Rerun, steps: Sequence[RecordedStep], call_ids: Mapping[str, str]
) -> tuple[RecordedStep, ...]:
    """Return the steps with the arguments that overrides set: with these the calls were answered, or ran."""
    calls = rerun.tool_calls.filter(attempt=rerun.attempt, detail__has_key="arguments")
    arguments: dict[str | None, JSONValue] = dict(calls.values_list("call", "detail__arguments"))
    return tuple(
        replace(step, input=arguments[call], attributes={**_own_attributes(step), "asked": step.input})
        if (call := call_ids.get(step.key)) in arguments
        else replace(step, attributes=_own_attributes(step))
        for step in steps
    )


def _own_attributes(step: RecordedStep) -> JSONObject:
    """Return the attributes that a step would have outside of a rerun."""
    return {name: value for name, value in step.attributes.items() if name != RERUN_CALL}


def _with_result(step: RecordedStep) -> RecordedStep:
    """Return a tool call with the result that the model got, if the agent reported another one."""
    if MODEL_TEXT not in step.attributes:
        return step
    return replace(step, output=as_text(step.attributes[MODEL_TEXT]), status=StepStatus.OK, error="")
