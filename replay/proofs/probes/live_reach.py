"""Which missing answers of a probe can be requested live, and whether they would show anything about the changes."""

from dataclasses import dataclass
from functools import cached_property

from diffing.sentences.atoms.obstacles import Gap, dropped_fields, gap, step_name
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
from replay.store.recorded_api import uses_responses
from replay.tool_review import queries
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType


@dataclass
class LiveReach:
    """Which missing answers the policy of a proof allows to request live."""

    subject: Subject
    policy: Policy

    @cached_property
    def changed_fields(self) -> frozenset[str]:
        """The fields of model requests that the changes set."""
        changes = self.subject.changes.changes.values()
        slots = [slot for change in changes if change.atom.testable for slot in (*change.on_base, *change.on_candidate)]
        return frozenset(slot.field for slot in slots if slot.category == "model")

    def is_answerable(self, call: Call, allowance: Allowance) -> bool:
        """Return whether the policy allows requesting the missing answer, and something can give it."""
        if allowance.live_calls == 0 or allowance.cost_usd == 0:
            return False
        if call.type is StepType.MODEL:
            provider = availability.provider_name(call.provider, call.model, call.override_provider)
            is_served = provider is not None and not self._ignored_change(call.input, provider, call.model)
            return "model" in self.policy.allow and is_served
        if call.type is StepType.TOOL:
            is_runnable = queries.safety(call.callee) is True and call.callee in tools.configured_tools()
            return "tool" in self.policy.allow and is_runnable
        is_allowed = call.type is StepType.RETRIEVAL and "retrieval" in self.policy.allow
        return is_allowed and bool(availability.match_retriever(call).name)

    def problem(self, call: Call, *, unpaid: bool) -> str:
        """Why the missing answer is not requested."""
        step = step_name(call.no, call.type, call.callee)
        if unpaid:
            return gap(Gap.UNPAID, step=step)
        if call.type is StepType.MODEL:
            provider = availability.provider_name(call.provider, call.model, call.override_provider)
            if provider is not None and (reason := self._ignored_change(call.input, provider, call.model)):
                return gap(Gap.CHANGE_IGNORED, step=step, detail=reason)
        if call.type is StepType.TOOL:
            return gap(Gap.TOOL_UNAVAILABLE, step=step)
        return gap(Gap.NO_SOURCE, step=step)

    def repeat_problem(self, graph: Graph, overrides: OverrideProfile, payloads: Payloads) -> str:
        """Why a live repeat would not repeat the side; empty if it would."""
        node = next((node for node in graph.nodes if node.type is StepType.MODEL), None)
        provider = availability.provider_name(node.provider, node.model, None) if node is not None else None
        if node is None or provider is None or not node.input_ref or not self.changed_fields:
            return ""
        request = payloads(node.input_ref)
        edits = apply_profile(overrides, graph).edits_of(node).model
        if isinstance(request, dict):
            request = apply_model_settings(request, edits)
        return self._ignored_change(request, provider, node.model)

    def _ignored_change(self, input: JSONValue, provider: str, model: str) -> str:
        """Why a provider's answer would show nothing about a change; empty if it would show something."""
        if not isinstance(input, dict) or not self.changed_fields:
            return ""
        is_response = uses_responses(self.subject.base.id, provider)
        call = providers.ModelCall(provider=provider, model=model, input=input, is_response=is_response)
        left_out = providers.left_out(call)
        fields = sorted(self.changed_fields & {*left_out})
        return dropped_fields(provider, fields) if fields else ""
