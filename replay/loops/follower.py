"""Follow an agent loop whose model requests other tool calls than recorded. Pure.

The calls of one answer are made one after another; their results are handed over together. Recorded steps that still
take place come in their recorded order, with what stands between them and what they hold.
"""

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Final

from replay.calls.call_ids import with_recorded_ids
from replay.calls.unknown_parts import unknown_request
from replay.core import wording
from replay.core.calls import Answer, Call
from replay.core.events import Advance, Divergence, DriverEvent, StepResolved
from replay.core.graph import CONTAINERS, Node
from replay.detection.implicit_calls import ImplicitCall
from replay.detection.loops import Loop
from replay.detection.messages_between import follows_user_message
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import Slots, flat, with_recorded_calls
from replay.loops import turns
from replay.loops.hook_points import Verdict, stop_answer, stop_text, with_hook_detail
from replay.loops.injected_messages import InjectedMessages
from replay.loops.new_containers import NewContainers
from replay.loops.replay_parts import ReplayParts
from replay.loops.subagents import RERUN, as_rerun
from replay.loops.tool_calls import TurnCalls
from replay.overrides.edits import Edits
from replay.overrides.request_edits import apply_model_settings, edit_slots, with_system
from replay.state.histories import DivergedHistory
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelAnswer
from traces.signatures.call_signatures import signature

_NEW: Final = "new"
_UNASKED: Final = "Nobody asks for it any more"


class LoopFollower:
    """Runs one loop from the diverging answer to an answer without tool calls."""

    def __init__(self, parts: ReplayParts, loop: Loop, node: Node, call: Call, base: Slots, answer: Answer) -> None:
        self.parts = parts
        self.context = parts.context
        self.graph = parts.context.graph
        self.state = parts.state
        self.points = parts.points
        self.loop = loop
        self.key = parts.loops.key_of(node)
        # The last recorded model step that the replay came to
        self.at = node
        self.call = call
        self.base = base
        self.messages = flat(base)
        self.output = answer.output
        self.first = answer
        self.final = answer
        self.tail: list[JSONValue] = []
        self.turns = 1
        self.ended_at = node.no
        self.told = InjectedMessages(parts, loop)
        self.start = node
        self.after = [step for step in loop.steps if step.no > node.no and not parts.state.queue.is_done(step)]
        self.calls = TurnCalls(parts, loop, node, self._template())
        self.rooms = NewContainers(parts, loop, self.calls, answer)

    def run(self) -> Iterator[DriverEvent]:
        self.state.queue.hold(self.after)
        while True:
            said = ModelAnswer(self.output)
            self.tail.append(said.message)
            yield from self._turn(said.calls)
            self.points.turn_ended(self.state.next_number - 1)
            if not said.calls or self._is_stopped() or (yield from self._limited()):
                break
            if not (yield from self._model()):
                break
        yield from self._stopped()
        yield from self._leave()

    def _is_stopped(self) -> bool:
        return self.key in self.points.stops

    def _stopped(self) -> Iterator[DriverEvent]:
        """End the loop at a hook's decision; the hook's text is the last answer."""
        if (outcome := self.points.stops.pop(self.key, None)) is not None:
            yield Divergence(text=f"{stop_text(outcome)}; its loop ends after step {self.state.next_number - 1}.")
            self.final = stop_answer(outcome)
            self.output = self.final.output
            self.tail.append(ModelAnswer(self.output).message)
            if self.call.node is not None:
                self.parts.results.settle(self.call.node, self.final)

    def _turn(self, asked: list[JSONObject]) -> Iterator[DriverEvent]:
        """Make the tool calls of one answer, run the steps inside them, and collect the results."""
        made: list[tuple[JSONObject, Call, Answer, Node | None]] = []
        ordered = self.calls.in_order(asked)
        room = self.rooms.of_calls(self.at, [node for _, node in ordered if node is not None])
        parent: int | None = None
        for given, node in ordered:
            if self._is_stopped():
                break
            if node is not None:
                yield from self._reach(node)
                parent = self._parent(node)
            elif parent is None and self.calls.without_tool(given, self.at) is None:
                parent = yield from self.rooms.opened(room, self.at)
            made.append((given, *(yield from self._tool(given, parent))))
        yield from self._ended([source for *_, source in made if source is not None])
        self._tell_hooks(made)
        results = [(source, self.calls.message(call, answer, source)) for _, call, answer, source in made]
        self.tail += self.calls.handed_over(results)

    def _tool(
        self, asked: JSONObject, parent: int | None
    ) -> Generator[DriverEvent, None, tuple[Call, Answer, Node | None]]:
        points, operator = self.points, self._operator_answers(asked)
        name, call_id = str(asked.get("name", "")), str(asked.get("id") or "")
        verdict = (
            None if operator else points.before_tool(self.state.next_number, name, asked.get("arguments"), call_id)
        )
        if verdict is not None and verdict.denial is None:
            now: JSONObject = {**asked, "arguments": verdict.arguments}
            if (implicit := self.calls.without_tool(now, self.at)) is not None:
                return (yield from self._without_tool(now, implicit, verdict))
        call = self._tool_call(asked if verdict is None else {**asked, "arguments": verdict.arguments}, parent)
        if verdict is None:
            answer = self.calls.answer(call, self.at)
        else:
            answer = turns.make_tool_call(self.parts, self.key, call, verdict, lambda: self.calls.answer(call, self.at))
        if answer.detail.get(RERUN) and (place := answer.source or self.calls.in_its_place(call, self.at)):
            yield Divergence(text=self.calls.said_of_new(call, self.at))
            call = as_rerun(call, place)
        source = answer.source or (call.node if answer.label is not None else None)
        if source is None:
            answer = replace(answer, detail={**answer.detail, "divergence": _NEW})
            yield from self._tell_new(call)
        yield StepResolved(call=call, answer=replace(answer, source=source))
        self.calls.came(call, answer)
        yield from self._take(call, answer, source)
        return call, answer, source

    def _without_tool(
        self, asked: JSONObject, implicit: ImplicitCall, verdict: Verdict
    ) -> Generator[DriverEvent, None, tuple[Call, Answer, Node | None]]:
        """Run the agent or search that answers a call without a tool step."""
        node, arguments = implicit.node, asked.get("arguments")
        yield from self._reach(node)
        call = Call(
            no=self.state.next_number,
            parent=self._parent(node),
            type=StepType.TOOL,
            name=implicit.tool,
            input=arguments,
            tool_name=implicit.tool,
            call_id=str(asked.get("id") or ""),
            because=(self.at.no,),
        )
        if digest(arguments) != digest(implicit.arguments):
            yield Divergence(text=self.calls.said_of_new(call, self.at))
            self.parts.subagents.begin_without_tool(implicit, arguments)
        self.calls.use(node)
        self.calls.came(call, Answer(action="reuse", label=None, reason=None))
        self.state.queue.release([node, *self.graph.descendants(node.no)])
        yield Advance(before=node.no + 1)
        answer = Answer(action="reuse", label=None, reason=None, source=node)
        return call, verdict.on(answer), node

    def _tell_hooks(self, made: list[tuple[JSONObject, Call, Answer, Node | None]]) -> None:
        """Report results without a tool step to hooks."""
        for _, call, answer, source in made:
            if source is not None and (implicit := self.parts.implicit.call_of(source)) is not None:
                result = self.parts.handed.change(implicit).current
                self.points.after_tool(self.key, call, replace(answer, output=result))

    def _take(self, call: Call, answer: Answer, source: Node | None) -> Iterator[DriverEvent]:
        """Settle a recorded call that was made or replaced; release or skip the steps inside it."""
        if source is None or source.type is not StepType.TOOL or not self.calls.use(source):
            return
        self.state.queue.mark_done(source)
        self.state.numbers[source.no] = call.no
        if not answer.detail.get(RERUN):
            self.parts.results.settle(source, answer)
        yield from self.parts.subagents.called(replace(call, node=source), answer)
        self.state.queue.release(self.graph.descendants(source.no))

    def _tell_new(self, call: Call) -> Iterator[DriverEvent]:
        refused = self.parts.subagents.refused
        yield Divergence(text=self.calls.said_of_new(call, self.at))
        if refused:
            yield Divergence(text=f"Step {call.no}: the sub-agent is not run for it, because {refused}.")

    def _ended(self, sources: list[Node]) -> Iterator[DriverEvent]:
        """Run the steps inside recorded calls, then close the calls."""
        if holding := tuple(node for node in sources if node.no in self.graph.children):
            yield Advance(before=max(self.graph.ends[node.no] for node in holding) + 1, close=holding)

    def _reach(self, node: Node) -> Iterator[DriverEvent]:
        """Run what precedes a recorded step: its containers, and the steps at their start."""
        around = [self.graph.by_no[no] for no in self.loop.containers.get(node.no, ())]
        self.state.queue.release(around)
        self.state.queue.release(self._between(node.no, {*(step.no for step in around)}))
        yield Advance(before=node.no)

    def _between(self, before: int, around: set[int]) -> list[Node]:
        """Other steps up to a step whose containers have run."""
        graph, done = self.graph, self.state.queue.is_done
        found: list[Node] = []
        for step in self.loop.other_steps:
            path = self.loop.containers.get(step.no, ())
            if self.at.no < step.no < before and all(
                no in around or no < graph.fork or done(graph.by_no[no]) for no in path
            ):
                found += [step, *graph.descendants(step.no)]
        return found

    def _parent(self, node: Node) -> int | None:
        """Number of a recorded step's parent in the derived run."""
        path = self.loop.containers.get(node.no, ())
        return self.state.parent_of(path[-1] if path else self.loop.parent)

    def _operator_answers(self, asked: JSONObject) -> bool:
        """True if an override answers this call."""
        tool = str(asked.get("name", ""))
        node = self.calls.match(tool, asked.get("arguments"))
        edits = self._edits(node, tool)
        return edits.tool is not None or edits.output is not None

    def _edits(self, node: Node | None, tool: str) -> Edits:
        """Edits of a recorded call, or of a new call of the tool."""
        if node is not None:
            return self.context.profile.edits_of(node)
        return self.context.profile.edits_of_new(type=StepType.TOOL, name=tool, at=self.at.no)

    def _tool_call(self, asked: JSONObject, parent: int | None) -> Call:
        tool, arguments = str(asked.get("name", "")), asked.get("arguments")
        node = self.calls.match(tool, arguments)
        edits = self._edits(node, tool)
        name = node.name if node else tool
        given = edits.arguments
        changed = node is None or (given is not None and digest(given.value) != digest(arguments))
        arguments = given.value if given is not None else arguments
        return Call(
            no=self.state.take_number(),
            parent=parent,
            type=StepType.TOOL,
            name=name,
            input=arguments,
            node=node,
            changed=changed,
            differs=("arguments",) if changed and node else (),
            tool_name=tool,
            call_id=str(asked.get("id") or ""),
            signature=signature(type=StepType.TOOL, name=name, input=arguments, tool_name=tool),
            edits=edits,
            because=(self.at.no,),
            reduced_signature=self.parts.calls.reduced_signature(StepType.TOOL, name, arguments, "", "", tool),
        )

    def _limited(self) -> Generator[DriverEvent, None, bool]:
        limit = self.context.policy.max_turns
        if self.turns < limit:
            return False
        yield Divergence(text=f"{wording.TURN_LIMIT} {limit} model calls, the policy's turn limit.")
        return True

    def _model(self) -> Generator[DriverEvent, None, bool]:
        """Call the model with the results of its tool calls; False ends the loop."""
        node = self._next_recorded()
        self.turns += 1
        parent = yield from self._room_of(node)
        points = self.points
        points.turn_started(self.key, 0 if node is None else self.parts.loops.before(node), self.state.next_number)
        if self._is_stopped():
            return False
        added = points.take(self.key)
        self.tail.extend(one.message for one in added)
        call = self._recorded_model(node) if node is not None else self._new_model(parent)
        if self.start.no in self.state.histories.unknowable:
            call = unknown_request(call, self.state)
        answer = with_hook_detail(self.parts.chain.resolve(call), added)
        points.answered(call, answer)
        answer = self._placed(node, answer)
        yield StepResolved(call=call, answer=answer)
        self.call, self.final, self.output = call, answer, answer.output
        if answer.is_known:
            return True
        message = ModelAnswer(self.output).message
        change = self.state.changes.get(node.no) if node is not None else None
        self.tail.append(message if change is None else with_recorded_calls(change, message))
        yield Divergence(text=f"Step {call.no} has no real answer: from there on the recorded structure is kept.")
        return False

    def _room_of(self, node: Node | None) -> Generator[DriverEvent, None, int | None]:
        """Advance to the next model step; returns the number of its parent."""
        if node is None:
            yield from self.told.missing(self.at)
            return (yield from self.rooms.opened(self.rooms.of_models, self.at))
        yield from self._reach(node)
        parent = self._parent(node)
        self.tail += self.told.found(self.at, node)
        return parent

    def _placed(self, node: Node | None, answer: Answer) -> Answer:
        """Settle the recorded step in whose place the model answered, or mark the answer as new."""
        if node is None:
            return replace(answer, detail={**answer.detail, "divergence": _NEW})
        answer = with_recorded_ids(answer, ModelAnswer(self.context.payload(node.output_ref)).message)
        self.state.queue.mark_done(node)
        self.parts.results.settle(node, answer)
        self.at = node
        return answer

    def _next_recorded(self) -> Node | None:
        """Recorded model step in the same place, unless a user message precedes it."""
        later = [model for model in self.loop.models if model.no > self.at.no]
        return later[0] if later and not self._spoken_to(later[0]) else None

    def _spoken_to(self, model: Node) -> bool:
        """True if a message other than an answer or tool result precedes this call."""
        return follows_user_message(self.graph, model, self.context.recorded_request(model))

    def _recorded_model(self, node: Node) -> Call:
        template, edits = self.context.recorded_request(node), self.context.profile.edits_of(node)
        slots = edit_slots(self.base, edits.messages) if edits.messages else self.base
        messages = [*(self.messages if slots is self.base else flat(slots)), *self.tail]
        if "system" in edits.prompt:
            messages = with_system(messages, str(edits.prompt["system"]))
        input = apply_model_settings({**template, "messages": messages}, edits.model)
        call = self.parts.calls.of_model(node, input, template, edits)
        return replace(call, because=tuple(sorted({*call.because, self.at.no})))

    def _new_model(self, parent: int | None) -> Call:
        """Build a model call beyond the recording: like the last one, with the overrides for new steps."""
        last = self.call
        edits = self.context.profile.edits_of_new(
            type=StepType.MODEL, name=self.at.name, at=self.at.no, model=self.at.model
        )
        template = self._template()
        messages = [*self.messages, *self.tail]
        if "system" in edits.prompt:
            messages = with_system(messages, str(edits.prompt["system"]))
        input = apply_model_settings({**template, "messages": messages}, edits.model)
        return Call(
            no=self.state.take_number(),
            parent=parent,
            type=StepType.MODEL,
            name=last.name,
            input=input,
            changed=True,
            provider=last.provider,
            model=last.model,
            override_provider=last.override_provider,
            edits=edits,
            because=(self.at.no,),
            signature=self.parts.calls.signature(StepType.MODEL, last.name, input, last.provider, last.model, ""),
            reduced_signature=self.parts.calls.reduced_signature(
                StepType.MODEL, last.name, input, last.provider, last.model, ""
            ),
        )

    def _template(self) -> JSONObject:
        """Last request without its messages."""
        input = self.call.input if isinstance(self.call.input, dict) else {}
        return {name: value for name, value in input.items() if name != "messages"}

    def _leave(self) -> Iterator[DriverEvent]:
        """Return to the recording; skip recorded steps that no longer run."""
        queue, resume = self.state.queue, self._resume_point()
        left = [step for step in self.after if not queue.is_done(step)]
        self.ended_at = max((step.no for step in self.after if step.no < resume), default=self.start.no)
        queue.release(step for step in left if step.no >= resume)
        if not ModelAnswer(self.output).calls:
            queue.release(self._between(self._next_part(), set()))
            yield Advance(before=self._next_part())
        for step in left:
            if step.no < resume and not queue.is_done(step):
                yield from self.state.skip(
                    [step], _UNASKED, is_reported=self.calls.is_paired(step) or step.type in CONTAINERS
                )
        self._tell_history()

    def _next_part(self) -> int:
        """Number of the first recorded call or model step that the replay has not reached."""
        parts = sorted(node.no for node in (*self.loop.models, *self.loop.calls) if node.no > self.at.no)
        return next(iter(parts), self.loop.last + 1)

    def _resume_point(self) -> int:
        """Number from which the replay continues with the recording."""
        beyond = self.loop.last + 1
        if not self.final.is_known and self.call.node is not None:
            return self.at.no + 1
        later = (model.no for model in self.loop.models if model.no > self.at.no and self._spoken_to(model))
        return next(later, beyond)

    def _tell_history(self) -> None:
        """Make later calls continue the loop as it ran, and later steps see its last answer."""
        state = self.state
        went = [model for model in self.loop.models if self.start.no <= model.no <= self.ended_at]
        ids = frozenset(step.call_id for step in self.after if step.no <= self.ended_at and step.call_id)
        if self.start.no in state.histories.unknowable:
            state.histories.unknowable.update(model.no for model in went)
        for model in went:
            state.histories.record_divergence(
                model.no, DivergedHistory(base=self.base, tail=list(self.tail), call_ids=ids)
            )
        last = went[-1]
        recorded = self.context.payload(last.output_ref)
        if last is not self.call.node:
            self.parts.results.record_change(
                Change(node=last, original=recorded, current=self.output, is_known=self.final.is_known)
            )
            if self.final.label is not None and self.final.reason is not None:
                state.labels[last.no] = (self.final.label, self.final.reason)
            state.numbers.setdefault(last.no, self.call.no)
