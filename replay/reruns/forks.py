"""What a fork changes in the requests of a running agent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from replay.core.applied_profile import AppliedProfile, apply_profile
from replay.core.errors import ReplayRefusal
from replay.core.graph import Node
from replay.core.plan import PlanRefusal
from replay.live.providers.openai_protocol import tool_text
from replay.models import Rerun
from replay.overrides.edits import NO_EDITS, Edits, OverrideValue
from replay.overrides.profile import OverrideProfile
from replay.reruns.edited_requests import edit_request, replace_results
from replay.runners import agent_plans
from replay.store.graph_loader import load_graph
from traces.core.json_access import as_object, as_objects, as_text
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType
from traces.importers.formats.tracing.client_calls import model_request
from traces.models import Step


@dataclass(frozen=True, kw_only=True, slots=True)
class EditedRequest:
    """A request after the edits; `output` is the answer that an override sets.

    `results` are the ids of the calls whose results were replaced.
    """

    body: JSONObject
    output: OverrideValue | None = None
    results: tuple[str, ...] = ()


class Fork:
    """The overrides of a fork, matched with the steps of its recording."""

    def __init__(self, run_id: UUID, start: int, profile: OverrideProfile) -> None:
        graph = load_graph(run_id, start)
        self.start = start
        self.overrides: AppliedProfile = apply_profile(profile, graph)
        self._types = {node.no: node.type for node in graph.nodes}
        self._tools: dict[str, Node] = {node.call_id: node for node in graph.nodes if node.type is StepType.TOOL}
        earlier = Step.objects.filter(run_id=run_id, type=StepType.TOOL, sequence_no__lt=start)
        self._earlier_calls = {*earlier.values_list("call_id", flat=True)} - self._tools.keys()

    def refusals(self) -> Iterator[PlanRefusal]:
        """Yield why the overrides cannot be applied while the agent itself runs."""
        return agent_plans.refusals(self.overrides, self._types)

    def edit(
        self, api: str, body: JSONObject, input: JSONObject, *, no: int | None, place: int, model: str
    ) -> EditedRequest:
        """Apply the overrides to a request: that of recorded step `no`, or a new one in `place` of that step.

        Raise `CannotEdit` if the requests of its API cannot be changed so.
        """
        edits = self._model_edits(no, place, model)
        results = self._results(input, place)
        if results:
            body = replace_results(api, body, results)
            input = as_object(model_request({"request": body, "api": api}))
        return EditedRequest(body=edit_request(api, body, input, edits), output=edits.output, results=tuple(results))

    def _model_edits(self, no: int | None, place: int, model: str) -> Edits:
        if no is not None:
            return self.overrides.by_step.get(no, NO_EDITS)
        return self.overrides.edits_of_new(type=StepType.MODEL, name=model, at=place, model=model)

    def _results(self, input: JSONObject, place: int) -> Mapping[str, str]:
        """Return the new results of tools in a conversation, by the ids of their calls."""
        messages = as_objects(input.get("messages"))
        names = {
            as_text(call.get("id")): as_text(call.get("name"))
            for message in messages
            for call in as_objects(as_object(message).get("tool_calls"))
        }
        results = {}
        for id, name in names.items():
            edits = self._tool_edits(id, name, place)
            value = edits.tool.output if edits.tool else edits.output.value if edits.output else None
            if edits.tool or edits.output:
                results[id] = tool_text(value)
        return results

    def _tool_edits(self, id: str, name: str, place: int) -> Edits:
        if id in self._earlier_calls:
            return NO_EDITS
        if id in self._tools:
            return self.overrides.edits_of(self._tools[id])
        return self.overrides.edits_of_new(type=StepType.TOOL, name=name, at=place)


@lru_cache(maxsize=4)
def load(rerun_id: UUID) -> Fork:
    """Return the fork that a rerun is; its overrides never change."""
    rerun = Rerun.objects.select_related("profile").get(id=rerun_id)
    if rerun.profile is None:
        raise LookupError(f"rerun {rerun_id} is no fork")
    profile = OverrideProfile.model_validate(rerun.profile.profile)
    return Fork(rerun.source_run_id, rerun.fork_sequence_no, profile)


def check(run_id: UUID, start: int, profile: OverrideProfile) -> None:
    """Raise `ReplayRefusal` if the overrides cannot be applied."""
    for refusal in Fork(run_id, start, profile).refusals():
        raise ReplayRefusal(refusal)
