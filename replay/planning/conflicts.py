"""Conflicts of a policy with itself, with a profile or with a plan. Pure."""

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from replay.core.applied_profile import AppliedProfile, pointer
from replay.core.calls import Call
from replay.core.events import Event, StepResolved
from replay.core.graph import CONTAINERS, Graph, Node
from replay.core.plan import PlannedStep, PlanRefusal
from replay.overrides.policy import Policy
from replay.overrides.profile import Override
from replay.overrides.request_edits import _system_places
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, StepType

Provider = Callable[[str, str, str | None], str | None]


def of_policy(policy: Policy) -> Iterator[PlanRefusal]:
    """Conflicts within a policy."""
    if policy.order == "reexecute" and not policy.allow:
        yield _refused("/policy/order", "`order: reexecute` asks for live calls, and `allow` lists none")
    yield from _of_tools(policy)


def of_profile(graph: Graph, profile: AppliedProfile, policy: Policy, provider: Provider) -> Iterator[PlanRefusal]:
    """Overrides that the policy forbids; each entry is checked once."""
    seen: set[int] = set()
    models = (node for node in graph.nodes if node.type is StepType.MODEL and node.no in profile.by_step)
    for node in models:
        for index in profile.by_step[node.no].entries:
            if index not in seen:
                seen.add(index)
                yield from _of_entry(index, profile.profile.overrides[index], node, policy, provider)


def unreviewed_tools(calls: Sequence[Call]) -> Iterator[PlanRefusal]:
    """Unreviewed tools that the plan would run; nothing goes live before they are reviewed."""
    if not calls:
        return
    tools = list(dict.fromkeys(call.callee for call in calls))
    named = ", ".join(map(repr, tools))
    detail = f"the policy lets tools run live, and nobody has reviewed {named}: decide on the Tools page first"
    step = next((call.node.no for call in calls if call.node is not None), None)
    yield PlanRefusal(code="tool_review_required", detail=detail, where="/policy/allow", step=step)


def strict(policy: Policy, steps: Sequence[PlannedStep], events: Sequence[Event]) -> Iterator[PlanRefusal]:
    """Steps and new calls that a strict policy refuses because they would be simulated or unanswered."""
    if not policy.strict:
        return
    simulated = [step for step in steps if step.label is Label.SIMULATED or step.action == "blocked"]
    # A container is simulated because of a step inside it: that one is to blame, and it comes later.
    simulated.sort(key=lambda step: step.type in CONTAINERS)
    if simulated:
        failing = simulated[0]
        why = "get no answer" if failing.action == "blocked" else f"be simulated ({failing.reason})"
        detail = f"the policy is strict, and step {failing.sequence_no} would {why}"
        yield PlanRefusal(code="policy_conflict", detail=detail, where="/policy/strict", step=failing.sequence_no)
        return
    resolved = (event for event in events if isinstance(event, StepResolved) and event.call.node is None)
    new = next((one for one in resolved if one.answer.label in {Label.SIMULATED, None}), None)
    if new is not None:
        detail = (
            f"the policy is strict, and step {new.call.no}, a call of {new.call.callee} that the recording does not "
            "have, would be simulated"
        )
        yield PlanRefusal(code="policy_conflict", detail=detail, where="/policy/strict", step=new.call.no)


def idle_reexecution(policy: Policy, events: Sequence[Event]) -> Iterator[PlanRefusal]:
    """`order: reexecute` without anything to execute."""
    idle = not_executed(policy, events)
    live = any(isinstance(event, StepResolved) and event.answer.action == "live" for event in events)
    if idle and not live:
        detail = (
            f"`order: reexecute` asks for live calls, and nothing configured can make that of step {idle[0].no} "
            f"({idle[0].type} {idle[0].model or idle[0].callee})"
        )
        yield PlanRefusal(code="policy_conflict", detail=detail, where="/policy/order", step=idle[0].no)


def not_executed(policy: Policy, events: Sequence[Event]) -> list[Node]:
    """Steps under `order: reexecute` that a recording answers because nothing can execute them."""
    resolved = (
        event for event in events if isinstance(event, StepResolved) and event.answer.action in {"reuse", "cache"}
    )
    return [one.call.node for one in resolved if one.call.node is not None and policy.reexecutes(one.call.type)]


def of_budget(policy: Policy, fork: int, live: Sequence[PlannedStep]) -> Iterator[PlanRefusal]:
    """Budgets below the certain needs of the plan."""
    budget = policy.budget
    if live and budget.max_live_calls == 0:
        yield _refused("/policy/budget/max_live_calls", f"the budget allows no live calls, and {_makes(live)}", live[0])
    if live and budget.max_cost_usd == 0:
        yield _refused("/policy/budget/max_cost_usd", f"the budget allows no cost, and {_makes(live)}", live[0])
    if budget.max_steps is not None and budget.max_steps < fork:
        detail = f"the budget allows {budget.max_steps} steps, and the fork is at step {fork}"
        yield _refused("/policy/budget/max_steps", detail)


def budget_warnings(policy: Policy, live: Sequence[PlannedStep], cost: float | None, *, steps: int) -> Iterator[str]:
    """Budgets that the plan would exhaust unless a loop ends earlier."""
    room = policy.budget.max_steps
    if room is not None and steps > room:
        yield f"The budget allows {_steps(room)}, and this replay has {steps}: it stops when these are made."
    calls, most = policy.budget.max_live_calls, policy.budget.max_cost_usd
    if calls and len(live) > calls:
        yield f"The budget allows {_calls(calls)}: the replay stops at step {live[calls].sequence_no}, the next one."
    if most and cost is not None and cost > most:
        yield f"The budget allows ${most:g}, and the live calls are expected to cost ${cost:.4f}: it may not suffice."


def _of_entry(index: int, entry: Override, node: Node, policy: Policy, provider: Provider) -> Iterator[PlanRefusal]:
    asks = [name for name in entry.sets if name in {"model", "messages", "prompt"}]
    if asks and "model" not in policy.allow and policy.fallback == "fail":
        detail = f"`{asks[0]}` needs a live model call, and the policy neither allows one nor a placeholder"
        yield PlanRefusal(code="policy_conflict", detail=detail, where=pointer(index, asks[0]), step=node.no)
    model = entry.model
    if model and model.provider and provider(node.provider, model.model or node.model, model.provider) is None:
        where, detail = pointer(index, "model", "provider"), f"provider {model.provider!r} is not configured"
        yield PlanRefusal(code="policy_conflict", detail=detail, where=where, step=node.no)


def _of_tools(policy: Policy) -> Iterator[PlanRefusal]:
    rules = policy.tools
    for index, asked in enumerate(rules.ask):
        if (block := _covering(rules.block, asked)) is not None:
            detail = f"the operator cannot be asked about {asked!r}: {block!r} on the blocklist denies it"
            yield _refused(f"/policy/tools/ask/{index}", detail)
    if rules.allow and "tool" not in policy.allow:
        detail = "`tools.allow` names tools that may run live, and `allow` lets no tool do so"
        yield _refused("/policy/tools/allow", detail)
    elif "tool" in policy.allow and all(_covering(rules.block, name) is not None for name in rules.allow or ["*"]):
        yield _refused("/policy/tools/block", "`allow` lets tools run live, and the blocklist denies every one of them")


def _covering(patterns: Sequence[str], name: str) -> str | None:
    """First pattern that covers everything that `name` (a name or glob) matches."""
    return next((pattern for pattern in patterns if pattern == name or fnmatchcase(name, pattern)), None)


def _makes(live: Sequence[PlannedStep]) -> str:
    return f"the plan makes {_calls(len(live))}"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _calls(count: int) -> str:
    return "1 live call" if count == 1 else f"{count} live calls"


def _refused(where: str, detail: str, step: PlannedStep | None = None) -> PlanRefusal:
    return PlanRefusal(
        code="policy_conflict", detail=detail, where=where, step=None if step is None else step.sequence_no
    )


def bad_edit(
    no: int, index: int, entry: Override, messages: Sequence[JSONValue], prompt: JSONObject
) -> PlanRefusal | None:
    """First edit that does not fit step `no`: the message does not exist, or `prompt` sets it too."""
    system = _system_places(messages, prompt)
    for at, edit in enumerate(entry.messages or ()):
        where = pointer(index, "messages", at, "index")
        if edit.index >= len(messages) + (edit.op == "insert"):
            detail = f"step {no} has {len(messages)} messages: there is none at index {edit.index}"
            return PlanRefusal(code="override_matches_nothing", detail=detail, where=where, step=no)
        if edit.index in system and edit.op != "insert":
            detail = f"step {no}: message {edit.index} is the system prompt, which `prompt.system` sets as well"
            return PlanRefusal(code="override_conflict", detail=detail, where=where, step=no)
    return None
