"""Plans of replays in which the agent itself runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from replay.core.applied_profile import AppliedProfile, pointer
from replay.core.plan import Plan, PlannedStep, PlanRefusal, UninterceptedTool
from replay.core.vocabulary import Engine
from replay.hooks import configuration
from replay.overrides.policy import Policy, ToolRules
from replay.overrides.profile import Override
from replay.runners import consents, queries
from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Run

_AGENT_DECIDES: Final = "The agent runs again and decides what it does after the change: this plan is an estimate."
_REALLY_RUNS: Final = "Nothing intercepts this tool, so the agent really runs it."
# What a replay that follows the recording would do instead.
_WITHOUT_A_CALL: Final = frozenset({"cache", "simulate", "blocked"})
_STEP_TYPES: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL})


def agent_plan(
    plan: Plan, run: Run, overrides: AppliedProfile, types: Mapping[int, StepType], tools: Sequence[UninterceptedTool]
) -> Plan:
    """Turn the plan of a replay that follows the recording into one in which the agent runs.

    What refuses the former, such as a tool without a review, does not concern the agent: it asks when it gets there.
    Only `tools`, which nothing intercepts, need consent before it starts.
    """
    own_warnings = [_AGENT_DECIDES, *warnings(tools)]
    if not queries.online(run.app).exists():
        own_warnings.append(f"No runner of {run.app} is online: the agent starts as soon as one is.")
    if hosts := queries.hosts(run.app):
        own_warnings.append(
            f"Earlier starts of the agent asked for hosts outside the gateway: {consents.shorten(hosts)}."
        )
    consent_refusal = consents.refusal(tools)
    changes = {
        "engine": Engine.AGENT,
        "unintercepted_tools": [*tools],
        "hosts": hosts,
        "refusals": [*refusals(overrides, types), *([] if consent_refusal is None else [consent_refusal])],
        "warnings": [*own_warnings, *plan.warnings],
    }
    return _with_real_calls(plan.model_copy(update=changes))


def followed_plan(plan: Plan, tools: Sequence[UninterceptedTool]) -> Plan:
    """Add to a plan that follows the recording why the agent does not run: some of its tools lack consent."""
    names = [tool.name for tool in tools if tool.consent is None]
    if not names:
        return plan
    warning = (
        "Follows the recording, because the agent would really run tools that nothing intercepts and nobody allowed: "
        f"{consents.shorten(names)}."
    )
    return plan.model_copy(update={"unintercepted_tools": [*tools], "warnings": [warning, *plan.warnings]})


def warnings(tools: Sequence[UninterceptedTool]) -> list[str]:
    """Return what an agent that runs again does for real, and that nobody asks hooks about it."""
    messages = []
    if tools:
        names = consents.shorten([tool.name for tool in tools])
        messages.append(f"Nothing intercepts these tools: they really run, also before the fork: {names}.")
    if configuration.hooks():
        messages.append("The hooks of the server are not asked about the calls of an agent that runs.")
    return messages


def may_choose(run: Run, policy: Policy) -> bool:
    """Return whether the agent may run though nobody asked for it: a runner waits for it.

    No policy of live tools and searches and no hook of the server binds an agent: it makes its own calls.
    """
    is_default = policy.order == "reuse" and {*policy.allow} <= {"model"} and policy.tools == ToolRules()
    return is_default and not configuration.hooks() and queries.online(run.app).exists()


def needs_sdk(overrides: AppliedProfile) -> bool:
    """Return whether only the SDK in the agent can apply overrides: no recording shows which calls it can intercept."""
    return any(entry.retrieval is not None or entry.arguments is not None for entry in overrides.profile.overrides)


def refusals(overrides: AppliedProfile, types: Mapping[int, StepType]) -> Iterator[PlanRefusal]:
    """Yield why overrides cannot be applied while the agent itself runs; `types` are those of the steps by number."""
    yield from overrides.refusals
    for index, entry in enumerate(overrides.profile.overrides):
        if problem := _problem(entry):
            yield PlanRefusal(code="validation_error", detail=problem, where=pointer(index))
    for no in overrides.by_step:
        if types[no] not in _STEP_TYPES:
            detail = (
                f"step {no} is a {types[no]} step, which the agent's own code makes: change a call before or after "
                "it, or follow the recording"
            )
            yield PlanRefusal(code="validation_error", detail=detail, where="/overrides", step=no)


def _problem(entry: Override) -> str:
    if entry.model is not None and entry.model.provider is not None:
        return (
            "the agent speaks the protocol of its provider, which therefore cannot be changed: change the model, "
            "or follow the recording"
        )
    return ""


def _with_real_calls(plan: Plan) -> Plan:
    """Return the plan with the calls of tools that nothing intercepts as what they are: the agent makes them."""
    names = {tool.name for tool in plan.unintercepted_tools}
    actions = dict(plan.actions)
    steps: list[PlannedStep] = []
    for step in plan.steps:
        if step.type is StepType.TOOL and step.name in names and step.action in _WITHOUT_A_CALL:
            actions[step.action] -= 1
            actions["live"] += 1
            step = replace(step, action="live", reason=Reason.AGENT_RAN, label=Label.SIMULATED, note=_REALLY_RUNS)
        steps.append(step)
    return plan.model_copy(update={"steps": steps, "actions": actions})
