"""The parts of one replay, put together. Pure."""

from dataclasses import dataclass

from replay.agent_loops import AgentLoops
from replay.call_builder import CallBuilder
from replay.context import ReplayContext
from replay.foresight import Foresight
from replay.handed_results import HandedResults
from replay.hooks.points import Points
from replay.hooks.types import Hooks
from replay.implicit_calls import ImplicitCalls
from replay.reach import Reach
from replay.replay_state import ReplayState
from replay.resolvers import Resolvers
from replay.step_results import StepResults
from replay.subagents import SubAgents


@dataclass(frozen=True, kw_only=True)
class ReplayParts:
    """What works on one context and one state; each part knows only those that it is given."""

    context: ReplayContext
    state: ReplayState
    implicit: ImplicitCalls
    handed: HandedResults
    foresight: Foresight
    results: StepResults
    calls: CallBuilder
    loops: AgentLoops
    reach: Reach
    subagents: SubAgents
    resolvers: Resolvers
    points: Points


def replay_parts(context: ReplayContext, hooks: Hooks) -> ReplayParts:
    """The parts of a replay that has not begun."""
    state, implicit, points = ReplayState(context), ImplicitCalls(context), Points(hooks)
    handed = HandedResults(context, state, implicit)
    reach, subagents = Reach(context, state, implicit, handed), SubAgents(context, state)
    foresight = Foresight(context, state)
    resolvers = Resolvers(context.policy, context.environment, subagents.answer, context.ignoring, reach.of)
    calls = CallBuilder(context, state, handed, foresight)
    return ReplayParts(
        context=context, state=state, implicit=implicit, handed=handed, foresight=foresight, calls=calls, reach=reach,
        results=StepResults(context, state, handed), subagents=subagents, resolvers=resolvers, points=points,
        loops=AgentLoops(context, implicit, listening=points.active),
    )  # fmt: skip
