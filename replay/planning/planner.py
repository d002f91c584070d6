"""Planner: the outcome of every step and its cost. Pure: runs the engine with live calls unknown."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args

from replay.core.applied_profile import AppliedProfile, pointer
from replay.core.context import KnownRequests, ReplayContext
from replay.core.events import Event, StepResolved
from replay.core.graph import CONTAINERS, Graph, Node
from replay.core.plan import Determinism, Plan, PlanAction, PlannedStep, PlanRefusal
from replay.core.wording import assumed_warning, new_calls, sentence, step_list
from replay.detection.loops import recognise
from replay.engine.replayer import Replayer
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.planning import conflicts
from replay.planning.conflicts import bad_edit, excess_passages
from replay.planning.determinism import replay_type
from replay.planning.model_configs import determinism_of
from replay.planning.new_results import new_results
from replay.planning.overridden_answers import alike_answers
from replay.planning.plan_environment import PlanEnvironment, Sources
from replay.planning.planned_steps import REUSE, lost_step, planned_steps, reused_step
from replay.planning.shared_outlooks import Outlook
from replay.resolution import replay_outputs
from replay.resolution.lost_recordings import refusals as lost_refusals
from replay.resolution.lost_recordings import reused_ranges
from replay.resolution.lost_recordings import warnings as lost_warnings
from traces.core.json_types import JSONValue
from traces.core.schema import LabelCounts
from traces.core.vocabulary import Label, Reason, StepType
from traces.payloads.messages import ModelRequest
from traces.payloads.parts import MissingPart

_NOTHING_TO_FOLLOW: Final = "No loop to follow: all model answers are as recorded"


def plan(
    graph: Graph,
    profile: AppliedProfile,
    policy: Policy,
    sources: Sources,
    *,
    brief: bool = False,
    list_reused: bool = True,
    is_followed: bool = True,
) -> Plan:
    """Plan a replay. Refusals are part of the plan; a refused replay does not start.

    `list_reused` lists steps that no change reaches; a `brief` plan omits the reasons of all others. Unless the
    recording `is_followed`, an agent makes the calls, and what only a follower does is not warned of.
    """
    environment = PlanEnvironment(sources)
    refusals = list(profile.refusals)
    outlook = Outlook(events=(), costs={})
    try:
        refusals += _bad_edits(graph, profile, environment)
        if not refusals and (refusal := _excess_passages(graph, profile, environment)):
            refusals.append(refusal)
            profile = replace(profile, by_step={})
        outlook = _outlook(graph, profile, policy, sources, share=brief)
        refusals += conflicts.unreviewed_tools(outlook.unreviewed_calls)
        refusals += _unserved_searches(outlook.events, profile.profile, policy, environment)
    except MissingPart as missing_part:
        refusals.append(_missing_refusal(graph, missing_part))
    refusals += conflicts.of_policy(policy)
    refusals += conflicts.of_profile(graph, profile, policy, sources.provider)
    list_all = list_reused and not brief
    draft = sources.outlooks.draft_of(
        outlook,
        lambda: _draft(graph, policy, sources, outlook, brief=brief, list_reused=list_all, is_followed=is_followed),
    )
    reused_numbers = _reused_edits(profile, draft.steps) if outlook.events or outlook.steps else set()
    determinism = determinism_of(graph, profile, policy, environment, reused_numbers=reused_numbers)
    return draft.model_copy(
        update={
            "replay_type": replay_type(determinism),
            "determinism": determinism,
            "refusals": [*refusals, *draft.refusals],
            "ignore_list": sources.ignoring.version,
        }
    )


def _reused_edits(profile: AppliedProfile, steps: Sequence[PlannedStep]) -> set[int]:
    """Edited steps of which the plan reuses the recorded output; not all of these are listed."""
    active_numbers = {step.sequence_no for step in steps if step.reason != REUSE}
    return profile.by_step.keys() - active_numbers


def _draft(
    graph: Graph,
    policy: Policy,
    sources: Sources,
    outlook: Outlook,
    *,
    brief: bool,
    list_reused: bool,
    is_followed: bool,
) -> Plan:
    """Plan without what depends on the profile alone; its refusals are those that follow from the steps."""
    events = outlook.events
    steps = outlook.steps or planned_steps(graph, events, outlook.costs, brief=brief, list_reused=list_reused)
    refusals = [
        *lost_refusals(policy, sources.losses, reused_ranges(graph.fork, events)),
        *replay_outputs.refusals(policy, sources.replay_outputs, graph.fork),
        *conflicts.strict(policy, steps, events),
        *conflicts.idle_reexecution(policy, events),
        *conflicts.of_budget(policy, graph.fork, [step for step in steps if step.action == "live"]),
    ]
    counts = _StepCounts(fork=graph.fork, total=len(graph.nodes) if events else len(steps), nodes=graph.by_no)
    unknown = _unknown_determinism(policy)
    plan = _assemble(counts, steps, policy, unknown, refusals, _loop(graph, steps, sources), events, sources)
    if not is_followed:
        return plan
    return plan.model_copy(update={"warnings": [*_warnings_of_following(steps, policy, events), *plan.warnings]})


def _outlook(graph: Graph, profile: AppliedProfile, policy: Policy, sources: Sources, *, share: bool) -> Outlook:
    def run_plan(known_requests: KnownRequests) -> Outlook:
        environment = PlanEnvironment(sources)
        context = ReplayContext(
            graph=graph,
            profile=profile,
            policy=policy,
            environment=environment,
            ignoring=sources.ignoring,
            brief=share,
            known_requests=known_requests,
            read_messages=sources.messages,
        )
        replayer = Replayer(context)
        events = list(replayer.run())
        replayer.state.histories.release()
        return Outlook(
            events=events,
            costs=environment.costs,
            unreviewed_calls=replayer.unreviewed_calls,
            dependence=replayer.dependence,
        )

    if not share:
        return run_plan(KnownRequests())
    return sources.outlooks.outlook_of(
        graph,
        profile,
        policy,
        provider=sources.provider,
        price=sources.price,
        requests=sources.requests,
        find_new_results=lambda: new_results(graph, profile, sources),
        find_alike_answers=lambda: alike_answers(graph, profile, policy, sources.answers, PlanEnvironment(sources)),
        run_plan=run_plan,
    )


def empty_plan(fork: int, policy: Policy, refusals: list[PlanRefusal]) -> Plan:
    """Plan of a replay that is refused before its steps are planned."""
    return Plan(
        fork_sequence_no=fork,
        steps=[],
        actions=dict.fromkeys(get_args(PlanAction), 0),
        counts=LabelCounts(),
        live_calls=0,
        cost_usd=None,
        tokens=0,
        duration_ms=None,
        replay_type="A",
        determinism=_unknown_determinism(policy),
        loop="",
        refusals=refusals,
        warnings=[],
    )


def _unknown_determinism(policy: Policy) -> Determinism:
    return Determinism(
        score=None, factors={}, threshold=policy.determinism_threshold, critical_changes=[], other_changes=[]
    )


def plan_unchanged(
    fork: int, last: int, models: Sequence[Node], policy: Policy, sources: Sources, other_steps: Sequence[Node]
) -> Plan:
    """Brief plan of a replay without changes; from the fork on, only `other_steps`, which are not exact, are loaded."""
    graph = Graph(fork=fork, nodes=tuple(models))
    profile = AppliedProfile(by_step={}, refusals=(), profile=OverrideProfile(overrides=[]))
    determinism = determinism_of(graph, profile, policy, PlanEnvironment(sources))
    counts = _StepCounts(fork=fork, total=max(0, last - fork + 1), nodes={})
    steps = [lost_step(node) if node.losses else reused_step(node) for node in other_steps]
    refusals = [
        *conflicts.of_policy(policy),
        *lost_refusals(policy, sources.losses, [range(1, last + 1)]),
        *replay_outputs.refusals(policy, sources.replay_outputs, last + 1),
    ]
    return _assemble(counts, steps, policy, determinism, refusals, _NOTHING_TO_FOLLOW, [], sources)


@dataclass(frozen=True, kw_only=True)
class _StepCounts:
    """Step counts of a plan: `total` from the fork on (it may list fewer), and those before."""

    fork: int
    total: int
    nodes: Mapping[int, Node]


def _assemble(
    counts: _StepCounts,
    steps: list[PlannedStep],
    policy: Policy,
    determinism: Determinism,
    refusals: list[PlanRefusal],
    loop: str,
    events: Sequence[Event],
    sources: Sources,
) -> Plan:
    # Containers that are open at the fork and differ at their end.
    open_count = sum(step.sequence_no < counts.fork for step in steps)
    inherited_count, reused_count = counts.fork - 1 - open_count, counts.total + open_count - len(steps)
    labels_before = _labels_before(counts.fork, sources, {step.sequence_no for step in steps})
    actions: dict[PlanAction, int] = dict.fromkeys(get_args(PlanAction), 0)
    actions |= Counter(step.action for step in steps)
    actions["inherited"] = inherited_count
    actions["reuse"] += reused_count
    labels = Counter(step.label for step in steps)
    live, other_calls = [step for step in steps if step.action == "live"], _new_calls(events)
    costs = [step.cost_usd for step in live]
    nodes = [counts.nodes[step.sequence_no] for step in live]
    return Plan(
        fork_sequence_no=counts.fork,
        steps=steps,
        actions=actions,
        counts=LabelCounts(
            exact=labels[Label.EXACT] + inherited_count - labels_before.total() + reused_count,
            cached=labels[Label.CACHED] + labels_before[Label.CACHED],
            simulated=labels[Label.SIMULATED] + labels_before[Label.SIMULATED],
        ),
        assumed=sum(step.reason == Reason.ASSUMED_UNAFFECTED for step in steps),
        live_calls=len(live) + sum(event.answer.action == "live" for event in other_calls),
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
        tokens=sum((node.tokens_in or 0) + (node.tokens_out or 0) for node in nodes),
        duration_ms=sum(node.duration_ms or 0.0 for node in nodes),
        replay_type=replay_type(determinism),
        determinism=determinism,
        loop=loop,
        refusals=refusals,
        warnings=[
            *_warnings(live, policy, costs, count=sum(actions.values()) - actions["unreached"]),
            *lost_warnings(sources.losses, counts.fork, steps),
        ],
    )


def _labels_before(fork: int, sources: Sources, numbers: Collection[int]) -> Counter[Label]:
    """Labels of the inherited steps that are not exact, except those that the plan lists."""
    labels = {no: output.label for no, output in sources.replay_outputs.items()} | dict.fromkeys(
        sources.losses, Label.SIMULATED
    )
    return Counter(label for no, label in labels.items() if no < fork and no not in numbers)


def _warnings(live: list[PlannedStep], policy: Policy, costs: list[float | None], *, count: int) -> list[str]:
    warnings = []
    if None in costs:
        warnings.append("The cost is unknown, because a live model has no known price.")
    if None in costs and policy.budget.max_cost_usd is not None:
        warnings.append("The cost limit cannot be enforced, because some live calls have no known price.")
    cost = None if None in costs else sum(cost or 0.0 for cost in costs)
    return [*warnings, *conflicts.budget_warnings(policy, live, cost, steps=count)]


def _warnings_of_following(steps: list[PlannedStep], policy: Policy, events: Sequence[Event]) -> list[str]:
    """Return what to expect because the replay follows the recording, and not the agent's code."""
    warnings = []
    simulates = policy.fallback == "simulate"
    placeholders = [step.sequence_no for step in steps if step.reason == Reason.POLICY_FALLBACK] if simulates else []
    failing_calls = (event.call for event in events if isinstance(event, StepResolved) and event.answer.label is None)
    if any(step.action == "live" for step in steps):
        warnings.append("Live answers may request other calls than recorded; later steps are planned as recorded.")
    if other_calls := _new_calls(events):
        warnings.append(new_calls([(event.call.callee, event.answer.reason or "") for event in other_calls]))
    if idle := [node.no for node in conflicts.not_executed(policy, events)]:
        warnings.append(sentence(f"{step_list(idle)} cannot be executed again; recorded or cached output is reused."))
    elif policy.order == "reexecute" and policy.allow and not any(policy.reexecutes(step.type) for step in steps):
        kinds = " or ".join(policy.allow)
        warnings.append(f"Nothing is executed again: `allow` lists {kinds}, and no such call follows.")
    if placeholders:
        warnings.append(_placeholder_warning(placeholders, events))
    assumed_numbers = [step.sequence_no for step in steps if step.reason == Reason.ASSUMED_UNAFFECTED]
    failure_warnings = []
    if (failing_call := next(failing_calls, None)) is not None:
        number = failing_call.no if failing_call.node is None else failing_call.node.no
        note = ", which is not in the recording" if failing_call.node is None else ""
        failure_warnings.append(
            f"The replay will fail at step {number}{note}: nothing can answer it, and the policy's fallback is `fail`."
        )
        # It does not reach the others.
        assumed_numbers = [no for no in assumed_numbers if no < number]
    if assumed_numbers:
        warnings.append(assumed_warning(assumed_numbers))
    return [*warnings, *failure_warnings]


def _placeholder_warning(numbers: Sequence[int], events: Sequence[Event]) -> str:
    """Say why the first one has no answer: what the others lack usually follows from it.

    A note may go on with what else is to know about the step.
    """
    answers = (event for event in events if isinstance(event, StepResolved) and event.call.no == numbers[0])
    reason = next((event.answer.note for event in answers), "").partition(". ")[0]
    if len(numbers) == 1:
        return f"Step {numbers[0]} gets a placeholder. {reason or 'Nothing can answer it'}."
    text = sentence(f"{step_list(numbers)} get placeholders, because nothing can answer them.")
    return f"{text} Step {numbers[0]}: {reason}." if reason else text


def _new_calls(events: Sequence[Event]) -> list[StepResolved]:
    """New calls that are known before execution."""
    resolutions = (event for event in events if isinstance(event, StepResolved))
    return [event for event in resolutions if "divergence" in event.answer.detail and event.call.type not in CONTAINERS]


def _loop(graph: Graph, steps: list[PlannedStep], sources: Sources) -> str:
    """How the loop of the first re-resolved model step was recognised."""
    changed = (step for step in steps if step.type is StepType.MODEL and step.reason != REUSE)
    first = next((graph.by_no[step.sequence_no] for step in changed), None)
    return _NOTHING_TO_FOLLOW if first is None else recognise(graph, first, sources.payload).summary


def _missing_refusal(graph: Graph, missing_part: MissingPart) -> PlanRefusal:
    node = next((node for node in graph.nodes if missing_part.digest in {node.input_ref, node.output_ref}), None)
    return missing_refusal(node, missing_part.digest)


def missing_refusal(node: Node | None, digest: str) -> PlanRefusal:
    """Refusal of a replay that needs an unreadable payload."""
    location = f" of step {node.no}" if node is not None else ""
    return PlanRefusal(
        code="artifact_missing",
        detail=f"a payload{location} is missing, and the replay needs it ({digest})",
        where="/run",
        step=None if node is None else node.no,
    )


def _bad_edits(graph: Graph, profile: AppliedProfile, environment: PlanEnvironment) -> Iterable[PlanRefusal]:
    """First message edit of each entry that does not fit a step."""
    nodes_by_entry: defaultdict[int, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        for index in profile.edits_of(node).entries:
            nodes_by_entry[index].append(node)
    for index, entry in enumerate(profile.profile.overrides):
        for node in nodes_by_entry[index] if entry.messages else ():
            prompt = profile.edits_of(node).prompt
            if (refusal := bad_edit(node.no, index, entry, _messages(node, environment), prompt)) is not None:
                yield refusal
                break


def _excess_passages(graph: Graph, profile: AppliedProfile, environment: PlanEnvironment) -> PlanRefusal | None:
    """Refuse the first step with too many passages; all messages that edits name exist."""
    edited_nodes = (node for node in graph.nodes if any(edit.passages for edit in profile.edits_of(node).messages))
    refusals = (excess_passages(node.no, profile.edits_of(node), _messages(node, environment)) for node in edited_nodes)
    return next(filter(None, refusals), None)


def _messages(node: Node, environment: PlanEnvironment) -> Sequence[JSONValue]:
    return ModelRequest(environment.payload(node.input_ref) if node.input_ref else None).messages


def _unserved_searches(
    events: Sequence[Event], profile: OverrideProfile, policy: Policy, environment: PlanEnvironment
) -> Iterable[PlanRefusal]:
    """Searches that an override requires and no retriever can serve."""
    if not any("retrieval" in entry.sets for entry in profile.overrides):
        return
    for event in events:
        if not isinstance(event, StepResolved) or not event.call.edits.retrieval or event.answer.is_known:
            continue
        call, answer = event.call, event.answer
        is_allowed = "retrieval" in policy.allow
        if answer.action == "live" or not (is_allowed or answer.action == "blocked"):
            continue
        index = next(index for index in call.edits.entries if "retrieval" in profile.overrides[index].sets)
        reason = (
            environment.retriever(call).reason
            if is_allowed
            else "the policy allows neither live retrieval nor a placeholder"
        )
        yield PlanRefusal(
            code="policy_conflict",
            detail=f"step {call.no} (“{call.callee}”) needs a live search, but {reason}",
            where=pointer(index, "retrieval"),
            step=call.no,
        )
