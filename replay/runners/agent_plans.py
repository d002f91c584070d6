"""Plans of replays in which the agent itself runs."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from django.db.models import Q, QuerySet

from replay.core.applied_profile import AppliedProfile, pointer
from replay.core.graph import Node
from replay.core.plan import Plan, PlannedStep, PlanRefusal, UninterceptedTool
from replay.core.vocabulary import Engine
from replay.hooks import configuration
from replay.live.providers.protocols import foreign_protocol, protocol_of, provider_problem
from replay.live.providers.translation import input_problem
from replay.overrides.policy import Policy, ToolRules
from replay.overrides.profile import Override
from replay.runners import consents, inherited_changes, queries
from traces.core.json_access import as_object
from traces.core.schema import LabelCounts
from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Run, Step
from traces.storage import artifacts

_AGENT_DECIDES: Final = "The agent runs again and decides what it does after the change: this plan is an estimate."
_REALLY_RUNS: Final = "Nothing intercepts this tool, so the agent really runs it."
# What a replay that follows the recording would do instead.
_WITHOUT_A_CALL: Final = frozenset({"reuse", "cache", "simulate", "blocked"})
_STEP_TYPES: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL})


def agent_plan(
    plan: Plan, run: Run, overrides: AppliedProfile, nodes: Mapping[int, Node], tools: Sequence[UninterceptedTool]
) -> Plan:
    """Turn the plan of a replay that follows the recording into one in which the agent runs.

    What refuses the former, such as a tool without a review, does not concern the agent: it asks when it gets there.
    Only `tools`, which nothing intercepts, need consent before it starts.
    """
    own_warnings = [_AGENT_DECIDES, *warnings()]
    if categories := inherited_changes.find(run):
        own_warnings.append(
            f"{_lineage_text(categories)}, so its calls differ from this run. To run the agent with all changes, fork "
            "the run that was recorded."
        )
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
        "refusals": [*refusals(overrides, nodes), *([] if consent_refusal is None else [consent_refusal])],
        "warnings": [*own_warnings, *plan.warnings],
    }
    return _with_real_calls(plan.model_copy(update=changes), run)


def _lineage_text(categories: Sequence[str]) -> str:
    return f"The agent's code does not have what earlier forks changed in its requests ({', '.join(categories)})"


def followed_plan(plan: Plan, tools: Sequence[UninterceptedTool], lineage_changes: Sequence[str] = ()) -> Plan:
    """Add to a plan that follows the recording why the agent does not run.

    Some of its `tools` lack consent, or its code does not have the `lineage_changes` of earlier forks.
    """
    if lineage_changes:
        warning = f"Follows the recording. {_lineage_text(lineage_changes)}."
        return plan.model_copy(update={"warnings": [warning, *plan.warnings]})
    names = [tool.name for tool in tools if tool.consent is None]
    if not names:
        return plan
    warning = (
        "Follows the recording, because the agent would really run tools that nothing intercepts and nobody allowed: "
        f"{consents.shorten(names)}."
    )
    return plan.model_copy(update={"unintercepted_tools": [*tools], "warnings": [warning, *plan.warnings]})


def warnings() -> list[str]:
    """Return that nobody asks the server's hooks about an agent that runs; none if there are no hooks."""
    text = "The hooks of the server are not asked about the calls of an agent that runs."
    return [text] if configuration.hooks() else []


def may_choose(run: Run, policy: Policy) -> bool:
    """Return whether the agent may run though nobody asked for it: a runner waits for it.

    No policy of live tools and searches and no hook of the server binds an agent: it makes its own calls.
    """
    is_default = policy.order == "reuse" and {*policy.allow} <= {"model"} and policy.tools == ToolRules()
    return is_default and not configuration.hooks() and queries.online(run.app).exists()


def needs_sdk(overrides: AppliedProfile) -> bool:
    """Return whether only the SDK in the agent can apply overrides: no recording shows which calls it can intercept."""
    return any(entry.retrieval is not None or entry.arguments is not None for entry in overrides.profile.overrides)


def refusals(overrides: AppliedProfile, nodes: Mapping[int, Node]) -> Iterator[PlanRefusal]:
    """Yield why overrides cannot be applied while the agent itself runs; `nodes` are the steps by number."""
    yield from overrides.refusals
    for index, entry in enumerate(overrides.profile.overrides):
        if problem := _problem(entry, overrides, nodes):
            yield PlanRefusal(code="validation_error", detail=problem, where=pointer(index))
    for no in overrides.by_step:
        if nodes[no].type not in _STEP_TYPES:
            detail = (
                f"step {no} is a {nodes[no].type} step, which the agent's own code makes: change a call before or "
                "after it, or follow the recording"
            )
            yield PlanRefusal(code="validation_error", detail=detail, where="/overrides", step=no)


def _problem(entry: Override, overrides: AppliedProfile, nodes: Mapping[int, Node]) -> str:
    """Return why another provider cannot be asked: its protocol may not express what the agent's requests contain."""
    if entry.model is None or entry.model.provider is None:
        return ""
    name = entry.model.provider
    if problem := provider_problem(name):
        return problem
    steps = [nodes[no] for no, edits in overrides.by_step.items() if edits.model.get("provider") == name]
    foreign = [node for node in steps if foreign_protocol(name, protocol_of(node.provider)) is not None]
    inputs = artifacts.available(node.input_ref for node in foreign)
    for node in foreign:
        if problem := input_problem(as_object(inputs.get(node.input_ref))):
            return f"provider “{name}” cannot be asked in step {node.no}: another protocol cannot express {problem}"
    return ""


def _with_real_calls(plan: Plan, run: Run) -> Plan:
    """Return the plan with the calls of tools that nothing intercepts as what they are: the agent makes them.

    Also those that the plan only counts, before the fork and where no change reaches: whether their results are the
    recorded ones is not known.
    """
    names = {tool.name for tool in plan.unintercepted_tools}
    if not names:
        return plan
    actions, labels = Counter(plan.actions), Counter(plan.counts.model_dump())
    steps: list[PlannedStep] = []
    for step in plan.steps:
        if step.type is StepType.TOOL and step.name in names and step.action in _WITHOUT_A_CALL:
            actions.subtract([step.action])
            labels.subtract([step.label] if step.label else [])
            actions["live"] += 1
            labels[Label.SIMULATED] += 1
            step = replace(step, action="live", reason=Reason.AGENT_RAN, label=Label.SIMULATED, note=_REALLY_RUNS)
        steps.append(step)
    unlisted_numbers = {*_numbers_of_calls(run, names)} - {step.sequence_no for step in plan.steps}
    for number in unlisted_numbers:
        actions.subtract(["inherited" if number < plan.fork_sequence_no else "reuse"])
    actions["live"] += len(unlisted_numbers)
    labels[Label.EXACT] -= len(unlisted_numbers)
    labels[Label.SIMULATED] += len(unlisted_numbers)
    return plan.model_copy(update={"steps": steps, "actions": {**actions}, "counts": LabelCounts(**labels)})


def _numbers_of_calls(run: Run, names: Collection[str]) -> QuerySet[Step, int]:
    """Return the steps of a run that are calls of these tools."""
    is_of_tool = Q(tool_name__in=names) | Q(tool_name="", name__in=names)
    return Step.objects.filter(is_of_tool, run=run, type=StepType.TOOL).values_list("sequence_no", flat=True)
