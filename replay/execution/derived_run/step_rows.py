"""Rows of the derived run, from resolved steps, reused steps and closed containers."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from replay.calls.reach import explanation
from replay.core.calls import LIVE_REASONS, Answer, Call, label_key
from replay.core.events import ContainerClosed
from replay.execution.session_redaction import SessionRedaction, source_note
from replay.inputs.placeholders import PLACEHOLDER, placeholder
from replay.models import ReplaySession
from replay.resolution import lost_recordings, replay_outputs
from replay.store.payload_writer import PayloadWriter
from traces.core.json_access import member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.step_header import header_of
from traces.core.vocabulary import Label, Reason, StepStatus
from traces.ingest.step_rows import COLUMNS, StepRow
from traces.models import Step
from traces.payloads import step_summaries
from traces.payloads.lost_payloads import LostPayloads, describe_losses
from traces.payloads.messages import Documents
from traces.payloads.replay_labels import REPLAY_LABELS, origin_reason
from traces.storage import artifacts

_ACTIONS: dict[str, Any] = {Label.EXACT: "reuse", Label.CACHED: "cache", Label.SIMULATED: "simulate"}


def metadata(session: ReplaySession) -> JSONObject:
    """Metadata of the derived run: its session and source run, and the input to start the agent with again."""
    source = session.source_run
    replay: JSONObject = {"session": str(session.id), "source_run": str(source.id)}
    recorded_input: JSONObject = {"input": source.metadata["input"]} if "input" in source.metadata else {}
    return {"replay": replay, **recorded_input, **source_note(source)}


def row(call: Call, answer: Answer, source_run_id: UUID, save: PayloadWriter, redaction: SessionRedaction) -> StepRow:
    """Build the row of a resolved step; an exact step keeps all columns of its recording."""
    source = answer.source or call.node
    is_recorded = answer.label is Label.EXACT or answer.is_reused
    if is_recorded and call.node is not None and answer.source is not None and not call.differs:
        step = Step.objects.get(run_id=source_run_id, sequence_no=answer.source.no)
        return reused_row(step, call.no, call.parent, detail=answer.detail)
    live = answer.action == "live"
    if answer.reason is Reason.ASSUMED_UNAFFECTED and call.node is not None:
        step = Step.objects.get(run_id=source_run_id, sequence_no=call.node.no)
        return assumed_row(step, call.no, call.parent, answer.detail)
    # A successful live call may return null; for other steps null means that there is no output.
    has_output = answer.output is not None or (live and answer.status is StepStatus.OK)
    output = redaction.field(call.type, "output", answer.output)
    output_ref = answer.output_ref or (save(output) if has_output else "")
    if answer.label is Label.CACHED:
        # The output belongs to a run that does not know this one, and that may be deleted.
        save(answer.output)
    input = call.input if call.node is not None and not call.differs else redaction.request(call)
    return StepRow(
        sequence_no=call.no,
        type=call.type,
        name=call.name,
        status=answer.status,
        label=answer.label or Label.SIMULATED,
        parent_no=call.parent,
        started_at=datetime.now(UTC),
        duration_ms=answer.duration_ms if live else None,
        reason=answer.reason or "",
        signature=call.signature,
        input_ref=_input_ref(call, input, save),
        output_ref=output_ref,
        detail=_detail(answer),
        error=redaction.text(answer.error),
        summary=step_summaries.summarize(
            type=call.type, name=call.name, tool_name=call.tool_name, input=input, output=output
        ),
        provider=call.provider,
        model=call.model,
        tool_name=call.tool_name,
        call_id=call.call_id,
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        tokens_cached=answer.tokens_cached,
        cost_usd=answer.cost_usd,
        retries=answer.retries,
        document_count=Documents(output).count,
        source_step=source.id if source is not None else None,
    )


def reused_row(step: Step, no: int, parent: int | None, *, detail: JSONObject | None = None) -> StepRow:
    """Build the row of a reused source step, whose number or parent may differ.

    In a source that is itself a replay, a step that is not exact keeps its label.
    """
    label, detail = Label.EXACT, detail or label_key()
    if step.label in REPLAY_LABELS:
        reason = Reason(origin_reason(step.reason, step.detail))
        label, detail = Label(step.label), {**detail, **replay_outputs.detail(reason)}
    columns = {name: getattr(step, name) for name in COLUMNS if name not in {"id", "detail"}}
    columns |= header_of(step) | {
        "sequence_no": no,
        "parent_no": parent,
        "label": label,
        "reason": Reason.SOURCE_OUTPUT_REUSED,
        "source_step": step.id,
    }
    return StepRow(**columns, detail=detail)


def lost_row(step: Step, no: int, parent: int | None, losses: LostPayloads, save: PayloadWriter) -> StepRow:
    """Build the row of an unreadable source step: its readable part, or a placeholder output."""
    base = reused_row(step, no, parent, detail=lost_recordings.detail(losses))
    row = replace(base, label=Label.SIMULATED, reason=lost_recordings.reason(losses))
    if not any(payload.is_of("output") for payload in losses):
        return row
    output = placeholder(row.type, describe_losses(losses))
    summary = step_summaries.summarize(type=row.type, name=row.name, tool_name=row.tool_name, input=None, output=output)
    return replace(row, output_ref=save(output), summary=summary, document_count=None)


def assumed_row(step: Step, no: int, parent: int | None, assumption: JSONObject) -> StepRow:
    """Build the row of a source step that is reused on the assumption that no change reaches it."""
    detail: JSONObject = {**label_key(), **assumption, "note": explanation(assumption)}
    row = reused_row(step, no, parent, detail=detail)
    return replace(row, label=Label.SIMULATED, reason=Reason.ASSUMED_UNAFFECTED)


def answer_of_row(step: Step, output: JSONValue) -> Answer:
    """Restore the answer of a committed step, for a replay that restarts after a crash."""
    is_placeholder = step.reason == Reason.POLICY_FALLBACK or _is_placeholder(output)
    return Answer(
        action="live" if step.reason in LIVE_REASONS else _ACTIONS[step.label],
        label=Label(step.label),
        reason=Reason(step.reason),
        output=output,
        output_ref=step.output_ref,
        status=StepStatus(step.status),
        is_known=not is_placeholder,
        detail=step.detail,
        note=str(step.detail.get("note", "")),
    )


def closed_columns(event: ContainerClosed, detail: JSONObject, run_id: UUID) -> dict[str, object]:
    """Columns of a container that change at the end of the replay; `detail` is its current detail."""
    new_detail: JSONObject = {**label_key(), **detail}
    if event.output_from:
        new_detail["derived_from"] = [*event.output_from]
    if event.note:
        new_detail["note"] = event.note
    output_ref = "" if event.output is None else artifacts.save(event.output, run_id=run_id)
    return {"output_ref": output_ref, "label": event.label, "reason": event.reason, "detail": new_detail}


def _input_ref(call: Call, input: JSONValue, save: PayloadWriter) -> str:
    if call.node is not None and not call.differs:
        return call.node.input_ref
    return "" if input is None else save(input)


def _detail(answer: Answer) -> JSONObject:
    return {**answer.detail, "note": answer.note} if answer.note else answer.detail


def _is_placeholder(output: JSONValue) -> bool:
    return member(output, "finish_reason") == PLACEHOLDER
