"""What a fork changes in the requests of a running agent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from replay.core.applied_profile import AppliedProfile, apply_profile
from replay.core.errors import ReplayRefusal
from replay.core.graph import Node
from replay.core.plan import PlanRefusal
from replay.core.vocabulary import RerunDecision
from replay.live.providers.openai_protocol import tool_text
from replay.models import Rerun
from replay.overrides.edits import NO_EDITS, Edits, OverrideValue
from replay.overrides.profile import OverrideProfile, ToolOverride
from replay.reruns.edited_requests import edit_request, replace_results
from replay.reruns.request_formats import CannotEdit
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
        self._by_no = graph.by_no
        tools = [node for node in graph.nodes if node.type is StepType.TOOL]
        self._tools: dict[str, Node] = {node.call_id: node for node in tools if node.call_id}
        # Overridden calls whose results the requests do not tell apart.
        self._calls_without_id = {
            node.no for node in tools if not node.call_id and _result(self.overrides.edits_of(node))
        }
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

    def tool_result(self, name: str, no: int | None, nearest: int | None) -> ToolOverride | None:
        """Return the result that an override sets for a call that the agent is about to make.

        The call is recorded step `no`, or a new one in place of step `nearest`. A recorded call with an id is answered
        as recorded: the id tells which results in the requests after it are to be replaced.
        """
        if no is not None:
            node = self._by_no.get(no)
            return None if node is None or node.call_id else _result(self.overrides.edits_of(node))
        place = max(self._by_no, default=0) + 1 if nearest is None else nearest
        if place < self.start:
            return None
        return _result(self.overrides.edits_of_new(type=StepType.TOOL, name=name, at=place))

    def check_results(self, rerun: Rerun, no: int) -> None:
        """Raise `CannotEdit` if the agent is at recorded step `no` without the results that overrides set before it."""
        expected_numbers = {tool_no for tool_no in self._calls_without_id if tool_no < no}
        if not expected_numbers:
            return
        calls = rerun.tool_calls.filter(attempt=rerun.attempt, decision=RerunDecision.OVERRIDDEN)
        if missing_numbers := expected_numbers - {*calls.values_list("sequence_no", flat=True)}:
            raise CannotEdit(
                f"the result of step {min(missing_numbers)} cannot be overridden: the SDK does not know this tool of "
                "the agent, and the requests do not say which call a result belongs to"
            )

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
            if call.get("id")
        }
        results = {}
        for id, name in names.items():
            if result := _result(self._tool_edits(id, name, place)):
                results[id] = tool_text(result.output)
        return results

    def _tool_edits(self, id: str, name: str, place: int) -> Edits:
        if id in self._earlier_calls:
            return NO_EDITS
        if id in self._tools:
            return self.overrides.edits_of(self._tools[id])
        return self.overrides.edits_of_new(type=StepType.TOOL, name=name, at=place)


def _result(edits: Edits) -> ToolOverride | None:
    if edits.tool is None and edits.output is not None:
        return ToolOverride(output=edits.output.value)
    return edits.tool


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
