"""Planner: what a replay would do with every step, and its cost. Pure: runs the engine with live calls unknown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from replay.core.applied_profile import AppliedProfile, pointer
from replay.core.context import EditedModels, ReplayContext
from replay.core.events import Event, StepResolved
from replay.core.graph import CONTAINERS, Graph, Node
from replay.core.plan import Determinism, Plan, PlanAction, PlannedStep, PlanRefusal
from replay.core.wording import assumed_warning, new_calls, sentence, step_list
from replay.detection.loops import recognise
from replay.engine.replayer import Replayer
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.planning import conflicts
from replay.planning.conflicts import bad_edit
from replay.planning.determinism import replay_type
from replay.planning.model_configs import determinism_of
from replay.planning.plan_environment import PlanEnvironment, Sources
from replay.planning.planned_steps import EXACT, lost_step, planned_steps
from replay.planning.shared_walks import Outlook
from replay.resolution.lost_recordings import refusals as lost_refusals
from replay.resolution.lost_recordings import reused_ranges
from replay.resolution.lost_recordings import warnings as lost_warnings
from traces.core.schema import LabelCounts
from traces.core.vocabulary import Label, Reason, StepType
from traces.payloads.lost_payloads import LostPayloads
from traces.payloads.messages import ModelRequest
from traces.payloads.parts import MissingPart

_NOTHING_TO_FOLLOW: Final = "Nothing to follow: every model answer is the recorded one"


def plan(
    graph: Graph,
    profile: AppliedProfile,
    policy: Policy,
    sources: Sources,
    *,
    brief: bool = False,
    untouched: bool = True,
) -> Plan:
    """Plan a replay. Refusals are part of the plan; a refused replay does not start.

    Steps that nothing reaches are listed where `untouched` says so; a brief plan says of the others what becomes of
    them, not why.
    """
    environment = PlanEnvironment(sources)
    refusals = list(profile.refusals)
    outlook = Outlook(events=(), costs={})
    try:
        refusals += _bad_edits(graph, profile, environment)
        outlook = _outlook(graph, profile, policy, sources, share=brief)
        refusals += conflicts.unreviewed_tools(outlook.unreviewed_calls)
        refusals += _unserved(outlook.events, profile.profile, policy, environment)
    except MissingPart as missing:
        refusals.append(_missing(graph, missing))
    events = outlook.events
    refusals += conflicts.of_policy(policy)
    refusals += conflicts.of_profile(graph, profile, policy, sources.provider)
    steps = outlook.steps or planned_steps(graph, events, outlook.costs, brief=brief, untouched=untouched and not brief)
    refusals += lost_refusals(policy, sources.lost, reused_ranges(graph.fork, events))
    refusals += conflicts.strict(policy, steps, events)
    refusals += conflicts.idle_reexecution(policy, events)
    refusals += conflicts.of_budget(policy, graph.fork, [step for step in steps if step.action == "live"])
    determinism = determinism_of(graph, profile, policy, environment)
    counted = _Counted(fork=graph.fork, total=len(graph.nodes) if events else len(steps), nodes=graph.by_no)
    made = _assembled(counted, steps, policy, determinism, refusals, _loop(graph, steps), events, sources.lost)
    return made.model_copy(update={"ignore_list": sources.ignoring.version})


def _outlook(graph: Graph, profile: AppliedProfile, policy: Policy, sources: Sources, *, share: bool) -> Outlook:
    def walked(edited: EditedModels) -> Outlook:
        environment = PlanEnvironment(sources)
        context = ReplayContext(
            graph=graph,
            profile=profile,
            policy=policy,
            environment=environment,
            ignoring=sources.ignoring,
            brief=share,
            edited_models=edited,
        )
        replayer = Replayer(context)
        return Outlook(
            events=list(replayer.run()),
            costs=environment.costs,
            unreviewed_calls=replayer.unreviewed_calls,
            dependence=replayer.dependence,
        )

    if not share:
        return walked(EditedModels())
    return sources.outlooks.of(
        graph,
        profile,
        policy,
        provider=sources.provider,
        price=sources.price,
        requests=sources.requests,
        walked=walked,
    )


def empty_plan(fork: int, policy: Policy, refusals: list[PlanRefusal]) -> Plan:
    """Plan of a replay that is refused before its steps are planned."""
    determinism = Determinism(
        score=None, factors={}, threshold=policy.determinism_threshold, critical_changes=[], other_changes=[]
    )
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
        determinism=determinism,
        loop="",
        refusals=refusals,
        warnings=[],
    )


def plan_unchanged(
    fork: int, last: int, models: Sequence[Node], policy: Policy, sources: Sources, lost: Sequence[Node]
) -> Plan:
    """Brief plan of a replay without changes; only the `lost` steps from the fork on are loaded."""
    graph = Graph(fork=fork, nodes=tuple(models))
    profile = AppliedProfile(by_step={}, refusals=(), profile=OverrideProfile(overrides=[]))
    determinism = determinism_of(graph, profile, policy, PlanEnvironment(sources))
    counted = _Counted(fork=fork, total=max(0, last - fork + 1), nodes={})
    refusals = [*conflicts.of_policy(policy), *lost_refusals(policy, sources.lost, [range(1, last + 1)])]
    steps = [lost_step(node) for node in lost]
    return _assembled(counted, steps, policy, determinism, refusals, _NOTHING_TO_FOLLOW, [], sources.lost)


@dataclass(frozen=True, kw_only=True)
class _Counted:
    """Step counts of a plan: `total` from the fork on (it may list fewer), and those before."""

    fork: int
    total: int
    nodes: Mapping[int, Node]


def _assembled(
    counted: _Counted,
    steps: list[PlannedStep],
    policy: Policy,
    determinism: Determinism,
    refusals: list[PlanRefusal],
    loop: str,
    events: Sequence[Event],
    lost: Mapping[int, LostPayloads],
) -> Plan:
    # Open at the fork, and end otherwise
    before = sum(step.sequence_no < counted.fork for step in steps)
    inherited, untouched = counted.fork - 1 - before, counted.total + before - len(steps)
    lost_before = sum(no < counted.fork for no in lost)
    actions: dict[PlanAction, int] = dict.fromkeys(get_args(PlanAction), 0)
    actions |= Counter(step.action for step in steps)
    actions["inherited"] = inherited
    actions["reuse"] += untouched
    labels = Counter(step.label for step in steps)
    live = [step for step in steps if step.action == "live"]
    costs = [step.cost_usd for step in live]
    nodes = [counted.nodes[step.sequence_no] for step in live]
    return Plan(
        fork_sequence_no=counted.fork,
        steps=steps,
        actions=actions,
        counts=LabelCounts(
            exact=labels[Label.EXACT] + inherited - lost_before + untouched,
            cached=labels[Label.CACHED],
            simulated=labels[Label.SIMULATED] + lost_before,
        ),
        assumed=sum(step.reason == Reason.ASSUMED_UNAFFECTED for step in steps),
        live_calls=len(live) + sum(one.answer.action == "live" for one in _new(events)),
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
        tokens=sum((node.tokens_in or 0) + (node.tokens_out or 0) for node in nodes),
        duration_ms=sum(node.duration_ms or 0.0 for node in nodes),
        replay_type=replay_type(determinism),
        determinism=determinism,
        loop=loop,
        refusals=refusals,
        warnings=[
            *_warnings(steps, policy, events, costs, count=sum(actions.values()) - actions["unreached"]),
            *lost_warnings(lost, counted.fork),
        ],
    )


def _warnings(
    steps: list[PlannedStep], policy: Policy, events: Sequence[Event], costs: list[float | None], *, count: int
) -> list[str]:
    found = []
    simulates = policy.fallback == "simulate"
    placeholders = [step.sequence_no for step in steps if simulates and step.reason == Reason.POLICY_FALLBACK]
    blocked = (event.call for event in events if isinstance(event, StepResolved) and event.answer.label is None)
    if costs:
        found.append("Live answers may ask for other calls than recorded; later steps are planned as recorded.")
    if None in costs:
        found.append("The price of a live model is not known, so neither is the cost.")
    if None in costs and policy.budget.max_cost_usd is not None:
        found.append("The cost cap cannot hold: the price of some live calls is not known.")
    if new := _new(events):
        found.append(new_calls([(one.call.callee, one.answer.reason or "") for one in new]))
    if idle := [node.no for node in conflicts.not_executed(policy, events)]:
        found.append(sentence(f"{step_list(idle)} cannot be executed again, and recorded output is reused there."))
    if placeholders:
        gets, them = ("gets a placeholder", "it") if len(placeholders) == 1 else ("get placeholders", "them")
        found.append(sentence(f"{step_list(placeholders)} {gets}, because nothing can answer {them}."))
    if assumed := [step.sequence_no for step in steps if step.reason == Reason.ASSUMED_UNAFFECTED]:
        found.append(assumed_warning(assumed))
    if (failing := next(blocked, None)) is not None:
        number = failing.no if failing.node is None else failing.node.no
        beyond = ", which the recording does not have" if failing.node is None else ""
        found.append(f"The replay will fail at step {number}{beyond}: nothing can answer it, and the policy says fail.")
    live = [step for step in steps if step.action == "live"]
    cost = None if None in costs else sum(each or 0.0 for each in costs)
    return [*found, *conflicts.budget_warnings(policy, live, cost, steps=count)]


def _new(events: Sequence[Event]) -> list[StepResolved]:
    """New calls that are known before anything runs."""
    resolved = (event for event in events if isinstance(event, StepResolved))
    return [one for one in resolved if "divergence" in one.answer.detail and one.call.type not in CONTAINERS]


def _loop(graph: Graph, steps: list[PlannedStep]) -> str:
    """How the loop of the first re-resolved model step was recognised."""
    changed = (step for step in steps if step.type is StepType.MODEL and step.reason != EXACT)
    first = next((graph.by_no[step.sequence_no] for step in changed), None)
    return recognise(graph, first).summary if first is not None else _NOTHING_TO_FOLLOW


def _missing(graph: Graph, missing: MissingPart) -> PlanRefusal:
    node = next((node for node in graph.nodes if missing.digest in {node.input_ref, node.output_ref}), None)
    where = f" of step {node.no}" if node is not None else ""
    return PlanRefusal(
        code="artifact_missing",
        detail=f"a payload{where} that the replay needs is missing ({missing.digest})",
        where="/run",
        step=None if node is None else node.no,
    )


def _bad_edits(graph: Graph, profile: AppliedProfile, environment: PlanEnvironment) -> Iterable[PlanRefusal]:
    """Message edits that do not fit a matched step: the first one of each entry."""
    for index, entry in enumerate(profile.profile.overrides):
        for node in graph.nodes if entry.messages else ():
            edits = profile.edits_of(node)
            if index not in edits.entries:
                continue
            recorded = ModelRequest(environment.payload(node.input_ref) if node.input_ref else None).messages
            if (refusal := bad_edit(node.no, index, entry, recorded, edits.prompt)) is not None:
                yield refusal
                break


def _unserved(
    events: Sequence[Event], profile: OverrideProfile, policy: Policy, environment: PlanEnvironment
) -> Iterable[PlanRefusal]:
    """Retrievals that an override requests and no retriever can serve."""
    for event in events:
        if not isinstance(event, StepResolved) or not event.call.edits.retrieval or event.answer.is_known:
            continue
        call, answer = event.call, event.answer
        allowed = "retrieval" in policy.allow
        if answer.action == "live" or not (allowed or answer.action == "blocked"):
            continue
        index = next(index for index in call.edits.entries if "retrieval" in profile.overrides[index].sets)
        why = (
            environment.retriever(call).reason if allowed else "the policy allows neither a live one nor a placeholder"
        )
        yield PlanRefusal(
            code="policy_conflict",
            detail=f"step {call.no} ({call.callee!r}) needs a search, and {why}",
            where=pointer(index, "retrieval"),
            step=call.no,
        )
