"""Make the tool calls of one model answer in a diverged loop. Pure."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from replay.core.calls import Answer, Call
from replay.core.events import Advance, Divergence, DriverEvent, StepResolved
from replay.core.graph import Node
from replay.detection.agent_loops import LoopKey
from replay.detection.implicit_calls import ImplicitCall
from replay.loops import turns
from replay.loops.hook_points import Verdict
from replay.loops.loop_position import LoopPosition
from replay.loops.new_containers import NewContainers
from replay.loops.replay_parts import ReplayParts
from replay.loops.subagents import RERUN, as_rerun
from replay.loops.tool_calls import TurnCalls
from replay.overrides.edits import Edits
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.signatures.call_signatures import signature

# Value of an answer's `divergence` detail for a step that is not in the recording.
NEW: Final = "new"


@dataclass(frozen=True, kw_only=True)
class CallResult:
    """A call that was made; `source` is the recorded step that answered it, if any."""

    call: Call
    answer: Answer
    source: Node | None


class TurnFollower:
    """Makes the calls of one answer in order, and runs the recorded steps inside them."""

    def __init__(
        self, parts: ReplayParts, key: LoopKey, position: LoopPosition, calls: TurnCalls, containers: NewContainers
    ) -> None:
        self._parts = parts
        self._graph = parts.context.graph
        self._state = parts.state
        self._points = parts.points
        self._key = key
        self._position = position
        self._calls = calls
        self._containers = containers

    def run(self, requests: Sequence[JSONObject]) -> Generator[DriverEvent, None, list[JSONValue]]:
        """Make the calls and return their tool messages."""
        results: list[CallResult] = []
        requests_and_matches = self._calls.in_order(requests)
        model = self._position.model
        path = self._containers.call_path(model, [node for _, node in requests_and_matches if node is not None])
        parent: int | None = None
        for request, node in requests_and_matches:
            if self._key in self._points.stops:
                break
            if node is not None:
                yield from self._position.advance_to(node)
                parent = self._position.parent_number(node)
            elif parent is None and self._calls.implicit_call(request, model) is None:
                parent = yield from self._containers.open(path, model)
            results.append((yield from self._make_call(request, parent)))
        yield from self._close_calls([result.source for result in results if result.source is not None])
        self._report_implicit_results(results)
        messages = [
            (result.source, self._calls.result_message(result.call, result.answer, result.source)) for result in results
        ]
        return self._calls.in_recorded_order(messages)

    def _make_call(self, request: JSONObject, parent: int | None) -> Generator[DriverEvent, None, CallResult]:
        verdict = None if self._is_overridden(request) else self._ask_hooks(request)
        if verdict is not None:
            request = {**request, "arguments": verdict.arguments}
            if verdict.denial is None:
                implicit = self._calls.implicit_call(request, self._position.model)
                if implicit is not None:
                    return (yield from self._run_implicit(request, implicit, verdict))
        call = self._tool_call(request, parent)
        answer = self._resolve(call, verdict)
        if answer.detail.get(RERUN) and (
            place := answer.source or self._calls.replaced_call(call, self._position.model)
        ):
            yield Divergence(text=self._calls.describe_new(call, self._position.model))
            call = as_rerun(call, place)
        source = answer.source or (call.node if answer.label is not None else None)
        if source is None:
            answer = replace(answer, detail={**answer.detail, "divergence": NEW})
            yield from self._report_new(call)
        yield StepResolved(call=call, answer=replace(answer, source=source))
        self._calls.record_outcome(call, answer)
        yield from self._settle(call, answer, source)
        return CallResult(call=call, answer=answer, source=source)

    def _ask_hooks(self, request: JSONObject) -> Verdict:
        name, call_id = str(request.get("name", "")), str(request.get("id") or "")
        return self._points.before_tool(self._state.next_number, name, request.get("arguments"), call_id)

    def _resolve(self, call: Call, verdict: Verdict | None) -> Answer:
        if verdict is None:
            return self._calls.answer(call, self._position.model)
        return turns.make_tool_call(
            self._parts, self._key, call, verdict, lambda: self._calls.answer(call, self._position.model)
        )

    def _run_implicit(
        self, request: JSONObject, implicit: ImplicitCall, verdict: Verdict
    ) -> Generator[DriverEvent, None, CallResult]:
        """Run the agent or search that answers a call without a tool step."""
        node, arguments = implicit.node, request.get("arguments")
        yield from self._position.advance_to(node)
        call = Call(
            no=self._state.next_number,
            parent=self._position.parent_number(node),
            type=StepType.TOOL,
            name=implicit.tool,
            input=arguments,
            tool_name=implicit.tool,
            call_id=str(request.get("id") or ""),
            because=(self._position.model.no,),
        )
        if digest(arguments) != digest(implicit.arguments):
            yield Divergence(text=self._calls.describe_new(call, self._position.model))
            self._parts.subagents.begin_implicit(implicit, arguments)
        inner_steps = self._graph.descendants(node.no)
        if not self._calls.belongs_to(node, self._position.model):
            self._state.moved_steps.update(step.no for step in (node, *inner_steps))
        self._calls.use(node)
        self._calls.record_outcome(call, Answer(action="reuse", label=None, reason=None))
        self._state.queue.release([node, *inner_steps])
        yield Advance(before=node.no + 1)
        answer = Answer(action="reuse", label=None, reason=None, source=node)
        return CallResult(call=call, answer=verdict.annotate(answer), source=node)

    def _report_implicit_results(self, results: Sequence[CallResult]) -> None:
        """Report results without a tool step to hooks."""
        for result in results:
            if result.source is not None and (implicit := self._parts.implicit.call_of(result.source)) is not None:
                output = self._parts.implicit_results.change(implicit).current
                self._points.after_tool(self._key, result.call, replace(result.answer, output=output))

    def _settle(self, call: Call, answer: Answer, source: Node | None) -> Iterator[DriverEvent]:
        """Settle a recorded call that was made or replaced; release or skip the steps inside it."""
        if source is None or source.type is not StepType.TOOL or not self._calls.use(source):
            return
        self._state.queue.mark_done(source)
        self._state.numbers[source.no] = call.no
        if not answer.detail.get(RERUN):
            self._parts.results.settle(source, answer)
        yield from self._parts.subagents.enter_call(replace(call, node=source), answer)
        inner_steps = self._graph.descendants(source.no)
        if call.is_moved:
            self._state.moved_steps.update(step.no for step in inner_steps)
        self._state.queue.release(inner_steps)

    def _report_new(self, call: Call) -> Iterator[DriverEvent]:
        refusal = self._parts.subagents.refusal
        yield Divergence(text=self._calls.describe_new(call, self._position.model))
        if refusal:
            yield Divergence(text=f"Step {call.no}: the sub-agent does not run for this call, because {refusal}.")

    def _close_calls(self, sources: Sequence[Node]) -> Iterator[DriverEvent]:
        """Run the steps inside recorded calls, then close the calls."""
        if containers := tuple(node for node in sources if node.no in self._graph.children):
            yield Advance(before=max(self._graph.ends[node.no] for node in containers) + 1, close=containers)

    def _is_overridden(self, request: JSONObject) -> bool:
        """True if an override answers this call."""
        tool = str(request.get("name", ""))
        edits = self._edits(self._calls.match(tool, request.get("arguments")), tool)
        return edits.tool is not None or edits.output is not None

    def _edits(self, node: Node | None, tool: str) -> Edits:
        """Edits of a recorded call, or of a new call of the tool."""
        profile = self._parts.context.profile
        if node is not None:
            return profile.edits_of(node)
        return profile.edits_of_new(type=StepType.TOOL, name=tool, at=self._position.model.no)

    def _tool_call(self, request: JSONObject, parent: int | None) -> Call:
        tool, arguments = str(request.get("name", "")), request.get("arguments")
        node = self._calls.match(tool, arguments)
        edits = self._edits(node, tool)
        name = node.name if node else tool
        override = edits.arguments
        changed = node is None or (override is not None and digest(override.value) != digest(arguments))
        arguments = override.value if override is not None else arguments
        return Call(
            no=self._state.take_number(),
            parent=parent,
            type=StepType.TOOL,
            name=name,
            input=arguments,
            node=node,
            changed=changed,
            is_moved=node is not None and not self._calls.belongs_to(node, self._position.model),
            differs=("arguments",) if changed and node else (),
            tool_name=tool,
            call_id=str(request.get("id") or ""),
            signature=signature(type=StepType.TOOL, name=name, input=arguments, tool_name=tool),
            edits=edits,
            because=(self._position.model.no,),
            reduced_signature=self._parts.calls.reduced_signature(StepType.TOOL, name, arguments, "", "", tool),
        )
