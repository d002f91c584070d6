"""Who can be asked for an answer that a probe needs, and whether it would say anything of the changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from replay.core.applied_profile import apply_profile
from replay.core.calls import Call
from replay.core.graph import Graph
from replay.live import availability, providers, tools
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.overrides.request_edits import apply_model_settings
from replay.proofs.core.types import Allowance
from replay.proofs.subject.subject import Subject
from replay.store.payload_reader import Payloads
from replay.tool_review import queries
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType


@dataclass
class Asking:
    """What the policy of a proof lets be asked, and what of model requests its changes are about."""

    subject: Subject
    policy: Policy

    @cached_property
    def about(self) -> frozenset[str]:
        changes = self.subject.changes.changes.values()
        slots = [slot for change in changes if change.atom.testable for slot in (*change.on_base, *change.on_candidate)]
        return frozenset(slot.field for slot in slots if slot.category == "model")

    def is_answerable(self, call: Call, allowance: Allowance) -> bool:
        """Whether the policy lets the missing answer be asked for, and somebody is there to give it."""
        if allowance.live_calls == 0 or allowance.cost_usd == 0:
            return False
        if call.type is StepType.MODEL:
            named = availability.provider_name(call.provider, call.model, call.override_provider)
            return "model" in self.policy.allow and named is not None and not self.untold(call, named)
        if call.type is StepType.TOOL:
            reviewed = queries.safety(call.callee) is True and call.callee in tools.configured_tools()
            return "tool" in self.policy.allow and reviewed
        served = call.type is StepType.RETRIEVAL and "retrieval" in self.policy.allow
        return served and bool(availability.match_retriever(call).name)

    def why_not(self, call: Call, *, unpaid: bool) -> str:
        """Why nobody is asked for the missing answer."""
        what = f"step {call.no} ({call.type} {call.callee})"
        if unpaid:
            return f"{what} would have to be asked anew, and no live call is left in the budget"
        if call.type is StepType.MODEL:
            named = availability.provider_name(call.provider, call.model, call.override_provider)
            if named is not None and (why := self.untold(call, named)):
                return f"{what} would have to be asked anew, and {why}"
        if call.type is StepType.TOOL:
            return f"{what}: no recording has this call, and the tool is not reviewed, allowed and configured to run"
        return f"{what} would have to be asked anew, and nothing is allowed or configured to answer it"

    def untold(self, call: Call, provider: str) -> str:
        """Why the answer to a call would say nothing of a change; empty when it would."""
        return self._untold(call.input, provider, call.model)

    def unrepeatable(self, graph: Graph, overrides: OverrideProfile, payloads: Payloads) -> str:
        """Why repeats of a side would not be repeats of it; empty when they are."""
        node = next((node for node in graph.nodes if node.type is StepType.MODEL), None)
        named = availability.provider_name(node.provider, node.model, None) if node is not None else None
        if node is None or named is None or not node.input_ref or not self.about:
            return ""
        recorded = payloads(node.input_ref)
        edits = apply_profile(overrides, graph).edits_of(node).model
        return self._untold(
            apply_model_settings(recorded, edits) if isinstance(recorded, dict) else recorded, named, node.model
        )

    def _untold(self, input: JSONValue, provider: str, model: str) -> str:
        if not isinstance(input, dict) or not self.about:
            return ""
        left_out = providers.left_out(providers.ModelCall(provider=provider, model=model, input=input))
        names: Sequence[str] = sorted(self.about & {*left_out})
        if not names:
            return ""
        return f"{provider} has no place for {' and '.join(names)}, so that its answers say nothing of that change"
