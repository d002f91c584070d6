"""Agents and searches that answer a tool call for which no tool step was recorded. Pure.

Recorders often write a called agent or search without the call that it answers. The call is identified by ids, by the
task that the agent received, by its name, or by its output, which the result message repeats.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from replay.core.context import ReplayContext
from replay.core.graph import CONTAINERS, Graph, Link, Node
from replay.inputs.rebuilt_inputs import message_place
from replay.inputs.texts import texts_in
from traces.core.json_access import as_object, has_string
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import Documents, Message, ModelAnswer, ModelRequest
from traces.payloads.parts import MissingPart

KINDS: Final = CONTAINERS | {StepType.RETRIEVAL}
_NO_MESSAGE: Final[tuple[int, JSONObject]] = (0, {})
# A text identifies its source only if it has as many words; a single word may occur anywhere.
_MIN_WORDS: Final = 2


@dataclass(frozen=True, kw_only=True)
class ImplicitCall:
    """A call of step `caller` that `node` answers; its result is message `place` of step `reader`'s request."""

    node: Node
    caller: int
    reader: int
    place: int
    call_id: str
    tool: str
    arguments: JSONValue
    message: JSONObject

    @property
    def content(self) -> str:
        content = self.message.get("content")
        return content if isinstance(content, str) else Message(self.message).text

    @property
    def call(self) -> Node:
        """The step as a tool call."""
        return replace(self.node, type=StepType.TOOL, tool_name=self.tool, call_id=self.call_id)

    @property
    def link(self) -> Link:
        path = f"/messages/{self.place}/content"
        return Link(producer=self.node.no, kind=EdgeKind.TOOL_CALL_ID, consumer_path=path)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Candidate:
    """A possible answer to a call: a search, or an agent given by its first model step."""

    step: Node
    # Containers, innermost first.
    containers: tuple[Node, ...]
    inputs: tuple[JSONValue, ...]
    output_text: str

    @property
    def members(self) -> tuple[Node, ...]:
        return self.containers or (self.step,)


class ImplicitCalls:
    """Finds steps of a recording that answer calls without a tool step, lazily."""

    def __init__(self, context: ReplayContext) -> None:
        self._context = context
        self._graph = context.graph
        # Calls by calling model step and answering step.
        self._calls_by_caller: dict[int, dict[int, ImplicitCall]] = {}

    def call_of(self, node: Node) -> ImplicitCall | None:
        """Call that a step answers, if any."""
        callers = self._possible_callers.get(node.no, ()) if node.type in KINDS else ()
        calls = (self._calls_by(caller).get(node.no) for caller in reversed(callers))
        return next((call for call in calls if call is not None), None)

    def calls_of(self, models: Iterable[Node]) -> dict[int, ImplicitCall]:
        """Calls of these model steps without a tool step, by the number of the answering step."""
        return {no: call for model in models for no, call in self._calls_by(model.no).items()}

    @cached_property
    def _readers(self) -> dict[int, int]:
        """First continuing model step by model step."""
        readers: dict[int, int] = {}
        for no, link in sorted(self._graph.continuations.items()):
            if link.producer_path:
                readers.setdefault(link.producer, no)
        return readers

    @cached_property
    def _possible_callers(self) -> dict[int, tuple[int, ...]]:
        """Possible callers by agent or search: earlier model steps whose conversations continue after it."""
        graph = self._graph
        open_models = [no for no in sorted(self._readers) if no < graph.fork]
        callers: dict[int, tuple[int, ...]] = {}
        for node in (*graph.open, *graph.nodes):
            open_models = [no for no in open_models if self._readers[no] > node.no]
            if node.type in KINDS:
                end = graph.ends.get(node.no, node.no)
                callers[node.no] = tuple(no for no in open_models if no < node.no and self._readers[no] > end)
            elif node.no in self._readers:
                open_models.append(node.no)
        return callers

    @cached_property
    def _steps_by_caller(self) -> dict[int, list[Node]]:
        """Agents and searches between a model step and its continuation, by model step."""
        steps: dict[int, list[Node]] = {}
        for no, callers in self._possible_callers.items():
            for caller in callers:
                steps.setdefault(caller, []).append(self._graph.by_no[no])
        return steps

    def _calls_by(self, caller: int) -> dict[int, ImplicitCall]:
        if caller not in self._calls_by_caller:
            self._calls_by_caller[caller] = self._match_calls(caller) if caller in self._steps_by_caller else {}
        return self._calls_by_caller[caller]

    def _match_calls(self, no: int) -> dict[int, ImplicitCall]:
        """Match the calls of a model step with the steps before its continuation."""
        graph, caller = self._graph, self._graph.by_no.get(no)
        steps = self._steps_between(no, self._readers[no])
        if caller is None or not (open_calls := self._open_calls(caller, steps)):
            return {}
        called_tools = [step.no for step in steps if step.type is StepType.TOOL and self._is_called(step, caller)]
        calls = _match_candidates(graph, list(self._candidates(caller, steps)), open_calls, called_tools)
        placed_calls = (call if call.message else self._with_message(call) for call in calls)
        return {call.node.no: call for call in placed_calls if call is not None}

    def _with_message(self, call: ImplicitCall) -> ImplicitCall | None:
        """Find the message with the result of a call whose id no message names."""
        graph = self._graph
        members = {call.node.no, *(step.no for step in graph.descendants(call.node.no))}
        messages = ModelRequest(self._payload(graph.by_no[call.reader].input_ref)).messages
        for link in graph.links.get(call.reader, ()):
            index = message_place(link.consumer_path)[0]
            message = (
                messages[index] if link.producer in members and index is not None and index < len(messages) else None
            )
            if isinstance(message, dict) and index is not None:
                return replace(call, place=index, message=message)
        return None

    def _steps_between(self, caller: int, reader: int) -> list[Node]:
        """Steps between two steps; before the fork only open ones."""
        graph = self._graph
        earlier = {node.no: node for node in (*graph.earlier, *graph.open) if node.no > caller}
        first = max(caller + 1, graph.fork)
        later = graph.nodes[first - graph.fork : reader - graph.fork]
        return [*(earlier[no] for no in sorted(earlier) if no < reader), *later]

    def _is_called(self, step: Node, caller: Node) -> bool:
        return any(link.producer == caller.no for link in self._graph.links.get(step.no, ()))

    def _open_calls(self, caller: Node, steps: Iterable[Node]) -> list[ImplicitCall]:
        """Calls of a model step without a tool step, with their results if ids match."""
        answered_ids = {step.call_id for step in steps if step.type is StepType.TOOL}
        calls = ModelAnswer(self._payload(caller.output_ref)).calls
        calls = [call for call in calls if str(call.get("id") or "") not in {"", *answered_ids}]
        reader = self._graph.by_no[self._readers[caller.no]]
        results = _results(self._payload(reader.input_ref)) if calls else {}
        return [
            ImplicitCall(
                node=caller,
                caller=caller.no,
                reader=reader.no,
                place=results.get(call_id, _NO_MESSAGE)[0],
                call_id=call_id,
                tool=str(call.get("name", "")),
                arguments=call.get("arguments"),
                message=results.get(call_id, _NO_MESSAGE)[1],
            )
            for call in calls
            if (call_id := str(call["id"]))
        ]

    def _candidates(self, caller: Node, steps: Iterable[Node]) -> Iterator[_Candidate]:
        """Candidates for a model step's calls: searches, then agents, outer before inner."""
        graph = self._graph
        scope = {step.no for step in graph.ancestors(caller)}
        agents: list[_Candidate] = []
        for step in steps:
            if (containers := _containers_in_scope(graph, step, scope)) is None:
                continue
            if step.type is StepType.RETRIEVAL and not any(map(self._contains_models, containers)):
                first_document = "\n".join(Documents(self._payload(step.output_ref)).texts[:1])
                yield _Candidate(
                    step=step, containers=(), inputs=(self._payload(step.input_ref),), output_text=first_document
                )
            elif step.type is StepType.MODEL and containers and graph.threads.get(step.no) == step.no:
                agents.append(self._agent(step, containers))
        yield from sorted(agents, key=lambda agent: len(agent.containers))

    def _contains_models(self, step: Node) -> bool:
        return any(descendant.type is StepType.MODEL for descendant in self._graph.descendants(step.no))

    def _agent(self, first: Node, containers: Sequence[Node]) -> _Candidate:
        request = self._payload(first.input_ref)
        user_messages = [message for message in ModelRequest(request).messages if Message(message).role == "user"]
        last = self._graph.conversations.get(first.no, [first])[-1]
        inputs = [self._payload(step.input_ref) for step in containers]
        output_text = ModelAnswer(self._payload(last.output_ref)).text
        return _Candidate(
            step=first, containers=tuple(containers), inputs=(*inputs, *user_messages), output_text=output_text
        )

    def _payload(self, ref: str) -> JSONValue:
        """Recorded value; None if it is missing."""
        try:
            return self._context.payload(ref)
        except MissingPart:
            return None


def _match_candidates(
    graph: Graph, candidates: Sequence[_Candidate], open_calls: Sequence[ImplicitCall], called_tools: Collection[int]
) -> list[ImplicitCall]:
    """Match calls with candidates, strongest evidence first."""
    matches: dict[str, _Candidate] = {}
    for criterion in _CRITERIA:
        for call in open_calls:
            if call.call_id in matches:
                continue
            unmatched_candidates = (candidate for candidate in candidates if candidate not in matches.values())
            match = next((candidate for candidate in unmatched_candidates if criterion(candidate, call)), None)
            if match is not None:
                matches[call.call_id] = match
    other_numbers = {*called_tools, *(match.step.no for match in matches.values())}
    containers = {
        call_id: _outermost_container(graph, match, other_numbers - {match.step.no})
        for call_id, match in matches.items()
    }
    return [replace(call, node=containers[call.call_id]) for call in open_calls if call.call_id in containers]


def _outermost_container(graph: Graph, match: _Candidate, other_numbers: Collection[int]) -> Node:
    """Outermost container of this agent alone, preferably one with payloads."""
    own_steps = [
        step
        for step in match.members
        if not any(descendant.no in other_numbers for descendant in graph.descendants(step.no))
    ]
    informative = [step for step in own_steps if step.input_ref or step.output_ref or step.call_id]
    return (informative or own_steps or match.members[:1])[-1]


def _containers_in_scope(graph: Graph, step: Node, scope: Collection[int]) -> list[Node] | None:
    """Containers of a step inside `scope`, innermost first; None if one is a tool step."""
    containers: list[Node] = []
    for ancestor in graph.ancestors(step):
        if ancestor.no in scope:
            break
        if ancestor.type is StepType.TOOL:
            return None
        containers.append(ancestor)
    return containers


def _has_id(candidate: _Candidate, call: ImplicitCall) -> bool:
    return any(step.call_id == call.call_id for step in candidate.members)


def _has_task(candidate: _Candidate, call: ImplicitCall) -> bool:
    """True if the candidate's input contains a text of the arguments."""
    input_text = "\n".join(text for value in candidate.inputs for text in texts_in(value))
    return any(text in input_text for text in texts_in(call.arguments) if _is_distinctive(text))


def _has_name(candidate: _Candidate, call: ImplicitCall) -> bool:
    return any(_normalise(step.name) == _normalise(call.tool) for step in candidate.members)


def _has_output(candidate: _Candidate, call: ImplicitCall) -> bool:
    """True if the result repeats the candidate's last answer or first document."""
    return _is_distinctive(candidate.output_text) and candidate.output_text in call.content


_CRITERIA: Final[tuple[Callable[[_Candidate, ImplicitCall], bool], ...]] = (_has_id, _has_task, _has_name, _has_output)


def _is_distinctive(text: str) -> bool:
    return len(text.split()) >= _MIN_WORDS


def _results(input: JSONValue) -> dict[str, tuple[int, JSONObject]]:
    """Result messages and their indices by call id."""
    return {
        str(message["tool_call_id"]): (place, message)
        for place, message in enumerate(map(as_object, ModelRequest(input).messages))
        if has_string(message, "tool_call_id")
    }


def _normalise(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())
