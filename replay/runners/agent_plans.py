"""Plans of replays in which the agent itself runs."""

from collections.abc import Iterator, Mapping
from typing import Final

from replay.core.applied_profile import AppliedProfile, pointer
from replay.core.plan import Plan, PlanRefusal
from replay.core.vocabulary import Engine
from replay.hooks import configuration
from replay.overrides.policy import Policy, ToolRules
from replay.overrides.profile import Override
from replay.runners import queries
from traces.core.json_access import as_object
from traces.core.vocabulary import StepType
from traces.importers.formats.tracing.reported_tools import SDK_REPORT
from traces.models import Run, Step
from traces.redaction.raw_responses import RAW_RESPONSE
from traces.storage import artifacts

_AGENT_DECIDES: Final = "The agent runs again and decides what it does after the change: this plan is an estimate."
_LONGEST_LIST: Final = 10
# Attributes of calls that are answered in a rerun: by the SDK, or by the gateway.
_ANSWER_MARKS: Final = frozenset({SDK_REPORT, RAW_RESPONSE})
_STEP_TYPES: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL})


def agent_plan(plan: Plan, run: Run, overrides: AppliedProfile, types: Mapping[int, StepType]) -> Plan:
    """Turn the plan of a replay that follows the recording into one in which the agent runs.

    What refuses the former, such as a tool without a review, does not concern the agent: it asks when it gets there.
    """
    own_warnings = [_AGENT_DECIDES, *warnings(run)]
    if not queries.online(run.app).exists():
        own_warnings.append(f"No runner of {run.app} is online: the agent starts as soon as one is.")
    changes = {
        "engine": Engine.AGENT,
        "refusals": [*refusals(overrides, types)],
        "warnings": [*own_warnings, *plan.warnings],
    }
    return plan.model_copy(update=changes)


def warnings(run: Run) -> list[str]:
    """Return what an agent that runs again does for real, and that nobody asks hooks about it."""
    messages = []
    if tools := _unknown_tools(run):
        names = ", ".join(tools[:_LONGEST_LIST]) + ("…" if len(tools) > _LONGEST_LIST else "")
        messages.append(f"Tools that the SDK does not know in the agent really run, also before the fork: {names}.")
    if configuration.hooks():
        messages.append("The hooks of the server are not asked about the calls of an agent that runs.")
    return messages


def may_choose(run: Run, policy: Policy) -> bool:
    """Return whether the agent may run though nobody asked for it: a runner waits for it, and all it does is known.

    No policy of live tools and searches and no hook of the server binds an agent: it makes its own calls.
    """
    is_default = policy.order == "reuse" and {*policy.allow} <= {"model"} and policy.tools == ToolRules()
    return is_default and not configuration.hooks() and queries.online(run.app).exists() and not _unknown_tools(run)


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


def _unknown_tools(run: Run) -> list[str]:
    """Return the tools that only the conversations name: the SDK may not know them, so that it cannot answer them."""
    steps = Step.objects.filter(run=run).order_by("sequence_no")
    first_model = steps.filter(type=StepType.MODEL).values_list("attributes_ref", flat=True).first()
    # The gateway stores responses as they came; the SDK, which would know the tools, does not.
    if first_model is None or RAW_RESPONSE not in as_object(artifacts.available([first_model]).get(first_model)):
        return []
    tools = [*steps.filter(type=StepType.TOOL).values_list("tool_name", "name", "attributes_ref")]
    attributes = artifacts.available(ref for *_, ref in tools)
    known_names = {
        tool_name or name for tool_name, name, ref in tools if as_object(attributes.get(ref)).keys() & _ANSWER_MARKS
    }
    return [*dict.fromkeys(tool_name or name for tool_name, name, _ in tools if (tool_name or name) not in known_names)]
