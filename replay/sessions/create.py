"""Create sessions from prepared replays."""

from collections.abc import Mapping

from replay.models import ReplaySession
from replay.saved_profiles import services as library
from replay.sessions import prepare
from traces.redaction.markers import Digester
from traces.redaction_policies.key import redaction_key
from traces.runs import deleted_runs


def create(preparation: prepare.PreparedReplay, *, is_probe: bool = False, by: str = "") -> ReplaySession:
    """Create a pending session for a prepared replay, in the caller's transaction; the caller queues it."""
    deleted_runs.hold([preparation.run.id])
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
        variable_digests=_digests(request.variables),
        by=by,
    )


def _digests(variables: Mapping[str, str]) -> dict[str, str]:
    """Return what stays of the values of variables: enough to see that two are equal, and no more."""
    digester = Digester(redaction_key())
    return {name: digester.marker("variable", value.encode()) for name, value in variables.items()}
