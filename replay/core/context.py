"""Immutable input of a replay: source, changes, policy and environment. Pure."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from replay.core.applied_profile import AppliedProfile
from replay.core.environment import ReplayEnvironment
from replay.core.graph import Graph, Node
from replay.core.values.unread import Unread
from replay.overrides.policy import Policy
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.messages import ModelRequest
from traces.signatures.ignore_rules import NO_RULES, IgnoreRules

# Pairs of a tool step and the model step whose request contains its result.
NewResults = frozenset[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class KnownRequests:
    """What a plan knows about model requests without building them; steps by number.

    Steps in `live` go live, whatever their requests. No recording answers the requests of steps in `new`, and those of
    steps in `unchanged` equal the recording; both hold only if nothing but a step's own edits changes its request.
    """

    live: Collection[int] = frozenset()
    new: Collection[int] = frozenset()
    unchanged: Collection[int] = frozenset()
    # Overridden results that no recording contains.
    new_results: NewResults = frozenset()


@dataclass(frozen=True, kw_only=True)
class ReplayContext:
    """The source from the fork on, the fork's changes and policy, and the environment that answers calls.

    `brief` omits explanations of labels; `known_requests` is what a plan knows beforehand.
    """

    graph: Graph
    profile: AppliedProfile
    policy: Policy
    environment: ReplayEnvironment
    ignoring: IgnoreRules = NO_RULES
    brief: bool = False
    known_requests: KnownRequests = KnownRequests()
    # Reads the messages of a recorded request from an index on; None if requests are read as a whole.
    read_messages: Callable[[str, int], Sequence[JSONValue]] | None = None

    def payload(self, ref: str) -> JSONValue:
        """Recorded value; None without a reference. Raises `MissingPart`."""
        return self.environment.payload(ref) if ref else None

    def unread(self, ref: str) -> Unread | None:
        """Recorded value that is read at its first use; None without a reference."""
        return Unread(self.environment.payload, ref) if ref else None

    def recorded_request(self, node: Node) -> JSONObject:
        """Recorded input of a model step; empty if it is not a request."""
        value = self.payload(node.input_ref)
        return as_object(value)

    def recorded_messages(self, node: Node, start: int) -> Sequence[JSONValue]:
        """Messages of a model step's recorded input from index `start` on."""
        if self.read_messages is not None:
            return self.read_messages(node.input_ref, start)
        return ModelRequest(self.payload(node.input_ref)).messages[start:]
