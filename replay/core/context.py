"""Immutable input of a replay: source, changes, policy and environment. Pure."""

from collections.abc import Collection
from dataclasses import dataclass

from replay.core.applied_profile import AppliedProfile
from replay.core.environment import ReplayEnvironment
from replay.core.graph import Graph, Node
from replay.overrides.policy import Policy
from traces.core.json_types import JSONObject, JSONValue
from traces.signatures.ignore_rules import NO_RULES, IgnoreRules


@dataclass(frozen=True, kw_only=True)
class EditedModels:
    """Edited model steps whose outcome is known without their requests, by number.

    Steps in `live` go live; the edits of steps in `unchanged` equal the recording. Both hold only if nothing but a
    step's own edits changes its request.
    """

    live: Collection[int] = frozenset()
    unchanged: Collection[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class ReplayContext:
    """The source from the fork on, the fork's changes and policy, and the environment that answers calls.

    `brief` omits explanations of labels; `edited_models` is what a plan knows about edited steps beforehand.
    """

    graph: Graph
    profile: AppliedProfile
    policy: Policy
    environment: ReplayEnvironment
    ignoring: IgnoreRules = NO_RULES
    brief: bool = False
    edited_models: EditedModels = EditedModels()

    def payload(self, ref: str) -> JSONValue:
        """Recorded value; None without a reference. Raises `MissingPart`."""
        return self.environment.payload(ref) if ref else None

    def recorded_request(self, node: Node) -> JSONObject:
        """Recorded input of a model step; empty if it is not a request."""
        value = self.payload(node.input_ref)
        return value if isinstance(value, dict) else {}
