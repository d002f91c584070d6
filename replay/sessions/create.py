"""Create sessions from prepared replays."""

from replay.models import ReplaySession
from replay.saved_profiles import services as library
from replay.sessions import prepare


def create(preparation: prepare.PreparedReplay, *, is_probe: bool = False, by: str = "") -> ReplaySession:
    """Create a pending session for a prepared replay; the caller queues it."""
    request, plan = preparation.request, preparation.plan
    planned_steps = {
        str(step.sequence_no): [step.action, step.label, str(step.reason)]
        for step in plan.steps
        if step.action != "reuse"
    }
    return ReplaySession.objects.create(
        source_run=preparation.run,
        fork_sequence_no=preparation.fork,
        change=None if is_probe else preparation.change.model_dump(),
        profile=library.store_profile(request.overrides),
        stated_policy=library.store_policy(request.policy),
        policy=request.policy.model_dump(mode="json"),
        plan=plan.model_dump(mode="json", exclude={"steps"}),
        planned=planned_steps,
        planned_steps=sum(plan.actions.values()) - plan.actions["unreached"],
        cost_usd=0,
        is_probe=is_probe,
        engine=plan.engine,
        variables=request.variables,
        by=by,
    )
