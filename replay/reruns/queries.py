"""Reads of reruns."""

from collections import Counter
from collections.abc import Collection
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from forkpoint.vocabulary import MCP_MESSAGES
from replay.core.vocabulary import RerunDecision
from replay.models import Rerun, RerunCall, RerunToolCall
from replay.overrides.profile import OverrideProfile
from replay.reruns import recordings
from replay.reruns.core import checks
from replay.reruns.recordings import span_of
from replay.reruns.schemas import RerunBudget, RerunDifference, RerunName, RerunTool, RerunView
from replay.resolution.replay_outputs import REAL_ANSWERS
from traces.core.json_access import as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Step
from traces.payloads.replay_labels import REPLAY_LABELS, origin_reason
from traces.runs.queries import by_id
from traces.storage import artifacts

_OUTCOMES: Final = tuple(decision for decision in RerunDecision if decision is not RerunDecision.ASK)
# A server asks its client for an answer of the client's model.
_SAMPLE: Final = "sampling/createMessage"
_ANSWERS: Final = (RerunDecision.EXACT, RerunDecision.CACHED, RerunDecision.OVERRIDDEN)


def find(id: str) -> Rerun:
    """Return a rerun; raise `NotFound`."""
    return by_id(Rerun.objects.all(), id, "rerun")


def recorded_models(id: UUID) -> list[str]:
    """Return the names of the models that the recording of a rerun used."""
    steps = Step.objects.filter(run__reruns=id, type=StepType.MODEL).exclude(model="")
    return [*steps.order_by("model").values_list("model", flat=True).distinct()]


def view(rerun: Rerun) -> RerunView:
    """Return what the agent asked for so far, and how it was answered."""
    calls = [*rerun.calls.filter(attempt=rerun.attempt).defer("exchange").order_by("id")]
    labels = Counter(call.label for call in calls)
    numbers = {call.sequence_no for call in calls}
    refusals = [as_text(call.detail["refusal"]) for call in calls if "refusal" in call.detail]
    difference = next((call.difference for call in calls if call.difference is not None), _tool_difference(rerun))
    missing_steps = _without_samples(rerun, [no for no in _model_steps(rerun) if no not in numbers])
    covered_steps = _covered_steps(rerun, missing_steps)
    exact_numbers = {call.sequence_no for call in calls if call.label == Label.EXACT}
    from_replay = len(_replay_outputs(rerun, exact_numbers))
    return RerunView(
        id=rerun.id,
        run=rerun.source_run_id,
        started_at=rerun.created_at,
        ended_at=rerun.ended_at,
        exit_code=rerun.exit_code,
        exact=labels[Label.EXACT] - from_replay,
        from_replay=from_replay,
        cached=labels[Label.CACHED],
        live=sum(call.reason == Reason.LIVE_MODEL for call in calls),
        overridden=sum(call.reason == Reason.OPERATOR_OVERRIDE for call in calls),
        budget=RerunBudget.model_validate(rerun.budget),
        live_calls=rerun.live_calls,
        cost_usd=None if rerun.unpriced_calls and not rerun.cost_usd else float(rerun.cost_usd),
        unpriced_calls=rerun.unpriced_calls,
        block=next((str(call.detail["block"]) for call in calls if "block" in call.detail), ""),
        misses=len(refusals),
        from_other_runs=sum(_is_from_other_run(rerun, call) for call in calls),
        refusal=next(iter(refusals), ""),
        is_fork=rerun.profile_id is not None and not rerun.is_comparison,
        fork=rerun.run_id,
        diff=rerun.diff_id,
        divergence=None if difference is None else RerunDifference.model_validate(difference),
        unused_steps=[no for no in missing_steps if no not in covered_steps],
        covered_steps=covered_steps,
        unapplied_steps=[] if rerun.run_id is None else unapplied_steps(rerun, rerun.run_id),
        changed_checks=_changed_checks(rerun),
        names=[RerunName(kind=kind, old=old, new=new) for kind, old, new in rerun.names],
        tools=_tools(rerun),
        hosts=rerun.hosts,
    )


def unapplied_steps(rerun: Rerun, run_id: UUID) -> list[int]:
    """Return the recorded steps whose results a fork sets, but in whose place its agent did something else.

    `run_id` is the run of the fork. Edits of requests also apply to calls that only resemble a recorded one.
    """
    if rerun.profile is None:
        return []
    entries = OverrideProfile.model_validate(rerun.profile.profile).overrides
    refs = {str(entry.match.step) for entry in entries if entry.match.step is not None and entry.sets_result}
    steps = Step.objects.filter(run=rerun.source_run_id).values_list("id", "sequence_no") if refs else ()
    numbers = {id: no for id, no in steps if {str(id), str(no)} & refs}
    reached_ids = Step.objects.filter(run=run_id, source_step__in=numbers).values_list("source_step", flat=True)
    return sorted(numbers[id] for id in numbers.keys() - set(reached_ids))


def _changed_checks(rerun: Rerun) -> list[int]:
    """Return the recorded checks that decided differently in the run of a rerun; none without one."""
    if rerun.run_id is None:
        return []
    return checks.changed_numbers(recordings.load_checks(rerun.source_run_id), recordings.load_checks(rerun.run_id))


def _replay_outputs(rerun: Rerun, numbers: Collection[int | None]) -> set[int]:
    """Return those recorded steps whose outputs nothing gave to their calls: the recording is itself a replay."""
    recorded_numbers = [no for no in numbers if no is not None]
    steps = Step.objects.filter(run_id=rerun.source_run_id, sequence_no__in=recorded_numbers, label__in=REPLAY_LABELS)
    rows = steps.values_list("sequence_no", "reason", "detail")
    return {no for no, reason, detail in rows if origin_reason(reason, detail) not in REAL_ANSWERS}


def _is_from_other_run(rerun: Rerun, call: RerunCall) -> bool:
    match = as_object(call.detail.get("matched"))
    return call.sequence_no is None and bool(match) and match.get("run") != str(rerun.source_run_id)


def is_as_recorded(rerun: Rerun) -> bool:
    """Return whether the agent made the recorded calls, and no others."""
    report = view(rerun)
    has_answers = not (report.misses or any(tool.refusal for tool in report.tools))
    return has_answers and report.divergence is None and not report.unused_steps


def _model_steps(rerun: Rerun) -> list[int]:
    """Return the numbers of the recorded model calls, without those inside of tools whose outcome was given."""
    answers = _tool_calls(rerun).filter(decision__in=_ANSWERS)
    hidden_numbers = set(answers.values_list("sequence_no", flat=True))
    numbers: list[int] = []
    steps = Step.objects.filter(run_id=rerun.source_run_id).order_by("sequence_no")
    # A parent comes before what it contains.
    for no, parent, type in steps.values_list("sequence_no", "parent_no", "type"):
        if parent is not None and parent in hidden_numbers:
            hidden_numbers.add(no)
        elif type == StepType.MODEL:
            numbers.append(no)
    return numbers


def _covered_steps(rerun: Rerun, numbers: list[int]) -> list[int]:
    """Return those calls that presumably were made by tools whose outcome was given: they were made meanwhile.

    They are of a program or an HTTP client that does not name its step. Others are known to be of no tool.
    """
    recording = recordings.load(rerun.source_run_id) if numbers else None
    if recording is None or not recording.has_headers:
        return []
    answers = _tool_calls(rerun).filter(decision__in=_ANSWERS).values("sequence_no")
    spans = [span_of(step) for step in Step.objects.filter(run_id=rerun.source_run_id, sequence_no__in=answers)]
    return [
        call.no
        for call in recording.calls.of_kind("").requests
        if call.no in numbers
        and not call.lane
        and any(start <= call.start_s and call.end_s <= end for start, end in spans)
    ]


def _without_samples(rerun: Rerun, numbers: list[int]) -> list[int]:
    """Leave out the model calls by which a client answered MCP servers during calls whose outcome was given.

    They are none of the agent's own: no one asks the client where the tool of a framework gives the outcome.
    """
    if not numbers:
        return numbers
    answers = _tool_calls(rerun).filter(decision__in=_ANSWERS).values("sequence_no")
    steps = Step.objects.filter(run_id=rerun.source_run_id)
    calls = [*steps.filter(sequence_no__in=answers).exclude(attributes_ref="")]
    attributes = artifacts.available(call.attributes_ref for call in calls)
    models = [*steps.filter(sequence_no__in=numbers)]
    samples: set[int] = set()
    for call in calls:
        start_s, end_s = span_of(call)
        candidates = [step.sequence_no for step in models if start_s <= span_of(step)[0] and span_of(step)[1] <= end_s]
        # Of more model calls, some are the agent's own.
        if len(candidates) <= _count_samples(as_object(attributes.get(call.attributes_ref))):
            samples.update(candidates)
    return [no for no in numbers if no not in samples]


def _count_samples(attributes: JSONObject) -> int:
    return sum(item.get("method") == _SAMPLE for item in as_objects(attributes.get(MCP_MESSAGES)))


def _tools(rerun: Rerun) -> list[RerunTool]:
    """Return the tools and retrievers in the order of their first calls."""
    calls = [*_tool_calls(rerun).order_by("id").values_list("name", "decision", "sequence_no")]
    exact_numbers = {no for _, decision, no in calls if decision == RerunDecision.EXACT}
    replay_outputs = _replay_outputs(rerun, exact_numbers)
    decisions: dict[str, Counter[str]] = {}
    for name, decision, no in calls:
        is_from_replay = decision == RerunDecision.EXACT and no in replay_outputs
        decisions.setdefault(name, Counter())["from_replay" if is_from_replay else decision] += 1
    names = ("from_replay", *(item.value for item in _OUTCOMES))
    return [
        RerunTool.model_validate({"name": name, **{field: counts[field] for field in names}})
        for name, counts in decisions.items()
    ]


def _tool_difference(rerun: Rerun) -> JSONValue:
    """Return where a client answered an MCP server otherwise than in the recording; None if it did not."""
    calls = _tool_calls(rerun).filter(detail__has_key="difference").order_by("id")
    return calls.values_list("detail__difference", flat=True).first()


def _tool_calls(rerun: Rerun) -> QuerySet[RerunToolCall]:
    return rerun.tool_calls.filter(attempt=rerun.attempt).exclude(decision=RerunDecision.ASK)
