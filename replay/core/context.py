"""What a replay is made from; nothing of it changes while it runs. Pure."""

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
    """Edited model steps by number: those that are `asked` live, and those whose edits state what is recorded.

    Both hold where nothing but its own edits changes what a step is asked.
    """

    live: Collection[int] = frozenset()
    unchanged: Collection[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class ReplayContext:
    """The source from the fork on, what the fork changes and may do, and what answers.

    `brief`: nobody asks why a step is resolved as it is; `edited`: what is known of edited steps beforehand.
    """

    graph: Graph
    profile: AppliedProfile
    policy: Policy
    environment: ReplayEnvironment
    ignoring: IgnoreRules = NO_RULES
    brief: bool = False
    edited_models: EditedModels = EditedModels()

    def payload(self, ref: str) -> JSONValue:
        """A recorded value, None without a reference; raises `MissingPart`."""
        return self.environment.payload(ref) if ref else None

    def recorded_request(self, node: Node) -> JSONObject:
        """A model step's recorded input; empty where that is no request."""
        value = self.payload(node.input_ref)
        return value if isinstance(value, dict) else {}
