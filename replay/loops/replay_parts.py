"""Parts of one replay and how they are wired. Pure."""

from dataclasses import dataclass

from replay.calls.call_builder import CallBuilder
from replay.calls.foreseen_steps import Foresight
from replay.calls.implicit_results import ImplicitResults
from replay.calls.reach import Reach
from replay.calls.step_results import StepResults
from replay.core.context import ReplayContext
from replay.core.hooks import Hooks
from replay.detection.agent_loops import AgentLoops
from replay.detection.implicit_calls import ImplicitCalls
from replay.loops.hook_points import HookPoints
from replay.loops.subagents import SubAgents
from replay.resolution.chain import ResolverChain
from replay.state.replay_state import ReplayState


@dataclass(frozen=True, kw_only=True)
class ReplayParts:
    """Collaborators that share one context and one state."""

    context: ReplayContext
    state: ReplayState
    implicit: ImplicitCalls
    implicit_results: ImplicitResults
    foresight: Foresight
    results: StepResults
    calls: CallBuilder
    loops: AgentLoops
    reach: Reach
    subagents: SubAgents
    chain: ResolverChain
    points: HookPoints


def replay_parts(context: ReplayContext, hooks: Hooks) -> ReplayParts:
    """Wire the parts of a new replay."""
    state, implicit, points = ReplayState(context), ImplicitCalls(context), HookPoints(hooks)
    implicit_results = ImplicitResults(context, state, implicit)
    reach, subagents = Reach(context, state, implicit, implicit_results), SubAgents(context, state)
    foresight = Foresight(context, state)
    chain = ResolverChain(
        context.policy,
        context.environment,
        subagents.answer,
        context.ignoring,
        reach.assumption,
        explains=not context.brief,
    )
    calls = CallBuilder(context, state, implicit_results, foresight)
    return ReplayParts(
        context=context,
        state=state,
        implicit=implicit,
        implicit_results=implicit_results,
        foresight=foresight,
        calls=calls,
        reach=reach,
        results=StepResults(context, state, implicit_results, reach.assumption),
        subagents=subagents,
        chain=chain,
        points=points,
        loops=AgentLoops(context, implicit, listening=points.active),
    )
