"""What a rerun of the agent shows about a probe: whether it left the recording before anything was changed, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from diffing.sentences.atoms.obstacles import Gap, call_difference, gap, step_name
from replay.core.vocabulary import RerunDecision
from replay.models import ReplaySession, Rerun, RerunCall
from replay.overrides.profile import Override, OverrideProfile
from traces.core.json_access import as_integer, as_object, as_text, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Step
from traces.payloads.messages import ModelRequest
from traces.storage import artifacts

# Characters of a value in a reason.
_SHORT = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why a model call got no answer. A `blocked` one would have been answered within a larger budget."""

    reason: str
    is_blocked: bool


def early_divergence(rerun: Rerun) -> str:
    """Why a probe is no evidence: a call that is not recorded came before any change; empty if none did."""
    is_changed = Q(decision=RerunDecision.OVERRIDDEN) | Q(detail__has_key="arguments")
    tool_calls = rerun.tool_calls.filter(is_changed, attempt=rerun.attempt)
    changed_at = tool_calls.order_by("at").values_list("at", flat=True).first()
    for call in _calls(rerun):
        if changed_at is not None and changed_at <= call.at:
            return ""
        if call.sequence_no is None:
            return gap(Gap.AGENT_DIVERGED, detail=_difference(call))
        if _is_changed(call):
            return ""
    return ""


def missing_call(rerun: Rerun) -> str:
    """Why an agent that was started unchanged did not do what is recorded: a call that it did not make."""
    numbers = {call.sequence_no for call in _calls(rerun)}
    models = Step.objects.filter(run_id=rerun.source_run_id, type=StepType.MODEL).order_by("sequence_no")
    left_numbers = (no for no in models.values_list("sequence_no", flat=True) if no not in numbers)
    number = next(left_numbers, None)
    return "" if number is None else gap(Gap.AGENT_SKIPPED_CALLS, number=number)


def unapplied_change(session: ReplaySession) -> str:
    """Why a probe is no evidence: a change of one step that did not reach what the agent did in its place."""
    entries = OverrideProfile.model_validate(session.profile.profile).overrides
    own_entries = [entry for entry in entries if entry.match.step is not None]
    if not own_entries:
        return ""
    sources = {str(step.sequence_no): step for step in Step.objects.filter(run=session.source_run)}
    steps = [*Step.objects.filter(run=session.run_id).order_by("sequence_no")]
    inputs = artifacts.available([step.input_ref for step in (*sources.values(), *steps)])
    for entry in own_entries:
        source = sources.get(str(entry.match.step))
        for step in steps if source is not None else []:
            if source is not None and _lacks(entry, step, source, inputs):
                return gap(
                    Gap.AGENT_CHANGE_LOST, step=step_name(step.sequence_no, step.type, step.tool_name or step.model)
                )
    return ""


def _lacks(entry: Override, step: Step, source: Step, inputs: Mapping[str, JSONValue]) -> bool:
    """Return whether a step of the agent lacks a change: it kept its result or arguments, or a text in a new call."""
    if step.source_step == source.id:
        if entry.sets_result:
            return step.reason != Reason.OPERATOR_OVERRIDE
        sets_call = entry.arguments is not None or entry.retrieval is not None
        return sets_call and step.reason != Reason.OPERATOR_OVERRIDE and step.input_ref == source.input_ref
    if step.type != StepType.MODEL or step.source_step is not None:
        return False
    own, old = (ModelRequest(inputs.get(ref)).messages for ref in (step.input_ref, source.input_ref))
    if entry.prompt is not None and entry.prompt.system is not None:
        text = _system_text(old)
        if text and text == _system_text(own) != entry.prompt.system:
            return True
    passages = [(edit.index, passage) for edit in entry.messages or () for passage in edit.passages or ()]
    return any(passage.before in str(_content(own, index)) for index, passage in passages)


def _system_text(messages: Sequence[JSONValue]) -> str:
    roles = ("system", "developer")
    return next((str(_content([message], 0)) for message in messages if as_object(message).get("role") in roles), "")


def _content(messages: Sequence[JSONValue], index: int) -> JSONValue:
    return as_object(messages[index]).get("content") if index < len(messages) else ""


def refusal(rerun: Rerun) -> Refusal | None:
    """The first model call that got no answer; None if all got one."""
    call = next((call for call in _calls(rerun) if not call.label), None)
    if call is None:
        return None
    reason = as_text(call.detail.get("refusal"))
    if rerun.is_live and "block" not in call.detail:
        return Refusal(reason=reason, is_blocked=False)
    return Refusal(reason=gap(Gap.AGENT_UNANSWERED, detail=_difference(call)), is_blocked=True)


def _calls(rerun: Rerun) -> list[RerunCall]:
    return [*rerun.calls.filter(attempt=rerun.attempt).defer("exchange").order_by("id")]


def _is_changed(call: RerunCall) -> bool:
    """Return whether a recorded call got another answer than the recorded one."""
    is_recorded = call.label == Label.EXACT or (call.reason == Reason.CACHE_NORMALISED and "matched" not in call.detail)
    return not is_recorded


def _difference(call: RerunCall) -> str:
    difference: JSONObject = call.difference or {}
    old, new = (_quote(difference.get(name)) for name in ("old", "new"))
    return call_difference(as_text(difference.get("path")), old, new, as_integer(difference.get("step")) or 0)


def _quote(value: JSONValue) -> str:
    return f"“{text_or_json(value)[:_SHORT]}”"
