"""Making sessions of what was planned."""

from replay.models import ReplaySession
from replay.saved_profiles import services as library
from replay.sessions import prepare


def create(prepared: prepare.PreparedReplay, *, is_probe: bool = False) -> ReplaySession:
    """A pending session of what was planned; whoever makes it queues it."""
    request, plan = prepared.request, prepared.plan
    planned = {
        str(step.sequence_no): [step.action, step.label, str(step.reason)]
        for step in plan.steps
        if step.action != "reuse"
    }
    return ReplaySession.objects.create(
        source_run=prepared.run,
        fork_sequence_no=prepared.fork,
        profile=library.keep_profile(request.overrides),
        stated_policy=library.keep_policy(request.policy),
        policy=request.policy.model_dump(mode="json"),
        plan=plan.model_dump(mode="json", exclude={"steps"}),
        planned=planned,
        planned_steps=sum(plan.actions.values()) - plan.actions["unreached"],
        cost_usd=0,
        is_probe=is_probe,
    )
