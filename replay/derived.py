"""Rows of the derived run: what a resolution, a kept step or a closed container becomes."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from replay.models import ReplaySession
from replay.resolvers import PLACEHOLDER
from replay.saving import Saver
from replay.world import LIVE_REASONS, Answer, Call, Closed, label_key
from traces import store, summaries
from traces.json_types import JSONObject, JSONValue
from traces.models import Step
from traces.rows import COLUMNS, StepRow
from traces.vocabulary import Label, Reason, StepStatus, StepType

_ACTIONS: dict[str, Any] = {Label.EXACT: "reuse", Label.CACHED: "cache", Label.SIMULATED: "simulate"}


def metadata(session: ReplaySession) -> JSONObject:
    """What the derived run says about where it came from."""
    return {"replay": {"session": str(session.id), "source_run": str(session.source_run_id)}}


def row(call: Call, answer: Answer, source_run_id: UUID, save: Saver) -> StepRow:
    """The row of a resolved step; an exact one keeps everything that the recording says of it."""
    source = answer.source or call.node
    if answer.label is Label.EXACT and call.node is not None and answer.source is not None and not call.differs:
        recorded = Step.objects.get(run_id=source_run_id, sequence_no=answer.source.no)
        return kept_row(recorded, call.no, call.parent, detail=answer.detail)
    output_ref = answer.output_ref or ("" if answer.output is None else save(answer.output))
    documents = answer.output.get("documents") if isinstance(answer.output, dict) else None
    live = answer.action == "live"
    return StepRow(
        sequence_no=call.no, type=call.type, name=call.name, status=answer.status,
        label=answer.label or Label.SIMULATED,
        parent_no=call.parent, started_at=datetime.now(UTC), duration_ms=answer.duration_ms if live else None,
        reason=answer.reason or "", signature=call.signature, input_ref=_input_ref(call, save), output_ref=output_ref,
        detail=_detail(answer), error=answer.error,
        summary=summaries.summarize(
            type=call.type, name=call.name, tool_name=call.tool_name, input=call.input, output=answer.output
        ),
        provider=call.provider, model=call.model, tool_name=call.tool_name, call_id=call.call_id,
        tokens_in=answer.tokens_in, tokens_out=answer.tokens_out, tokens_cached=answer.tokens_cached,
        cost_usd=answer.cost_usd, retries=answer.retries,
        document_count=len(documents) if isinstance(documents, list) else None,
        source_step=source.id if source is not None else None,
    )  # fmt: skip


def kept_row(step: Step, no: int, parent: int | None, *, detail: JSONObject | None = None) -> StepRow:
    """A source step under another number or parent."""
    columns = {name: getattr(step, name) for name in COLUMNS if name not in {"id", "detail"}}
    columns |= {
        "sequence_no": no, "parent_no": parent, "label": Label.EXACT, "reason": Reason.SOURCE_OUTPUT_REUSED,
        "source_step": step.id, "type": StepType(step.type), "status": StepStatus(step.status),
    }  # fmt: skip
    return StepRow(**columns, detail=detail or label_key())


def answer_of_row(step: Step, output: JSONValue) -> Answer:
    """The answer that a committed step holds, for a walk that begins again."""
    placeholder = step.reason == Reason.POLICY_FALLBACK or _is_placeholder(output)
    return Answer(
        action="live" if step.reason in LIVE_REASONS else _ACTIONS[step.label], label=Label(step.label),
        reason=Reason(step.reason), output=output, output_ref=step.output_ref, status=StepStatus(step.status),
        known=not placeholder, detail=step.detail, note=str(step.detail.get("note", "")),
    )  # fmt: skip


def closed_columns(event: Closed, detail: JSONObject) -> dict[str, object]:
    """What changes on a step around others when the replay has come to its end; `detail` is what it says so far.

    One that was open at the fork keeps its label, which speaks of what lay before; its old output would be
    wrong, and what stands for it is named instead.
    """
    if event.inherited:
        return {"output_ref": "", "detail": {**label_key(), "open_at_fork": True, "output_from": event.output_from}}
    return {
        "output_ref": store.save(event.output), "label": event.label, "reason": event.reason,
        "detail": {**label_key(), **detail, "derived_from": event.output_from},
    }  # fmt: skip


def _input_ref(call: Call, save: Saver) -> str:
    if call.node is not None and not call.differs:
        return call.node.input_ref
    return "" if call.input is None else save(call.input)


def _detail(answer: Answer) -> JSONObject:
    return {**answer.detail, "note": answer.note} if answer.note else answer.detail


def _is_placeholder(output: JSONValue) -> bool:
    return isinstance(output, dict) and output.get("finish_reason") == PLACEHOLDER
