"""Conflicts of a policy with itself, with a profile or with a plan. Pure."""

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from replay.core.applied_profile import AppliedProfile, pointer
from replay.core.calls import Call
from replay.core.events import Event, StepResolved
from replay.core.graph import CONTAINERS, Graph, Node
from replay.core.plan import PlannedStep, PlanRefusal
from replay.overrides.edits import Edits
from replay.overrides.policy import Policy
from replay.overrides.profile import Override
from replay.overrides.request_edits import system_prompt_indexes
from replay.resolution import replay_outputs
from traces.core.json_access import member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepType

# Characters of messages in which passages are replaced, for one step.
_MOST_SEARCHED: Final = 500_000_000
Provider = Callable[[str, str, str | None], str | None]


def of_policy(policy: Policy) -> Iterator[PlanRefusal]:
    """Conflicts within a policy."""
    if policy.order == "reexecute" and not policy.allow:
        yield _conflict("/policy/order", "the policy makes calls again, but allows no live calls")
    yield from _of_tools(policy)


def of_profile(graph: Graph, profile: AppliedProfile, policy: Policy, provider: Provider) -> Iterator[PlanRefusal]:
    """Overrides that the policy forbids; each entry is checked once."""
    checked_entries: set[int] = set()
    models = (node for node in graph.nodes if node.type is StepType.MODEL and node.no in profile.by_step)
    for node in models:
        for index in profile.by_step[node.no].entries:
            if index not in checked_entries:
                checked_entries.add(index)
                yield from _of_entry(index, profile.profile.overrides[index], node, policy, provider)


def unreviewed_tools(calls: Sequence[Call]) -> Iterator[PlanRefusal]:
    """Unreviewed tools that the plan would run; nothing goes live before they are reviewed."""
    if not calls:
        return
    tools = list(dict.fromkeys(call.callee for call in calls))
    tool_names = ", ".join(f"“{tool}”" for tool in tools)
    verb, pronoun = ("is", "it") if len(tools) == 1 else ("are", "them")
    detail = (
        f"the policy allows live tool calls, but {tool_names} {verb} not reviewed: "
        f"review {pronoun} on the Tools page first"
    )
    step = next((call.node.no for call in calls if call.node is not None), None)
    yield PlanRefusal(code="tool_review_required", detail=detail, where="/policy/allow", step=step)


def strict(policy: Policy, steps: Sequence[PlannedStep], events: Sequence[Event]) -> Iterator[PlanRefusal]:
    """Steps and new calls that a strict policy refuses because they would be simulated or unanswered."""
    if not policy.strict:
        return
    simulated = [step for step in steps if step.label is Label.SIMULATED or step.action == "blocked"]
    # A container is simulated because of a step inside it; that step is the cause, and comes later.
    simulated.sort(key=lambda step: step.type in CONTAINERS)
    if simulated:
        failing = simulated[0]
        outcome = "get no answer" if failing.action == "blocked" else f"be simulated ({failing.reason})"
        detail = f"the policy is strict, but step {failing.sequence_no} would {outcome}"
        if failing.reason == Reason.SOURCE_OUTPUT_REUSED:
            detail = replay_outputs.strict_refusal(failing.sequence_no)
        yield PlanRefusal(code="policy_conflict", detail=detail, where="/policy/strict", step=failing.sequence_no)
        return
    new_steps = (event for event in events if isinstance(event, StepResolved) and event.call.node is None)
    new = next((event for event in new_steps if event.answer.label in {Label.SIMULATED, None}), None)
    if new is not None:
        detail = (
            f"the policy is strict, but step {new.call.no}, a call of {new.call.callee} that is not in the recording, "
            "would be simulated"
        )
        yield PlanRefusal(code="policy_conflict", detail=detail, where="/policy/strict", step=new.call.no)


def idle_reexecution(policy: Policy, events: Sequence[Event]) -> Iterator[PlanRefusal]:
    """`order: reexecute` without anything to execute."""
    idle = not_executed(policy, events)
    live = any(isinstance(event, StepResolved) and event.answer.action == "live" for event in events)
    if idle and not live:
        first = idle[0]
        detail = (
            f"the policy makes calls again, but nothing is configured to execute step {first.no} "
            f"({first.type} {first.model or first.callee}){_missing_provider(first)}"
        )
        yield PlanRefusal(code="policy_conflict", detail=detail, where="/policy/order", step=first.no)


def _missing_provider(node: Node) -> str:
    if node.type is not StepType.MODEL:
        return ""
    return f": no provider is “{node.provider}”" if node.provider else ": it was recorded without a provider"


def not_executed(policy: Policy, events: Sequence[Event]) -> list[Node]:
    """Steps that keep a recorded or cached answer under `order: reexecute`, because nothing can execute them."""
    if policy.order != "reexecute":
        return []
    reused_steps = (
        event
        for event in events
        if isinstance(event, StepResolved) and (event.answer.action in {"reuse", "cache"} or event.answer.is_reused)
    )
    return [
        event.call.node for event in reused_steps if event.call.node is not None and policy.reexecutes(event.call.type)
    ]


def of_budget(policy: Policy, fork: int, live: Sequence[PlannedStep]) -> Iterator[PlanRefusal]:
    """Budgets below the certain needs of the plan."""
    budget = policy.budget
    if live and budget.max_live_calls == 0:
        yield _conflict(
            "/policy/budget/max_live_calls", f"the budget allows no live calls, but {_makes(live)}", live[0]
        )
    if live and budget.max_cost_usd == 0:
        yield _conflict("/policy/budget/max_cost_usd", f"the budget allows no cost, but {_makes(live)}", live[0])
    if budget.max_steps is not None and budget.max_steps < fork:
        detail = f"the budget allows {budget.max_steps} steps, but the fork is at step {fork}"
        yield _conflict("/policy/budget/max_steps", detail)


def budget_warnings(policy: Policy, live: Sequence[PlannedStep], cost: float | None, *, steps: int) -> Iterator[str]:
    """Budgets that the plan would exhaust unless a loop ends earlier."""
    room = policy.budget.max_steps
    if room is not None and steps > room:
        yield f"The budget allows {_steps(room)}, but this replay has {steps}: it stops when the budget is used up."
    calls, most = policy.budget.max_live_calls, policy.budget.max_cost_usd
    if calls and len(live) > calls:
        number = live[calls].sequence_no
        yield f"The budget allows {_calls(calls)}: the replay stops at step {number}, which needs another one."
    if most and cost is not None and cost > most:
        yield f"The budget of ${most:g} may not suffice: the live calls are expected to cost ${cost:.4f}."


def _of_entry(index: int, entry: Override, node: Node, policy: Policy, provider: Provider) -> Iterator[PlanRefusal]:
    asks = [name for name in entry.sets if name in {"model", "messages", "prompt"}]
    if asks and "model" not in policy.allow and policy.fallback == "fail":
        detail = f"`{asks[0]}` needs a live model call, but the policy allows neither that nor a placeholder"
        yield PlanRefusal(code="policy_conflict", detail=detail, where=pointer(index, asks[0]), step=node.no)
    model = entry.model
    if model and model.provider and provider(node.provider, model.model or node.model, model.provider) is None:
        path, detail = pointer(index, "model", "provider"), f"provider “{model.provider}” is not configured"
        yield PlanRefusal(code="policy_conflict", detail=detail, where=path, step=node.no)


def _of_tools(policy: Policy) -> Iterator[PlanRefusal]:
    rules = policy.tools
    for index, tool in enumerate(rules.ask):
        if (block := _covering(rules.block, tool)) is not None:
            detail = f"the policy asks the operator about “{tool}”, but “{block}” on the blocklist denies it"
            yield _conflict(f"/policy/tools/ask/{index}", detail)
    if rules.allow and "tool" not in policy.allow:
        detail = "the policy names tools that may run live, but allows no live tool calls"
        yield _conflict("/policy/tools/allow", detail)
    elif "tool" in policy.allow and all(_covering(rules.block, name) is not None for name in rules.allow or ["*"]):
        yield _conflict(
            "/policy/tools/block", "the policy allows live tool calls, but its blocklist denies all of them"
        )


def _covering(patterns: Sequence[str], name: str) -> str | None:
    """First pattern that covers everything that `name` (a name or glob) matches."""
    return next((pattern for pattern in patterns if pattern == name or fnmatchcase(name, pattern)), None)


def _makes(live: Sequence[PlannedStep]) -> str:
    return f"the plan needs {_calls(len(live))}"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _calls(count: int) -> str:
    return "1 live call" if count == 1 else f"{count} live calls"


def _conflict(path: str, detail: str, step: PlannedStep | None = None) -> PlanRefusal:
    return PlanRefusal(
        code="policy_conflict", detail=detail, where=path, step=None if step is None else step.sequence_no
    )


def bad_edit(
    no: int, index: int, entry: Override, messages: Sequence[JSONValue], prompt: JSONObject
) -> PlanRefusal | None:
    """First edit that does not fit step `no`: the message does not exist, or `prompt` sets it too."""
    system = system_prompt_indexes(messages, prompt)
    for at, edit in enumerate(entry.messages or ()):
        path = pointer(index, "messages", at, "index")
        if edit.index >= len(messages) + (edit.op == "insert"):
            detail = f"step {no} has {len(messages)} messages; there is no message at index {edit.index}"
            return PlanRefusal(code="override_matches_nothing", detail=detail, where=path, step=no)
        if edit.index in system and edit.op != "insert":
            detail = f"step {no}: message {edit.index} is the system prompt, which `prompt.system` also sets"
            return PlanRefusal(code="override_conflict", detail=detail, where=path, step=no)
    return None


def excess_passages(no: int, edits: Edits, messages: Sequence[JSONValue]) -> PlanRefusal | None:
    """Refuse passages of step `no` whose replacement would take seconds: each one searches the whole message."""
    work = 0
    for edit in edits.messages:
        text = member(messages[edit.index], "content") if edit.passages else None
        work += len(text) * len(edit.passages or ()) if isinstance(text, str) else 0
        if isinstance(text, str) and work > _MOST_SEARCHED:
            detail = (
                f"step {no}: all passages together would search {work:,} characters or more, at most "
                f"{_MOST_SEARCHED:,} are allowed; message {edit.index} has {len(text):,}. Use fewer passages, or "
                "replace the message"
            )
            return PlanRefusal(
                code="validation_error", detail=detail, where=pointer(edits.entries[0], "messages"), step=no
            )
    return None
