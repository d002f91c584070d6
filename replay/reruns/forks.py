"""What a fork changes in the requests of a running agent."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final
from uuid import UUID

import orjson

from replay.core.applied_profile import AppliedProfile, apply_profile
from replay.core.errors import ReplayRefusal
from replay.core.graph import Node
from replay.core.plan import PlanRefusal
from replay.core.vocabulary import RerunDecision
from replay.live.providers.openai_protocol import tool_text
from replay.live.providers.protocols import foreign_protocol, provider_problem
from replay.live.providers.translation import CannotTranslate, translate_request
from replay.live.providers.types import ModelCall, Protocol
from replay.models import Rerun
from replay.overrides.edits import NO_EDITS, Edits, OverrideValue, merge_settings
from replay.overrides.profile import OverrideProfile, ToolOverride
from replay.reruns.core.matcher import Divergence, Match
from replay.reruns.requests import changed_contents
from replay.reruns.requests.agent_requests import AgentRequest
from replay.reruns.requests.changed_contents import NO_CONTENTS, ChangedContents
from replay.reruns.requests.edited_histories import Conversation, EditedHistory, has_same_form, inherit
from replay.reruns.requests.edited_requests import edit_request, replace_results
from replay.reruns.requests.request_formats import CannotEdit
from replay.runners import agent_plans
from replay.store.graph_loader import load_graph
from traces.core.canonical import digest
from traces.core.json_access import as_list, as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.importers.formats.tracing.client_calls import model_request
from traces.models import Step
from traces.redaction_policies.key import redaction_key
from traces.storage import artifacts

# The detail of a call whose messages were edited.
HISTORY: Final = "history"
_CALLS: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})


@dataclass(frozen=True, kw_only=True, slots=True)
class EditedRequest:
    """A request after the edits; `output` is the answer that an override sets.

    `body` is None if they change nothing in it. `provider` is another one that is asked; empty if it stays the agent's.
    `results` are the ids of the calls whose results were replaced.
    `history` describes a request whose messages changed: later ones that continue it are changed in the same way.
    """

    body: JSONObject | None = None
    provider: str = ""
    output: OverrideValue | None = None
    results: tuple[str, ...] = ()
    history: EditedHistory | None = None


class Fork:
    """The overrides of a fork, matched with the steps of its recording."""

    def __init__(self, run_id: UUID, start: int, profile: OverrideProfile) -> None:
        graph = load_graph(run_id, start)
        self.start = start
        self.has_edits = bool(profile.overrides)
        self.overrides: AppliedProfile = apply_profile(profile, graph)
        self._by_no = graph.by_no
        tools = [node for node in graph.nodes if node.type is StepType.TOOL]
        self._overridden_tools = [node for node in tools if set_result(self.overrides.edits_of(node))]
        self._tools: dict[str, Node] = {node.call_id: node for node in tools if node.call_id}
        # Overridden calls that only the agent's SDK can change: no result in a request is known to be theirs.
        self._asked_calls = {
            node.no for node in graph.nodes if node.type in _CALLS and _is_for_sdk(node, self.overrides.edits_of(node))
        }
        # Entries that change the messages of some requests. Later ones of the conversation continue with them.
        self._bounded_edits = {
            index
            for index, entry in enumerate(profile.overrides)
            if (entry.match.step is not None or entry.match.before is not None)
            and (entry.messages or entry.prompt is not None)
        }
        self._contents = changed_contents.load(run_id, self.overrides.by_step.keys())
        earlier = Step.objects.filter(run_id=run_id, type=StepType.TOOL, sequence_no__lt=start)
        self._earlier_calls = {*earlier.values_list("call_id", flat=True)} - self._tools.keys()

    def refusals(self) -> Iterator[PlanRefusal]:
        """Yield why the overrides cannot be applied while the agent itself runs."""
        return agent_plans.refusals(self.overrides, self._by_no)

    def edit(self, rerun: Rerun, request: AgentRequest, result: Match | Divergence, place: int) -> EditedRequest:
        """Apply the overrides to a request: that of a recorded step, or a new one in `place` of a step.

        Raise `CannotEdit` if the requests of its API cannot be changed so.
        """
        api, body, input = request.api, request.body, request.input
        if isinstance(result, Match):
            self.check_calls(rerun, result.call.no)
        messages = as_list(input.get("messages"))
        is_step = isinstance(result, Match) or self._replaces_step(messages, result)
        edits = self._model_edits(place if is_step else None, place, request.model)
        history = None
        if self._bounded_edits:
            conversation = Conversation(messages, redaction_key())
            history = conversation.history(place) if is_step and self._bounded_edits & {*edits.entries} else None
            edits = inherit(edits, self._histories(rerun, conversation), self.overrides.by_step)
        results = self._results(input, place, self._results_of_agent(rerun))
        if results:
            body = replace_results(api, body, results)
            input = as_object(model_request({"request": body, "api": api}))
        body = edit_request(api, body, input, edits)
        return EditedRequest(
            body=None if body == request.body else body,
            provider=_other_provider(request, body, edits),
            output=edits.output,
            results=tuple(results),
            history=history,
        )

    @property
    def end(self) -> int:
        """The number after the last recorded step."""
        return max(self._by_no, default=0) + 1

    def edits_of_call(self, no: int) -> Edits:
        """Return the edits of a recorded call."""
        node = self._by_no.get(no)
        return NO_EDITS if node is None else self.overrides.edits_of(node)

    def contents_of_call(self, no: int) -> ChangedContents:
        """Return the overridden steps inside of a recorded call."""
        return self._contents.get(no, NO_CONTENTS)

    def edits_of_new_call(self, type: StepType, name: str, place: int) -> Edits:
        """Return the edits of a call that is not recorded, in place of a recorded step."""
        return NO_EDITS if place < self.start else self.overrides.edits_of_new(type=type, name=name, at=place)

    def check_calls(self, rerun: Rerun, no: int) -> None:
        """Raise `CannotEdit` if the agent has come to recorded step `no` without asking about an overridden call."""
        expected_numbers = {call_no for call_no in self._asked_calls if call_no < no}
        if not expected_numbers:
            return
        calls = rerun.tool_calls.filter(attempt=rerun.attempt).exclude(decision=RerunDecision.ASK)
        if missing_numbers := expected_numbers - {*calls.values_list("sequence_no", flat=True)}:
            raise CannotEdit(
                f"step {min(missing_numbers)} cannot be overridden: the agent made no such call that its SDK knows, or "
                "made it inside of a tool that was answered from the recording"
            )

    def _replaces_step(self, messages: Sequence[JSONValue], result: Divergence) -> bool:
        """Return whether a new request is that of the nearest step with other contents, so that its edits fit."""
        if result.nearest is None or not self.overrides.by_step.get(result.nearest.no, NO_EDITS).messages:
            return False
        return has_same_form(messages, as_list(result.nearest.request.get("messages")))

    def _histories(self, rerun: Rerun, conversation: Conversation) -> list[EditedHistory]:
        """Return the edited requests that a conversation continues."""
        calls = rerun.calls.filter(attempt=rerun.attempt, detail__has_key=HISTORY)
        histories = map(EditedHistory.from_json, calls.values_list(f"detail__{HISTORY}", flat=True))
        return [history for history in histories if conversation.continues(history)]

    def _model_edits(self, no: int | None, place: int, model: str) -> Edits:
        if no is not None:
            return self.overrides.by_step.get(no, NO_EDITS)
        edits = self.overrides.edits_of_new(type=StepType.MODEL, name=model, at=place, model=model)
        return _with_settings(edits, self.overrides.by_step.get(place, NO_EDITS))

    def _results_of_agent(self, rerun: Rerun) -> set[int]:
        """Return the recorded calls whose overridden results the agent has itself, from its SDK."""
        if not self._overridden_tools:
            return set()
        calls = rerun.tool_calls.filter(attempt=rerun.attempt, decision=RerunDecision.OVERRIDDEN)
        return {no for no in calls.values_list("sequence_no", flat=True) if no is not None}

    def _results(self, input: JSONObject, place: int, known_numbers: set[int]) -> Mapping[str, str]:
        """Return the new results of tools in a conversation, by the ids of their calls."""
        calls = [
            call
            for message in as_objects(input.get("messages"))
            for call in as_objects(as_object(message).get("tool_calls"))
            if call.get("id")
        ]
        nodes = self._recorded_calls(calls)
        results = {}
        for call in calls:
            id = as_text(call.get("id"))
            node = nodes.get(id)
            if id in self._earlier_calls or (node is not None and node.no in known_numbers):
                continue
            name = as_text(call.get("name"))
            edits = self._new_tool_edits(name, place) if node is None else self.overrides.edits_of(node)
            if result := set_result(edits):
                results[id] = tool_text(result.output)
        return results

    def _recorded_calls(self, calls: Sequence[JSONObject]) -> Mapping[str, Node]:
        """Return the recorded calls that those of a conversation are: by id, or with equal arguments in their order.

        After a changed answer of the model, the calls that it requests again have other ids.
        """
        nodes = {id: self._tools[id] for call in calls if (id := as_text(call.get("id"))) in self._tools}
        left = [node for node in self._overridden_tools if node.call_id not in nodes]
        for call in calls:
            id, key = as_text(call.get("id")), _call_key(as_text(call.get("name")), call.get("arguments"))
            if id in nodes or id in self._earlier_calls:
                continue
            node = next((node for node in left if self._keys[node.no] == key), None)
            if node is not None:
                left.remove(node)
                nodes[id] = node
        return nodes

    @cached_property
    def _keys(self) -> Mapping[int, str]:
        """The keys of the recorded calls with overridden results, by number."""
        inputs = artifacts.available(node.input_ref for node in self._overridden_tools)
        return {node.no: _call_key(node.callee, inputs.get(node.input_ref)) for node in self._overridden_tools}

    def _new_tool_edits(self, name: str, place: int) -> Edits:
        return self.overrides.edits_of_new(type=StepType.TOOL, name=name, at=place)


def _other_provider(request: AgentRequest, body: JSONObject, edits: Edits) -> str:
    """Return the provider that the edits of a request name, if it is another one; raise `CannotEdit`.

    `body` is that of the request with the edits.
    """
    name = as_text(edits.model.get("provider"))
    if name in {"", request.provider}:
        return ""
    if problem := provider_problem(name):
        raise CannotEdit(problem)
    protocol = foreign_protocol(name, request.api.partition(".")[0])
    if protocol is not None and edits.output is None:
        _check_translation(request.with_edits(body), name, protocol)
    return name


def _check_translation(request: AgentRequest, provider: str, protocol: Protocol) -> None:
    """Raise `CannotEdit` if a provider's protocol cannot express a request."""
    call = ModelCall(provider=provider, model=request.model, input=request.input)
    try:
        translate_request(request.body, call, protocol)
    except CannotTranslate as problem:
        raise CannotEdit(f"provider “{provider}” cannot be asked: {problem}") from problem


def _call_key(name: str, arguments: JSONValue) -> str:
    if isinstance(arguments, str):
        with suppress(orjson.JSONDecodeError):
            arguments = orjson.loads(arguments)
    return digest([name, arguments])


def _with_settings(edits: Edits, nearest: Edits) -> Edits:
    """Return the edits of a new call, with those of the recorded step in whose place it is that fit any such call."""
    own = {edit.model_dump_json() for edit in edits.messages}
    passages = [edit for edit in nearest.messages if edit.passages is not None and edit.model_dump_json() not in own]
    return replace(
        edits,
        prompt={**nearest.prompt, **edits.prompt},
        model=merge_settings(nearest.model, edits.model),
        messages=(*edits.messages, *passages),
    )


def _is_for_sdk(node: Node, edits: Edits) -> bool:
    if node.type is StepType.RETRIEVAL:
        return edits is not NO_EDITS
    is_set = set_result(edits) is not None
    return (is_set and not node.call_id) or (edits.arguments is not None and not is_set)


def set_result(edits: Edits) -> ToolOverride | None:
    """Return the result that the edits of a tool set."""
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
