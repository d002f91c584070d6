"""The run that a fork of a running agent becomes: the calls that the agent made, with their labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from replay.core.calls import label_key
from replay.core.vocabulary import RerunDecision
from replay.execution.derived_run.step_rows import reused_row
from replay.execution.session_redaction import source_note
from replay.models import Rerun, RerunCall
from replay.overrides.profile import OverrideProfile
from replay.reruns.exchanges import Exchange
from replay.sessions.prepare import Source
from replay.sessions.schemas import ReplayRequest
from traces.captions import services as captions
from traces.core.recorded_run import RecordedRun
from traces.core.schema import ForkChange
from traces.core.vocabulary import Label, Reason, RunStatus, StepType
from traces.importers.assembly import SegmentContent, assemble
from traces.importers.formats.tracing.client_calls import TOOL_APIS
from traces.importers.formats.tracing.forkpoint_events import FORMAT
from traces.ingest.prepare import prepare
from traces.ingest.step_rows import StepRow
from traces.models import Run, Step
from traces.redaction_policies import services as policies
from traces.runs import services as traces
from traces.storage import artifacts


def write(rerun: Rerun, status: RunStatus) -> Run | None:
    """Write and seal the run of the agent's last start; None if it made no call that is known."""
    contents = read(rerun)
    if contents is None:
        return None
    run = _open(rerun, contents.rows)
    artifacts.write_many({run.id: contents.parts})
    traces.append_steps(run.id, contents.rows)
    traces.seal_run(run.id, status)
    return run


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContents:
    """The steps of a rerun with their labels, and their payloads."""

    rows: Sequence[StepRow]
    parts: Mapping[str, bytes]


def read(rerun: Rerun, *, with_open_calls: bool = True) -> RunContents | None:
    """Return the steps of the agent's last start; None if it made no call that is known.

    `with_open_calls` includes calls without an answer.
    """
    calls = rerun.calls.filter(attempt=rerun.attempt).exclude(exchange=None).order_by("id")
    exchanges = [Exchange(call) for call in calls]
    if not with_open_calls:
        exchanges = [exchange for exchange in exchanges if exchange.is_complete]
    recording = _recording(rerun, exchanges)
    if recording is None:
        return None
    preparation = prepare(recording, policies.redaction_of(rerun.source_run.app))
    return RunContents(rows=[*_Labels(rerun, exchanges).rows(preparation.rows)], parts=preparation.parts)


def _recording(rerun: Rerun, exchanges: Sequence[Exchange]) -> RecordedRun | None:
    segment = SegmentContent(format=FORMAT, file="", data=b"".join(exchange.lines for exchange in exchanges))
    run = assemble(str(rerun.id), [segment]).run
    return replace(run, app=rerun.source_run.app) if run is not None and run.steps else None


def _open(rerun: Rerun, rows: Sequence[StepRow]) -> Run:
    source = rerun.source_run
    first_change = next((row.sequence_no for row in rows if row.label is not Label.EXACT), rerun.fork_sequence_no)
    run = traces.open_run(
        name=source.name,
        app=source.app,
        source_run=source,
        fork_sequence_no=first_change,
        environment=source.environment,
        metadata={
            "rerun": {"id": str(rerun.id), "source_run": str(source.id)},
            **({"input": source.metadata["input"]} if "input" in source.metadata else {}),
            **source_note(source),
        },
    )
    captions.describe_fork(run.id, _change(rerun))
    return run


def _change(rerun: Rerun) -> ForkChange:
    profile = OverrideProfile.model_validate(rerun.profile.profile if rerun.profile else {"overrides": []})
    if not profile.overrides:
        return ForkChange(text="Agent run again", target="", count=0)
    run = str(rerun.source_run_id)
    return Source(run, rerun.fork_sequence_no).change(ReplayRequest(run=run, overrides=profile))


@dataclass(kw_only=True)
class _SourceSteps:
    """The recorded steps: requests to providers by number, tools by name."""

    requests: Mapping[int, Step]
    tools: dict[str, list[Step]]

    @classmethod
    def load(cls, run: Run) -> "_SourceSteps":
        steps = Step.objects.filter(run=run, type__in=(StepType.MODEL, StepType.TOOL)).order_by("sequence_no")
        requests: dict[int, Step] = {}
        tools: dict[str, list[Step]] = {}
        for step in steps:
            if step.type == StepType.MODEL or step.tool_name in TOOL_APIS:
                requests[step.sequence_no] = step
            else:
                tools.setdefault(step.tool_name or step.name, []).append(step)
        return cls(requests=requests, tools=tools)

    def take_tool(self, row: StepRow) -> Step | None:
        """Return the next recorded call of the same tool with the same id, else with the same arguments."""
        steps = self.tools.get(row.tool_name, [])
        same_ids = (step for step in steps if step.call_id and step.call_id == row.call_id)
        same_arguments = (step for step in steps if step.input_ref == row.input_ref)
        source = next(chain(same_ids, same_arguments), None)
        if source is not None:
            steps.remove(source)
        return source


class _Labels:
    """Labels the steps of a rerun, in order."""

    def __init__(self, rerun: Rerun, exchanges: Sequence[Exchange]) -> None:
        self._calls: dict[str, RerunCall] = {exchange.key: exchange.call for exchange in exchanges}
        self._results = {id for exchange in exchanges for id in exchange.call.detail.get("results", ())}
        self._source = _SourceSteps.load(rerun.source_run)
        answers = [*rerun.tool_calls.filter(attempt=rerun.attempt).values_list("name", "sequence_no", "decision")]
        self._decisions = {no: decision for _, no, decision in answers if no is not None}
        # Tools whose new calls got the result of an override, which names tools and not their calls.
        self._overridden_tools = {
            name for name, no, decision in answers if no is None and decision == RerunDecision.OVERRIDDEN
        }
        # A tool of the agent may depend on every answer before it.
        self._is_exact_so_far = True

    def rows(self, rows: Sequence[StepRow]) -> Iterator[StepRow]:
        for row in rows:
            call = self._calls.get(row.external_id)
            result = self._tool(row) if call is None else self._request(row, call)
            self._is_exact_so_far = self._is_exact_so_far and result.label is Label.EXACT
            yield result

    def _request(self, row: StepRow, call: RerunCall) -> StepRow:
        source = self._source.requests.get(call.sequence_no or 0)
        if source is not None and call.label == Label.EXACT:
            return reused_row(source, row.sequence_no, None)
        return replace(
            row,
            label=Label(call.label or Label.SIMULATED),
            # A call without an answer was refused, and its output is the refusal.
            reason=Reason(call.reason or Reason.POLICY_FALLBACK),
            detail={**label_key(), **call.detail},
            source_step=None if source is None else source.id,
        )

    def _tool(self, row: StepRow) -> StepRow:
        source = self._source.take_tool(row)
        if source is not None and self._decision(row, source) == RerunDecision.EXACT:
            # It was not run, and the conversation contains only a text of what it returned.
            return reused_row(source, row.sequence_no, None)
        label, reason = self._tool_label(row, source)
        source_step = None if source is None else source.id
        return replace(row, label=label, reason=reason, detail=label_key(), source_step=source_step)

    def _decision(self, row: StepRow, source: Step | None) -> str | None:
        is_new_override = source is None and row.tool_name in self._overridden_tools
        if row.call_id in self._results or is_new_override:
            return RerunDecision.OVERRIDDEN
        return None if source is None else self._decisions.get(source.sequence_no)

    def _tool_label(self, row: StepRow, source: Step | None) -> tuple[Label, Reason]:
        decision = self._decision(row, source)
        if decision == RerunDecision.OVERRIDDEN:
            return Label.SIMULATED, Reason.OPERATOR_OVERRIDE
        if decision == RerunDecision.CACHED:
            return Label.CACHED, Reason.CACHE_NORMALISED
        is_same = source is not None and (source.input_ref, source.output_ref) == (row.input_ref, row.output_ref)
        return Label.EXACT if is_same and self._is_exact_so_far else Label.SIMULATED, Reason.AGENT_RAN
