"""Reads of reruns."""

from collections import Counter

from replay.models import Rerun
from replay.reruns.schemas import RerunDifference, RerunName, RerunView
from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Step
from traces.runs.queries import by_id


def find(id: str) -> Rerun:
    """Return a rerun; raise `NotFound`."""
    return by_id(Rerun.objects.all(), id, "rerun")


def view(rerun: Rerun) -> RerunView:
    """Return what the agent asked for so far, and how it was answered."""
    calls = [*rerun.calls.filter(attempt=rerun.attempt).defer("exchange").order_by("id")]
    labels = Counter(call.label for call in calls)
    numbers = {call.sequence_no for call in calls}
    steps = Step.objects.filter(run_id=rerun.source_run_id, type=StepType.MODEL).order_by("sequence_no")
    difference = next((call.difference for call in calls if call.difference is not None), None)
    return RerunView(
        id=rerun.id,
        run=rerun.source_run_id,
        started_at=rerun.created_at,
        ended_at=rerun.ended_at,
        exit_code=rerun.exit_code,
        exact=labels[Label.EXACT],
        cached=labels[Label.CACHED],
        live=sum(call.reason == Reason.LIVE_MODEL for call in calls),
        overridden=sum(call.reason == Reason.OPERATOR_OVERRIDE for call in calls),
        misses=labels[""],
        is_fork=rerun.profile_id is not None,
        fork=rerun.run_id,
        diff=rerun.diff_id,
        divergence=None if difference is None else RerunDifference.model_validate(difference),
        unused_steps=[no for no in steps.values_list("sequence_no", flat=True) if no not in numbers],
        names=[RerunName(kind=kind, old=old, new=new) for kind, old, new in rerun.names],
    )
