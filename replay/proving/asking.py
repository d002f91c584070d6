"""Whether a provider that is asked for a probe can say anything of the changes that it is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from replay import preflight, providers
from replay.edits import apply_profile, edited_request
from replay.graph import Graph
from replay.loading import Payloads
from replay.overrides import OverrideProfile
from replay.proving.subject import Subject
from replay.world import Call
from traces.json_types import JSONValue
from traces.vocabulary import StepType


@dataclass
class Asking:
    """What of model requests the changes are about, and which providers have no place for it."""

    subject: Subject

    @cached_property
    def about(self) -> frozenset[str]:
        changes = self.subject.changes.changes.values()
        slots = [slot for change in changes if change.atom.testable for slot in (*change.on_base, *change.on_candidate)]
        return frozenset(slot.field for slot in slots if slot.category == "model")

    def untold(self, call: Call, provider: str) -> str:
        """Why the answer to a call would say nothing of a change; empty when it would."""
        return self._untold(call.input, provider, call.model)

    def unrepeatable(self, graph: Graph, overrides: OverrideProfile, payloads: Payloads) -> str:
        """Why repeats of a side would not be repeats of it; empty when they are."""
        node = next((node for node in graph.nodes if node.type is StepType.MODEL), None)
        named = preflight.provider_name(node.provider, node.model, None) if node is not None else None
        if node is None or named is None or not node.input_ref or not self.about:
            return ""
        recorded = payloads(node.input_ref)
        edits = apply_profile(overrides, graph).of(node).model
        return self._untold(
            edited_request(recorded, edits) if isinstance(recorded, dict) else recorded, named, node.model
        )  # fmt: skip

    def _untold(self, input: JSONValue, provider: str, model: str) -> str:
        if not isinstance(input, dict) or not self.about:
            return ""
        left_out = providers.left_out(providers.ModelCall(provider=provider, model=model, input=input))
        names: Sequence[str] = sorted(self.about & {*left_out})
        if not names:
            return ""
        return f"{provider} has no place for {' and '.join(names)}, so that its answers say nothing of that change"
