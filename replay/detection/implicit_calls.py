"""Agents and searches that answer a tool call for which no tool step was recorded. Pure.

Recorders write an agent that was called, or a search, often without the call that it answers. Which call that is shows
in ids, in the task that it was given, in its name, or in what it said: the message that hands it over repeats it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from replay.core.context import ReplayContext
from replay.core.graph import CONTAINERS, Graph, Link, Node
from replay.inputs.rebuilt_inputs import message_place
from replay.inputs.texts import texts_in
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import Documents, Message, ModelAnswer, ModelRequest
from traces.payloads.parts import MissingPart

KINDS: Final = CONTAINERS | {StepType.RETRIEVAL}
_NOWHERE: Final[tuple[int, JSONObject]] = (0, {})
_WORDS: Final = 2  # of a text by which something is known again: one alone may stand anywhere


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
    # Innermost first
    around: tuple[Node, ...]
    given: tuple[JSONValue, ...]
    said: str

    @property
    def held(self) -> tuple[Node, ...]:
        return self.around or (self.step,)


class ImplicitCalls:
    """Finds steps of a recording that answer calls without a tool step, lazily."""

    def __init__(self, context: ReplayContext) -> None:
        self._context = context
        self._graph = context.graph
        # By model step: by the step that answers a call of it
        self._known: dict[int, dict[int, ImplicitCall]] = {}

    def call_of(self, node: Node) -> ImplicitCall | None:
        """Call that a step answers, if any."""
        callers = self._open.get(node.no, ()) if node.type in KINDS else ()
        found = (self._answered(caller).get(node.no) for caller in reversed(callers))
        return next((call for call in found if call is not None), None)

    def calls_of(self, models: Iterable[Node]) -> dict[int, ImplicitCall]:
        """Steps that answer calls of these model steps, by number."""
        return {no: found for model in models for no, found in self._answered(model.no).items()}

    @cached_property
    def _readers(self) -> dict[int, int]:
        """First continuing model step by model step."""
        found: dict[int, int] = {}
        for no, link in sorted(self._graph.continuations.items()):
            if link.producer_path:
                found.setdefault(link.producer, no)
        return found

    @cached_property
    def _open(self) -> dict[int, tuple[int, ...]]:
        """Possible callers by agent or search: earlier model steps whose conversations continue after it."""
        graph = self._graph
        waiting = [no for no in sorted(self._readers) if no < graph.fork]
        found: dict[int, tuple[int, ...]] = {}
        for node in (*graph.open, *graph.nodes):
            waiting = [no for no in waiting if self._readers[no] > node.no]
            if node.type in KINDS:
                end = graph.ends.get(node.no, node.no)
                found[node.no] = tuple(no for no in waiting if no < node.no and self._readers[no] > end)
            elif node.no in self._readers:
                waiting.append(node.no)
        return found

    @cached_property
    def _around(self) -> dict[int, list[Node]]:
        """Agents and searches between a model step and its continuation, by model step."""
        found: dict[int, list[Node]] = {}
        for no, callers in self._open.items():
            for caller in callers:
                found.setdefault(caller, []).append(self._graph.by_no[no])
        return found

    def _answered(self, caller: int) -> dict[int, ImplicitCall]:
        if caller not in self._known:
            self._known[caller] = self._found(caller) if caller in self._around else {}
        return self._known[caller]

    def _found(self, no: int) -> dict[int, ImplicitCall]:
        """Match the calls of a model step with the steps before its continuation."""
        graph, caller = self._graph, self._graph.by_no.get(no)
        steps = self._between(no, self._readers[no])
        if caller is None or not (waiting := self._waiting(caller, steps)):
            return {}
        called = [step.no for step in steps if step.type is StepType.TOOL and self._is_called(step, caller)]
        found = _matched(graph, list(self._candidates(caller, steps)), waiting, called)
        placed = (call if call.message else self._placed(call) for call in found)
        return {call.node.no: call for call in placed if call is not None}

    def _placed(self, call: ImplicitCall) -> ImplicitCall | None:
        """Find the message with the result of a call whose id no message names."""
        graph = self._graph
        own = {call.node.no, *(step.no for step in graph.descendants(call.node.no))}
        messages = ModelRequest(self._payload(graph.by_no[call.reader].input_ref)).messages
        for link in graph.links.get(call.reader, ()):
            place = message_place(link.consumer_path)[0]
            message = messages[place] if link.producer in own and place is not None and place < len(messages) else None
            if isinstance(message, dict) and place is not None:
                return replace(call, place=place, message=message)
        return None

    def _between(self, caller: int, reader: int) -> list[Node]:
        """Steps between two steps; before the fork only open ones."""
        graph = self._graph
        earlier = {node.no: node for node in (*graph.earlier, *graph.open) if node.no > caller}
        first = max(caller + 1, graph.fork)
        later = graph.nodes[first - graph.fork : reader - graph.fork]
        return [*(earlier[no] for no in sorted(earlier) if no < reader), *later]

    def _is_called(self, step: Node, caller: Node) -> bool:
        return any(link.producer == caller.no for link in self._graph.links.get(step.no, ()))

    def _waiting(self, caller: Node, steps: Iterable[Node]) -> list[ImplicitCall]:
        """Calls of a model step without a tool step, with their results if ids match."""
        answered = {step.call_id for step in steps if step.type is StepType.TOOL}
        calls = ModelAnswer(self._payload(caller.output_ref)).calls
        calls = [call for call in calls if str(call.get("id") or "") not in {"", *answered}]
        reader = self._graph.by_no[self._readers[caller.no]]
        results = _results(self._payload(reader.input_ref)) if calls else {}
        return [
            ImplicitCall(
                node=caller,
                caller=caller.no,
                reader=reader.no,
                place=results.get(known, _NOWHERE)[0],
                call_id=known,
                tool=str(call.get("name", "")),
                arguments=call.get("arguments"),
                message=results.get(known, _NOWHERE)[1],
            )
            for call in calls
            if (known := str(call["id"]))
        ]

    def _candidates(self, caller: Node, steps: Iterable[Node]) -> Iterator[_Candidate]:
        """Candidates for a model step's calls: searches, then agents, outer before inner."""
        graph = self._graph
        scope = {step.no for step in graph.ancestors(caller)}
        agents: list[_Candidate] = []
        for step in steps:
            if (around := _inside(graph, step, scope)) is None:
                continue
            if step.type is StepType.RETRIEVAL and not any(map(self._holds_models, around)):
                found = "\n".join(Documents(self._payload(step.output_ref)).texts[:1])
                yield _Candidate(step=step, around=(), given=(self._payload(step.input_ref),), said=found)
            elif step.type is StepType.MODEL and around and graph.threads.get(step.no) == step.no:
                agents.append(self._agent(step, around))
        yield from sorted(agents, key=lambda agent: len(agent.around))

    def _holds_models(self, step: Node) -> bool:
        return any(within.type is StepType.MODEL for within in self._graph.descendants(step.no))

    def _agent(self, first: Node, around: Sequence[Node]) -> _Candidate:
        asked = self._payload(first.input_ref)
        told = [message for message in ModelRequest(asked).messages if Message(message).role == "user"]
        last = self._graph.conversations.get(first.no, [first])[-1]
        given = [self._payload(step.input_ref) for step in around]
        said = ModelAnswer(self._payload(last.output_ref)).text
        return _Candidate(step=first, around=tuple(around), given=(*given, *told), said=said)

    def _payload(self, ref: str) -> JSONValue:
        """A recorded value; what is missing shows nothing."""
        try:
            return self._context.payload(ref)
        except MissingPart:
            return None


def _matched(
    graph: Graph, candidates: Sequence[_Candidate], waiting: Sequence[ImplicitCall], called: Collection[int]
) -> list[ImplicitCall]:
    """Match calls with candidates, strongest evidence first."""
    found: dict[str, _Candidate] = {}
    for sign in _SIGNS:
        for call in waiting:
            free = (one for one in candidates if one not in found.values() and call.call_id not in found)
            if (match := next((one for one in free if sign(one, call)), None)) is not None:
                found[call.call_id] = match
    others = {*called, *(match.step.no for match in found.values())}
    whole = {call_id: _whole(graph, match, others - {match.step.no}) for call_id, match in found.items()}
    return [replace(call, node=whole[call.call_id]) for call in waiting if call.call_id in whole]


def _whole(graph: Graph, match: _Candidate, others: Collection[int]) -> Node:
    """Outermost container of this agent alone, preferably one with payloads."""
    own = [step for step in match.held if not any(within.no in others for within in graph.descendants(step.no))]
    telling = [step for step in own if step.input_ref or step.output_ref or step.call_id]
    return (telling or own or match.held[:1])[-1]


def _inside(graph: Graph, step: Node, scope: Collection[int]) -> list[Node] | None:
    """Containers of a step inside `scope`, innermost first; None if one is a tool step."""
    found: list[Node] = []
    for above in graph.ancestors(step):
        if above.no in scope:
            break
        if above.type is StepType.TOOL:
            return None
        found.append(above)
    return found


def _has_id(one: _Candidate, call: ImplicitCall) -> bool:
    return any(step.call_id == call.call_id for step in one.held)


def _has_task(one: _Candidate, call: ImplicitCall) -> bool:
    """True if the candidate's input contains a text of the arguments."""
    given = "\n".join(text for value in one.given for text in texts_in(value))
    return any(text in given for text in texts_in(call.arguments) if _tells(text))


def _has_name(one: _Candidate, call: ImplicitCall) -> bool:
    return any(_plain(step.name) == _plain(call.tool) for step in one.held)


def _has_said(one: _Candidate, call: ImplicitCall) -> bool:
    """True if the result repeats the candidate's last answer or first document."""
    return _tells(one.said) and one.said in call.content


_SIGNS: Final[tuple[Callable[[_Candidate, ImplicitCall], bool], ...]] = (_has_id, _has_task, _has_name, _has_said)


def _tells(text: str) -> bool:
    return len(text.split()) >= _WORDS


def _results(input: JSONValue) -> dict[str, tuple[int, JSONObject]]:
    """Result messages and their indices by call id."""
    return {
        str(message["tool_call_id"]): (place, message)
        for place, message in enumerate(ModelRequest(input).messages)
        if isinstance(message, dict) and isinstance(message.get("tool_call_id"), str)
    }


def _plain(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())
