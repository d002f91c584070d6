"""Fork factory: prepares a replay for previews, launches, workers and probes."""

from collections.abc import Iterable
from dataclasses import dataclass

from replay.core.applied_profile import AppliedProfile, apply_profile
from replay.core.context import ReplayContext
from replay.core.environment import ReplayEnvironment
from replay.core.graph import Graph, Node
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.store.payload_reader import Payloads
from traces.core.vocabulary import StepType
from traces.signatures.ignore_rules import Ignoring


@dataclass(frozen=True, kw_only=True)
class Fork:
    """A source from one of its steps on, the overrides applied to it, and what its replay may do."""

    graph: Graph
    profile: AppliedProfile
    policy: Policy

    def context(self, environment: ReplayEnvironment, ignoring: Ignoring) -> ReplayContext:
        """What a replay is made from; `environment` answers its calls."""
        return ReplayContext(
            graph=self.graph, profile=self.profile, policy=self.policy, environment=environment, ignoring=ignoring
        )


def build_fork(graph: Graph, overrides: OverrideProfile, policy: Policy, payloads: Payloads) -> Fork:
    """Apply overrides; `payloads` hears what of the recording the replay can come to want."""
    fork = Fork(graph=graph, profile=apply_profile(overrides, graph), policy=policy)
    payloads.expect(lambda: _wanted(fork))
    return fork


def _wanted(fork: Fork) -> Iterable[Iterable[str]]:
    """What the change can reach. Apart from it the inputs of models, of which a plan may need none."""
    graph = fork.graph
    anew = {node.no for node in graph.nodes if fork.policy.reexecutes(node.type)}
    reached = sorted(graph.reach(anew | fork.profile.by_step.keys()))
    nodes = [graph.by_no[no] for no in reached if no in graph.by_no]
    around = {each.no: each for node in nodes for each in graph.ancestors(node)}
    return (
        (node.input_ref for node in nodes if node.type is StepType.MODEL),
        (ref for node in nodes for ref in (node.output_ref, _given(node))),
        (ref for each in around.values() for ref in (each.output_ref, each.input_ref)),
    )


def _given(node: Node) -> str:
    return "" if node.type is StepType.MODEL else node.input_ref
