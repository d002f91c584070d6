"""Follow an agent loop whose model requests other tool calls than recorded. Pure."""

from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import takewhile

from replay.calls.call_ids import with_recorded_ids
from replay.calls.unknown_parts import unknown_request
from replay.core import wording
from replay.core.calls import Answer, Call
from replay.core.events import Advance, Divergence, DriverEvent, StepResolved
from replay.core.graph import CONTAINERS, Node
from replay.detection.loops import Loop
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import flat, with_recorded_calls
from replay.loops.hook_points import stop_answer, stop_text, with_hook_detail
from replay.loops.injected_messages import InjectedMessages
from replay.loops.loop_position import LoopPosition
from replay.loops.new_containers import NewContainers
from replay.loops.replay_parts import ReplayParts
from replay.loops.tool_calls import TurnCalls
from replay.loops.turn_follower import NEW, TurnFollower
from replay.overrides.request_edits import apply_model_settings, edit_slots, with_system
from replay.state.rebuilt_messages import DivergedHistory, RebuiltMessages
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelAnswer

# Worked example: following a loop.
#
#   recording                                replay
#   3 model  requests get_order(A-1)         3 model  requests get_order(A-2), search_policy("lost")
#   4 tool   get_order(A-1)                  4 tool   get_order(A-2)         new call; replaces source step 4
#   5 model  requests search_policy("lost")  5 tool   search_policy("lost")  exact: reuses source step 6
#   6 tool   search_policy("lost")           6 model  in the place of source step 5; answers "Delivered."
#   7 model  answers "You get a refund."              source steps 4 and 7 are skipped
#
# 1. Model step 3 requests other calls than recorded. The queue holds back the rest of the loop, steps 4 to 7, so that
#    the replayer does not visit them in recorded order.
# 2. The turn's calls are made one after another. A call that equals an unused recorded call uses its recording, in
#    recorded order, after the steps that precede it have run. Any other call goes through the resolver chain.
# 3. The model is called with the messages up to the divergence, its new answer and the results. The call takes the
#    place of the next recorded model step, step 5, and its edits; after the last one, it is a new step.
# 4. Turns repeat until the model requests no calls, has no real answer, a hook stops the loop, or the policy's turn
#    limit is reached. Recorded model steps after a user message are not part of this: the loop is followed to its end
#    with new steps, and the replay then continues at the step that receives the message.
# 5. On leaving, recorded steps that did not run are skipped. Later calls continue from the new messages, and the last
#    answer becomes the output of the loop's last recorded model step, step 7, because later steps consume that one.


class LoopFollower:
    """Runs one loop from the diverging answer to an answer without tool calls."""

    def __init__(
        self, parts: ReplayParts, loop: Loop, node: Node, call: Call, base: RebuiltMessages, answer: Answer
    ) -> None:
        self._parts = parts
        self._context = parts.context
        self._state = parts.state
        self._points = parts.points
        self._loop = loop
        self._key = parts.loops.key_of(node)
        self._position = LoopPosition(parts, loop, node, is_at_end=not ModelAnswer(answer.output).calls)
        # The last model call and its answer.
        self._call = call
        self._answer = answer
        self._output = answer.output
        # Messages up to the diverging answer, and since.
        self._base = base
        self._tail: list[JSONValue] = []
        self._turn_count = 1
        self._injected_messages = InjectedMessages(parts, loop)
        self._calls = TurnCalls(parts, loop, node, self._template())
        self._containers = NewContainers(parts, loop, self._calls, answer)
        self._turn = TurnFollower(parts, self._key, self._position, self._calls, self._containers)

    def run(self) -> Iterator[DriverEvent]:
        self._state.queue.hold(self._position.later_steps)
        if ModelAnswer(self._output).calls:
            self._calls.load()
        while True:
            model_answer = ModelAnswer(self._output)
            self._tail.append(model_answer.message)
            if model_answer.calls:
                self._tail += yield from self._turn.run(model_answer.calls)
            self._points.end_turn(self._state.next_number - 1)
            if not model_answer.calls or self._is_stopped() or (yield from self._reaches_limit()):
                break
            if not (yield from self._call_model()):
                break
        yield from self._apply_stop()
        yield from self._leave()

    @cached_property
    def _base_messages(self) -> list[JSONValue]:
        return flat(self._base.slots)

    def _is_stopped(self) -> bool:
        return self._key in self._points.stops

    def _apply_stop(self) -> Iterator[DriverEvent]:
        """End the loop at a hook's decision; the hook's text is the last answer."""
        if (outcome := self._points.stops.pop(self._key, None)) is not None:
            yield Divergence(text=f"{stop_text(outcome)}; its loop ends after step {self._state.next_number - 1}.")
            self._answer = stop_answer(outcome)
            self._output = self._answer.output
            self._tail.append(ModelAnswer(self._output).message)
            if self._call.node is not None:
                self._parts.results.settle(self._call.node, self._answer)

    def _reaches_limit(self) -> Generator[DriverEvent, None, bool]:
        limit = self._context.policy.max_turns
        if self._turn_count < limit:
            return False
        yield Divergence(text=f"{wording.TURN_LIMIT} {limit} model calls, the policy's turn limit.")
        return True

    def _call_model(self) -> Generator[DriverEvent, None, bool]:
        """Call the model with the results of its tool calls; False ends the loop."""
        node = self._position.next_model()
        self._turn_count += 1
        parent = yield from self._enter_container(node)
        first_turn = 0 if node is None else self._parts.loops.before(node)
        self._points.start_turn(self._key, first_turn, self._state.next_number)
        if self._is_stopped():
            return False
        hook_messages = self._points.take_messages(self._key)
        self._tail.extend(message.message for message in hook_messages)
        call = self._recorded_model(node) if node is not None else self._new_model(parent)
        if self._position.start.no in self._state.histories.unknowable:
            call = unknown_request(call, self._state)
        answer = with_hook_detail(self._parts.chain.resolve(call), hook_messages)
        self._points.record_model_answer(call, answer)
        answer = self._settle(node, answer)
        yield StepResolved(call=call, answer=answer)
        self._call, self._answer, self._output = call, answer, answer.output
        if answer.is_known:
            return True
        message = ModelAnswer(self._output).message
        change = self._state.changes.get(node.no) if node is not None else None
        self._tail.append(message if change is None else with_recorded_calls(change, message))
        yield Divergence(text=f"Step {call.no} has no real answer; the steps after it keep the recorded structure.")
        return False

    def _enter_container(self, node: Node | None) -> Generator[DriverEvent, None, int | None]:
        """Advance to the next model step; returns the number of its parent."""
        if node is None:
            yield from self._injected_messages.report_missing(self._position.model)
            return (yield from self._containers.open(self._containers.model_path, self._position.model))
        yield from self._position.advance_to(node)
        parent = self._position.parent_number(node)
        self._tail += self._injected_messages.documents(self._position.model, node)
        return parent

    def _settle(self, node: Node | None, answer: Answer) -> Answer:
        """Settle the recorded step in whose place the model answered, or mark the answer as new."""
        if node is None:
            return replace(answer, detail={**answer.detail, "divergence": NEW})
        answer = with_recorded_ids(answer, ModelAnswer(self._context.payload(node.output_ref)).message)
        self._state.queue.mark_done(node)
        self._parts.results.settle(node, answer)
        self._position.model = node
        return answer

    def _recorded_model(self, node: Node) -> Call:
        template, edits = self._context.recorded_request(node), self._context.profile.edits_of(node)
        base = flat(edit_slots(self._base.slots, edits.messages)) if edits.messages else self._base_messages
        messages = [*base, *self._tail]
        if "system" in edits.prompt:
            messages = with_system(messages, str(edits.prompt["system"]))
        input = apply_model_settings({**template, "messages": messages}, edits.model)
        call = self._parts.calls.of_model(node, input, template, edits)
        return replace(call, because=tuple(sorted({*call.because, self._position.model.no})))

    def _new_model(self, parent: int | None) -> Call:
        """Build a model call beyond the recording: like the last one, with the overrides for new steps."""
        last, model_step, calls = self._call, self._position.model, self._parts.calls
        edits = self._context.profile.edits_of_new(
            type=StepType.MODEL, name=model_step.name, at=model_step.no, model=model_step.model
        )
        messages = [*self._base_messages, *self._tail]
        if "system" in edits.prompt:
            messages = with_system(messages, str(edits.prompt["system"]))
        input = apply_model_settings({**self._template(), "messages": messages}, edits.model)
        return Call(
            no=self._state.take_number(),
            parent=parent,
            type=StepType.MODEL,
            name=last.name,
            input=input,
            changed=True,
            provider=last.provider,
            model=last.model,
            override_provider=last.override_provider,
            edits=edits,
            because=(model_step.no,),
            signature=calls.signature(StepType.MODEL, last.name, input, last.provider, last.model, ""),
            reduced_signature=calls.reduced_signature(StepType.MODEL, last.name, input, last.provider, last.model, ""),
        )

    def _template(self) -> JSONObject:
        """Last request without its messages."""
        input = as_object(self._call.input)
        return {name: value for name, value in input.items() if name != "messages"}

    def _leave(self) -> Iterator[DriverEvent]:
        """Return to the recording; skip recorded steps that no longer run."""
        queue, position, resume = self._state.queue, self._position, self._resume_number()
        open_steps = [step for step in position.later_steps if not queue.is_done(step)]
        queue.release(step for step in open_steps if step.no >= resume)
        if not ModelAnswer(self._output).calls:
            queue.release(position.other_steps(position.next_part(), set()))
            yield Advance(before=position.next_part())
        for step in open_steps:
            if step.no < resume and not queue.is_done(step):
                is_reported = self._calls.is_replaced(step) or step.type in CONTAINERS
                yield from self._state.skip([step], "The loop no longer reaches it", is_reported=is_reported)
        last = max((step.no for step in position.later_steps if step.no < resume), default=position.start.no)
        self._record_history(last)

    def _resume_number(self) -> int:
        """Number from which the replay continues with the recording."""
        if not self._answer.is_known and self._call.node is not None:
            return self._position.model.no + 1
        return self._position.next_user_turn()

    def _record_history(self, last_no: int) -> None:
        """Make later calls continue the loop as it ran, and later steps consume its last answer."""
        state, start = self._state, self._position.start
        later_models = self._loop.models_after(start.no)
        models = [start, *takewhile(lambda model: model.no <= last_no, later_models)]
        call_ids = frozenset(step.call_id for step in self._position.later_steps if step.no <= last_no and step.call_id)
        if start.no in state.histories.unknowable:
            state.histories.unknowable.update(model.no for model in models)
        for model in models:
            history = DivergedHistory(base=self._base, tail=list(self._tail), call_ids=call_ids)
            state.histories.record_divergence(model.no, history)
        last = models[-1]
        if last is self._call.node:
            return
        original, answer = self._context.payload(last.output_ref), self._answer
        self._parts.results.record_change(
            Change(node=last, original=original, current=self._output, is_known=answer.is_known)
        )
        if answer.label is not None and answer.reason is not None:
            state.labels[last.no] = (answer.label, answer.reason)
        state.numbers.setdefault(last.no, self._call.no)
