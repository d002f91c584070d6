"""Following an agent loop whose model asks for other calls than it did in the recording. Pure."""

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from replay import wording
from replay.control import ReplayControl, ToolSpec
from replay.edits import NO_EDITS, edit_slots, edited_parameters, with_system
from replay.graph import Node
from replay.history import Followed
from replay.hooks import turns
from replay.hooks.points import said_in, stop_text, stopped
from replay.loops import Loop, spoken_to
from replay.matching import Match, RecordedCalls
from replay.rebuild import Change, Slots, answer_of, calls_of, flat, rendered, with_recorded_calls
from replay.world import Answer, Call, Diverged, Event, Gone, Resolved, label_key
from traces.json_types import JSONObject, JSONValue
from traces.signatures import signature
from traces.vocabulary import Label, Reason, StepStatus, StepType

if TYPE_CHECKING:
    from replay.walk import Walk

_NEW: Final = "new"
_UNASKED: Final = "Nobody asks for it any more"


class Follower:
    """One loop from the answer that left the recording to the answer that asks for nothing."""

    def __init__(self, walk: "Walk", loop: Loop, node: Node, call: Call, base: Slots, answer: Answer) -> None:
        self.walk = walk
        self.loop = loop
        self.at = node  # the last recorded model step that the replay came to
        self.call = call
        self.base = base
        self.output = answer.output
        self.final = answer
        self.tail: list[JSONValue] = []
        self.turns = 1
        self.ended_at = node.no
        self.start = node
        self.after = [step for step in loop.steps if step.no > node.no]
        self.control = ReplayControl()
        self.recorded: RecordedCalls[Node] = RecordedCalls()
        self.used: set[int] = set()
        self.paired: set[int] = set()  # recorded calls in whose place another one was told
        self.tool_messages: dict[str, JSONObject] = {}

    def run(self) -> Iterator[Event]:
        self._learn()
        while True:
            message = answer_of(self.output)
            self.tail.append(message)
            for asked in calls_of(message):
                if not self._is_stopped():
                    yield from self._tool(asked)
            self.walk.points.turn_ended(self.walk.next_no - 1)
            if not calls_of(message) or self._is_stopped() or (yield from self._limited()):
                break
            if not (yield from self._model()):
                break
        yield from self._stopped()
        yield from self._leave()

    def _is_stopped(self) -> bool:
        return self.loop.parent in self.walk.points.stops

    def _stopped(self) -> Iterator[Event]:
        """A hook ended the loop: what it says stands for the last answer."""
        if (outcome := self.walk.points.stops.pop(self.loop.parent, None)) is not None:
            yield Diverged(text=f"{stop_text(outcome)}; its loop ends after step {self.walk.next_no - 1}.")
            self.final = stopped(outcome)
            self.output = self.final.output
            self.tail.append(answer_of(self.output))
            if self.call.node is not None:
                self.walk.settle(self.call.node, self.final)

    def _learn(self) -> None:
        """The turn's calls so far, and the recorded calls that may answer new ones."""
        walk = self.walk
        earlier = [*walk.graph.earlier_calls, *(step for step in self.loop.steps if step.no < self.start.no)]
        for node in earlier:
            if node.type is StepType.TOOL and node.parent == self.start.parent:
                self._remember(node, walk.world.payload(node.input_ref) if node.input_ref else None)
        for node in self.after:
            if node.type is StepType.TOOL:
                self.recorded.add(node, node.called, walk.world.payload(node.input_ref) if node.input_ref else None)
        last = self.loop.models[-1]
        recorded = walk.world.payload(last.input_ref) if last.input_ref else None
        for message in _messages(recorded):
            if isinstance(message, dict) and isinstance(message.get("tool_call_id"), str):
                self.tool_messages[str(message["tool_call_id"])] = message

    def _remember(self, node: Node, arguments: JSONValue) -> None:
        number = self.walk.numbers.get(node.no, node.no)
        label = self.walk.changes.get(node.no)
        status = node.status if label is None else StepStatus.OK
        self._outcome(node.called, arguments, status, number)

    def _outcome(self, tool: str, arguments: JSONValue, status: StepStatus, number: int) -> None:
        spec = self._spec(tool)
        match status:
            case StepStatus.OK | StepStatus.PARTIAL:
                self.control.record_success(tool, arguments, spec, step=number)
            case StepStatus.TIMEOUT:
                self.control.record_timeout(tool, arguments, spec)
            case StepStatus.DENIED:
                self.control.record_denied(tool, arguments, spec)
            case _:
                self.control.record_failure(tool, arguments, spec)

    def _spec(self, tool: str) -> ToolSpec | None:
        """What the request's tool schemas declare about repetition; None where they say nothing."""
        for schema in _list(self._template().get("tools")):
            if isinstance(schema, dict) and schema.get("name") == tool:
                hints = schema.get("annotations")
                said = schema.get("idempotent", hints.get("idempotentHint") if isinstance(hints, dict) else None)
                return ToolSpec(name=tool, idempotent=said) if isinstance(said, bool) else None
        return None

    def _tool(self, asked: JSONObject) -> Iterator[Event]:
        points, operator = self.walk.points, self._operator_answers(asked)
        name, call_id = str(asked.get("name", "")), str(asked.get("id") or "")
        verdict = None if operator else points.before_tool(self.walk.next_no, name, asked.get("arguments"), call_id)
        call, match = self._tool_call(asked if verdict is None else {**asked, "arguments": verdict.arguments})
        answer = (verdict and verdict.denied()) or self._resolved(call, match)
        if verdict is not None:
            answer = verdict.on(answer)
            points.after_tool(self.loop.parent, call, answer)
        source = answer.source or (call.node if answer.label is not None else None)
        if source is not None and source.no not in self.used and source.type is StepType.TOOL:
            self.used.add(source.no)
            self.recorded.use(source)
            self.walk.numbers[source.no] = call.no
            self.walk.settle(source, answer)
        if source is None:
            answer = replace(answer, detail={**answer.detail, "divergence": _NEW})
            yield Diverged(text=self._said_of_new(call))
        yield Resolved(call=call, answer=replace(answer, source=source))
        if answer.reason is not Reason.DUPLICATE_SUPPRESSED:
            self._outcome(call.called, call.input, answer.status, call.no)
        self.tail.append(self._tool_message(call, answer, source))

    def _operator_answers(self, asked: JSONObject) -> bool:
        """Whether the operator gave this call's answer, so that it is not made."""
        tool = str(asked.get("name", ""))
        match = self.recorded.exact(tool, asked.get("arguments"))
        edits = self.walk.profile.of(match.call) if match else self.walk.profile.of_new(type=StepType.TOOL, name=tool)
        return edits.tool is not None or edits.output is not None

    def _said_of_new(self, call: Call) -> str:
        """How a call that no recorded one answers differs from the one in its place, if there is one."""
        node = self._in_its_place(call)
        if node is None:
            return wording.asked_newly(call.no, call.called)
        self.paired.add(node.no)
        recorded = self.walk.world.payload(node.input_ref) if node.input_ref else None
        return wording.asked_otherwise(call.no, call.called, recorded, call.input)

    def _in_its_place(self, call: Call) -> Node | None:
        """The first unused recorded call of the same tool before the next recorded model step."""
        for node in self.after:
            if node.type is StepType.MODEL and node.no > self.at.no:
                return None
            if node.no > self.at.no and node.called == call.called and node.no not in self.used | self.paired:
                return node
        return None

    def _tool_call(self, asked: JSONObject) -> tuple[Call, Match[Node] | None]:
        tool, arguments = str(asked.get("name", "")), asked.get("arguments")
        match = self.recorded.exact(tool, arguments)
        node = match.call if match else None
        edits = self.walk.profile.of(node) if node else self.walk.profile.of_new(type=StepType.TOOL, name=tool)
        name = node.name if node else tool
        call = Call(
            no=self.walk.number(), parent=self.walk.parent_of(self.loop.parent), type=StepType.TOOL, name=name,
            input=arguments, node=node, changed=node is None, tool_name=tool, call_id=str(asked.get("id") or ""),
            signature=signature(type=StepType.TOOL, name=name, input=arguments, tool_name=tool), edits=edits,
            because=(self.at.no,),
        )  # fmt: skip
        return call, match

    def _resolved(self, call: Call, match: Match[Node] | None) -> Answer:
        """Recorded calls in their order; then duplicates are suppressed; then the chain, the semantic cache in it."""
        resumed = self.walk.world.resumed(call.no)
        if resumed is not None or match is not None or call.edits is not NO_EDITS:
            return resumed or self.walk.resolvers.resolve(call)
        decision = self.control.should_skip(call.called, call.input, self._spec(call.called))
        if decision.skip:
            self.control.record_denied(call.called, call.input, self._spec(call.called))
            return _denied(call, decision.step)
        return self.walk.resolvers.resolve_tool(call, self._repeated, self._similar)

    def _repeated(self, call: Call) -> Node | None:
        """An idempotent tool would answer a call that used up its recordings as it did last."""
        spec = self._spec(call.called)
        match = self.recorded.used_up(call.called, call.input)
        return match.call if match is not None and (spec is None or spec.idempotent) else None

    def _similar(self, call: Call) -> Match[Node] | None:
        return self.recorded.similar(call.called, call.input, self.walk.policy.semantic_threshold)

    def _tool_message(self, call: Call, answer: Answer, source: Node | None) -> JSONObject:
        """The result as the agent would hand it to the model: as it did in the recording where it can be seen."""
        recorded = self.tool_messages.get(source.call_id) if source is not None and source.call_id else None
        if recorded is None or source is None:
            content = rendered(None, "\x00", answer.output)
            return {"role": "tool", "content": content, "tool_call_id": call.call_id}
        if source.no in self.walk.changes:
            before = self.walk.changes[source.no].recorded
            recorded = {**recorded, "content": rendered(before, str(recorded.get("content") or ""), answer.output)}
        return {**recorded, "tool_call_id": call.call_id}

    def _limited(self) -> Generator[Event, None, bool]:
        limit = self.walk.policy.max_turns
        if self.turns < limit:
            return False
        yield Diverged(text=f"The loop was stopped after {limit} model calls, the policy's turn limit.")
        return True

    def _model(self) -> Generator[Event, None, bool]:
        """Ask the model with what its calls returned; false when that ends the loop."""
        node = self._next_recorded()
        self.turns += 1
        points = self.walk.points
        points.turn_started(self.loop.parent, 0 if node is None else turns.number(self.walk, node), self.walk.next_no)
        if self._is_stopped():
            return False
        added = points.take(self.loop.parent)
        self.tail.extend(one.message for one in added)
        call = self._recorded_model(node) if node is not None else self._new_model()
        if self.start.no in self.walk.histories.unknowable:
            call = self.walk.guess(call)
        answer = said_in(self.walk.resolvers.resolve(call), added)
        points.answered(call, answer)
        if node is not None:
            answer = self.walk._aligned(node, answer)
            self.walk.settle(node, answer)
            self.at = node
        else:
            answer = replace(answer, detail={**answer.detail, "divergence": _NEW})
        yield Resolved(call=call, answer=answer)
        self.call, self.final, self.output = call, answer, answer.output
        if answer.known:
            return True
        message = answer_of(self.output)
        change = self.walk.changes.get(node.no) if node is not None else None
        self.tail.append(message if change is None else with_recorded_calls(change, message))
        yield Diverged(text=f"Step {call.no} has no real answer: from there on the recorded structure is kept.")
        return False

    def _next_recorded(self) -> Node | None:
        """The recorded call in the same place, unless somebody else spoke before it."""
        later = [model for model in self.loop.models if model.no > self.at.no]
        return later[0] if later and not self._spoken_to(later[0]) else None

    def _spoken_to(self, model: Node) -> bool:
        """Whether a message that is neither an answer nor a tool's result came before this call."""
        return spoken_to(self.walk.graph, model, self.walk.recorded_input(model))

    def _recorded_model(self, node: Node) -> Call:
        walk = self.walk
        recorded = walk.world.payload(node.input_ref) if node.input_ref else None
        template: JSONObject = recorded if isinstance(recorded, dict) else {}
        edits = walk.profile.of(node)
        slots = edit_slots(self.base, edits.messages) if edits.messages else self.base
        messages = [*flat(slots), *self.tail]
        if "system" in edits.prompt:
            messages = with_system(messages, str(edits.prompt["system"]))
        input = edited_parameters({**template, "messages": messages}, edits.model)
        call = walk.model_call(node, input, template, edits)
        return replace(call, because=tuple(sorted({*call.because, self.at.no})))

    def _new_model(self) -> Call:
        """A call beyond the recording: like the last one, with the overrides that match any model step."""
        last = self.call
        edits = self.walk.profile.of_new(type=StepType.MODEL, name=last.name, model=self.at.model)
        template = self._template()
        messages = [*flat(self.base), *self.tail]
        if "system" in edits.prompt:
            messages = with_system(messages, str(edits.prompt["system"]))
        input = edited_parameters({**template, "messages": messages}, edits.model)
        return Call(
            no=self.walk.number(), parent=self.walk.parent_of(self.loop.parent), type=StepType.MODEL, name=last.name,
            input=input, changed=True, provider=last.provider, model=last.model,
            override_provider=last.override_provider, edits=edits, because=(self.at.no,),
            signature=signature(
                type=StepType.MODEL, name=last.name, input=input, provider=last.provider, model=last.model,
                digest_of=self.walk.splitter.digest,
            ),
        )  # fmt: skip

    def _template(self) -> JSONObject:
        """The last request without its messages."""
        input = self.call.input if isinstance(self.call.input, dict) else {}
        return {name: value for name, value in input.items() if name != "messages"}

    def _leave(self) -> Iterator[Event]:
        """Hand the rest back to the walk: what the recording had and nobody asked for is gone."""
        resume = self._resume_point()
        for node in self.after:
            if node.no >= resume:
                break
            self.ended_at = node.no
            came = node.no in self.used or (node.type is StepType.MODEL and node.no <= self.at.no)
            if not came:
                yield Gone(node=node, why=_UNASKED, told=node.no in self.paired)
        self._tell_history()

    def _resume_point(self) -> int:
        """The number from which the walk goes on with the recording."""
        beyond = self.loop.last + 1
        if not self.final.known and self.call.node is not None:
            return self.at.no + 1
        later = (model.no for model in self.loop.models if model.no > self.at.no and self._spoken_to(model))
        return next(later, beyond)

    def _tell_history(self) -> None:
        """Later calls continue this loop as it went; later steps see its last answer as that of the recorded end."""
        walk = self.walk
        went = [model for model in self.loop.models if self.start.no <= model.no <= self.ended_at]
        ids = frozenset(step.call_id for step in self.after if step.no <= self.ended_at and step.call_id)
        if self.start.no in walk.histories.unknowable:
            walk.histories.unknowable.update(model.no for model in went)
        for model in went:
            walk.histories.followed(model.no, Followed(base=self.base, tail=list(self.tail), call_ids=ids))
        last = went[-1]
        recorded = walk.world.payload(last.output_ref) if last.output_ref else None
        if last is not self.call.node:
            walk.changes[last.no] = Change(node=last, recorded=recorded, current=self.output, answered=self.final.known)
            if self.final.label is not None and self.final.reason is not None:
                walk.labels[last.no] = (self.final.label, self.final.reason)
            walk.numbers.setdefault(last.no, self.call.no)


def _denied(call: Call, step: int | None) -> Answer:
    text = f"[Forkpoint] Tool '{call.called}' was not called again: step {step} made the same call and succeeded."
    detail: JSONObject = {**label_key(), "duplicate_of": step}
    return Answer(
        action="blocked", label=Label.SIMULATED, reason=Reason.DUPLICATE_SUPPRESSED, output=text,
        status=StepStatus.DENIED, detail=detail, note=f"Repeats step {step}",
    )  # fmt: skip


def _messages(input: JSONValue) -> list[JSONValue]:
    return _list(input.get("messages") if isinstance(input, dict) else None)


def _list(value: JSONValue) -> list[JSONValue]:
    return value if isinstance(value, list) else []
