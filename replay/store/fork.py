"""Fork factory: prepares a replay for previews, launches, workers and probes."""

from collections.abc import Iterable
from dataclasses import dataclass

from replay.core.applied_profile import AppliedProfile, apply_profile
from replay.core.context import ReplayContext
from replay.core.environment import ReplayEnvironment
from replay.core.graph import Graph
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.store.payload_reader import Payloads
from traces.core.vocabulary import StepType
from traces.signatures.ignore_rules import IgnoreRules


@dataclass(frozen=True, kw_only=True)
class Fork:
    """A source run from the fork step on, with the overrides applied to it and the policy of its replay."""

    graph: Graph
    profile: AppliedProfile
    policy: Policy

    def context(self, environment: ReplayEnvironment, ignoring: IgnoreRules) -> ReplayContext:
        """Build the replay's context; `environment` answers its calls."""
        return ReplayContext(
            graph=self.graph, profile=self.profile, policy=self.policy, environment=environment, ignoring=ignoring
        )


def build_fork(graph: Graph, overrides: OverrideProfile, policy: Policy, payloads: Payloads) -> Fork:
    """Apply overrides; `payloads` learns which recorded values the replay may read."""
    fork = Fork(graph=graph, profile=apply_profile(overrides, graph), policy=policy)
    payloads.expect(lambda: _payload_groups(fork))
    return fork


def _payload_groups(fork: Fork) -> Iterable[Iterable[str]]:
    """Payloads of the steps that a change can reach.

    Requests, answers and both payloads of other steps are separate groups, since a plan may need only some of them.
    """
    graph = fork.graph
    live_steps = {node.no for node in graph.nodes if fork.policy.reexecutes(node.type)}
    reachable = sorted(graph.reachable(live_steps | fork.profile.by_step.keys()))
    nodes = [graph.by_no[no] for no in reachable if no in graph.by_no]
    models = [node for node in nodes if node.type is StepType.MODEL]
    other_nodes = [node for node in nodes if node.type is not StepType.MODEL]
    containers = {container.no: container for node in nodes for container in graph.ancestors(node)}
    return (
        (node.input_ref for node in models),
        (node.output_ref for node in models),
        (node.input_ref for node in other_nodes),
        (node.output_ref for node in other_nodes),
        (ref for container in containers.values() for ref in (container.output_ref, container.input_ref)),
    )
