"""Tool calls of a diverged loop: match them with recorded calls and format their results. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from replay.core import wording
from replay.core.calls import Answer, Call, label_key
from replay.core.graph import Node
from replay.core.values.tool_servers import Server, are_several
from replay.detection.implicit_calls import KINDS, ImplicitCall
from replay.detection.intermediate_messages import turn_messages
from replay.detection.loops import Loop
from replay.inputs.rebuilt_inputs import render, tool_content
from replay.loops.duplicate_calls import ReplayControl, ToolSpec
from replay.loops.replay_parts import ReplayParts
from replay.loops.subagents import as_rerun
from replay.overrides.edits import NO_EDITS
from replay.resolution.tool_matching import Match, RecordedCalls, exact_key
from traces.core.json_access import as_boolean, as_list, as_object, has_string, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepStatus, StepType
from traces.payloads.messages import Message

# Calls without a real outcome: repeating one is no duplicate.
_NOT_MADE_REASONS: Final = frozenset(
    {
        Reason.SIDE_EFFECT_BLOCKED,
        Reason.POLICY_FALLBACK,
        Reason.DENIED,
        Reason.STOPPED,
        Reason.DUPLICATE_SUPPRESSED,
    }
)


class TurnCalls:
    """Calls made so far in a turn, and recorded calls after `start` that may answer new ones."""

    def __init__(self, parts: ReplayParts, loop: Loop, start: Node, template: JSONObject) -> None:
        self._context = parts.context
        self._state = parts.state
        self._implicit = parts.implicit
        self._implicit_results = parts.implicit_results
        self._subagents = parts.subagents
        self._resolvers = parts.chain
        self._loop = loop
        self._tools = as_list(template.get("tools"))
        self._control = ReplayControl()
        self._recorded_calls: RecordedCalls[Node] = RecordedCalls(
            lambda tool, arguments: parts.context.ignoring.reduce(StepType.TOOL, tool, arguments)
        )
        # Recorded agents and searches that answer a call without a tool step.
        self._implicit_calls: RecordedCalls[Node] = RecordedCalls(self._recorded_calls.reduce)
        # Recorded calls that a divergence reports as replaced.
        self._replaced_numbers: set[int] = set()
        self._used_numbers: set[int] = set()
        # Keys of all calls made, in any turn.
        self._made_keys: set[str] = set()
        # Recorded calls that answer another call of the same turn.
        self._reserved_nodes: set[Node] = set()
        # Recorded result message and its position, by call id.
        self._recorded_messages: dict[str, tuple[int, JSONObject]] = {}
        # Tools that several MCP servers have: it is not known which of them a new call is for.
        self._shared_names: frozenset[str] = frozenset()
        self._start = start

    def load(self) -> None:
        """Register the recorded calls. Only a turn with calls needs them: a conversation may contain thousands."""
        start = self._start
        calls = [*self._calls_before_fork(), *(call for call in self._loop.calls if call.no < start.no)]
        later_calls = self._loop.calls_after(start.no)
        self._shared_names = self._names_of_several_servers([*calls, *later_calls])
        for node in calls:
            self._register_earlier(node)
        for node in self._calls_of_turn(start, calls):
            if node.type is StepType.TOOL or self._implicit.call_of(node) is not None:
                number = self._state.numbers.get(node.no, node.no)
                self._record_status(*self._request_of(node), self._current_status(node), number)
        for node in later_calls:
            if node.callee not in self._shared_names:
                (self._implicit_calls if node.type in KINDS else self._recorded_calls).add(
                    node, *self._request_of(node)
                )
        messages = self._context.recorded_request(self._loop.models[-1]).get("messages")
        for place, message in enumerate(map(as_object, as_list(messages)), 1):
            if has_string(message, "tool_call_id"):
                self._recorded_messages[str(message["tool_call_id"])] = (place, message)

    def in_order(self, requests: Sequence[JSONObject]) -> list[tuple[JSONObject, Node | None]]:
        """Order the calls of one answer like the recorded calls they match; returns each with its match."""
        taken_numbers: set[int] = set()
        pairs: list[tuple[JSONObject, Node | None]] = []
        for call in requests:
            tool_and_arguments = str(call.get("name", "")), call.get("arguments")
            candidates = [
                *self._recorded_calls.unused_matches(*tool_and_arguments),
                *self._implicit_calls.unused_matches(*tool_and_arguments),
            ]
            match = next((node for node in candidates if node.no not in taken_numbers), None)
            taken_numbers.update(() if match is None else (match.no,))
            pairs.append((call, match))
        self._reserved_nodes = {match for _, match in pairs if match is not None}
        recorded_order = iter(sorted((pair for pair in pairs if pair[1] is not None), key=_recorded_number))
        return [pair if pair[1] is None else next(recorded_order) for pair in pairs]

    def match(self, tool: str, arguments: JSONValue) -> Node | None:
        match = self._recorded_calls.exact(tool, arguments)
        return match.call if match else None

    def use(self, node: Node) -> bool:
        """Use a recorded call; False if it already answered another one."""
        if node.no in self._used_numbers:
            return False
        self._used_numbers.add(node.no)
        self._recorded_calls.use(node)
        self._implicit_calls.use(node)
        return True

    def is_used(self, node: Node) -> bool:
        return node.no in self._used_numbers

    def is_replaced(self, node: Node) -> bool:
        return node.no in self._replaced_numbers

    def implicit_call(self, request: JSONObject, at: Node) -> ImplicitCall | None:
        """Agent or search that answers a call without a tool step, reused or re-run."""
        tool, arguments = str(request.get("name", "")), request.get("arguments")
        if (match := self._implicit_calls.exact(tool, arguments)) is not None:
            return self._implicit.call_of(match.call)
        is_duplicate = self._control.should_skip(tool, arguments, self._spec(tool)).skip
        place = None if is_duplicate or self._resolvers.is_listed(tool) else self._next_unused(tool, at)
        implicit = None if place is None else self._implicit.call_of(place)
        can_answer = implicit is not None and self._subagents.can_answer(implicit, arguments)
        return implicit if can_answer else None

    def answer(self, call: Call, at: Node) -> Answer:
        """Resolve a call: recorded calls in order, then duplicate suppression, then the resolver chain."""
        self._subagents.refusal = ""
        stored_answer = self._context.environment.committed_answer(call.no)
        if stored_answer is not None or call.node is not None or call.edits is not NO_EDITS:
            return stored_answer or self._resolvers.resolve(call)
        spec = self._spec(call.callee)
        decision = self._control.should_skip(call.callee, call.input, spec)
        if decision.skip:
            self._control.record_denied(call.callee, call.input, spec)
            return _duplicate_answer(call, decision.step)

        def rerun(new_call: Call) -> Answer | None:
            place = self.replaced_call(new_call, at)
            if place is not None and place.type in KINDS:
                # Sets the refusal.
                self.implicit_call({"name": new_call.callee, "arguments": new_call.input}, at)
                return None
            return None if place is None else self._subagents.answer(as_rerun(new_call, place))

        is_repeat = self._was_made(call) and spec is not None and not spec.idempotent
        return self._resolvers.resolve_tool(
            call, self._exhausted_match, self._similar_match, rerun, from_others=not is_repeat
        )

    def record_outcome(self, call: Call, answer: Answer) -> None:
        """Record how a call ended, for calls that repeat it."""
        status = StepStatus.DENIED if answer.reason in _NOT_MADE_REASONS else answer.status
        self._record_status(call.callee, call.input, status, call.no)
        if status is not StepStatus.DENIED:
            self._made_keys.add(self._key(call.callee, call.input))

    def replaced_call(self, call: Call, at: Node) -> Node | None:
        """First unused recorded call of the same tool before the next recorded model step."""
        return self._next_unused(call.callee, at)

    def belongs_to(self, node: Node, model: Node) -> bool:
        """True if a recorded call was made for the answer of a recorded model step."""
        return model.no < node.no < self._end_of_turn(model)

    def _end_of_turn(self, model: Node) -> int:
        return next((later.no for later in self._loop.models if later.no > model.no), self._loop.last + 1)

    def _next_unused(self, tool: str, at: Node) -> Node | None:
        end = self._end_of_turn(at)
        for node in self._loop.calls_after(self._start.no):
            free = node not in self._reserved_nodes and node.no not in self._used_numbers | self._replaced_numbers
            if at.no < node.no < end and free and self._request_of(node)[0] == tool:
                return node
        return None

    def describe_new(self, call: Call, at: Node) -> str:
        """Describe how a new call differs from the recorded one in its place."""
        node = self.replaced_call(call, at)
        if node is None:
            return wording.new_call(call.no, call.callee)
        self._replaced_numbers.add(node.no)
        return wording.changed_arguments(call.no, call.callee, self._request_of(node)[1], call.input)

    def result_message(self, call: Call, answer: Answer, source: Node | None) -> JSONObject:
        """Format a result as a tool message, in the recorded style if that is known."""
        implicit = None if source is None else self._implicit.call_of(source)
        _, recorded_message = self._recorded_messages.get(
            self._call_id(source) if source is not None else "", (0, None)
        )
        if implicit is not None:
            recorded_message = implicit.message
        if recorded_message is None or source is None:
            change = None if source is None else self._state.changes.get(source.no)
            output = answer.output if change is None else change.current
            return {"role": "tool", "content": render(None, "\x00", output), "tool_call_id": call.call_id}
        change = self._state.changes.get(source.no) if implicit is None else self._implicit_results.change(implicit)
        if change is not None:
            recorded_message = {**recorded_message, "content": tool_content(recorded_message.get("content"), change)}
        return (
            {**recorded_message, "tool_call_id": call.call_id}
            if "tool_call_id" in recorded_message
            else recorded_message
        )

    def in_recorded_order(self, results: Sequence[tuple[Node | None, JSONObject]]) -> list[JSONValue]:
        """Order tool messages: those of recorded calls like the recorded messages."""
        indexes = {node.no: index for node, _ in results if node is not None and (index := self._message_index(node))}
        recorded_results = iter(
            sorted(
                (pair for pair in results if pair[0] and pair[0].no in indexes),
                key=lambda pair: indexes[pair[0].no] if pair[0] else 0,
            )
        )
        return [next(recorded_results)[1] if node and node.no in indexes else message for node, message in results]

    def _message_index(self, node: Node) -> int:
        """Index of a call's result among the recorded messages; 0 if it has none."""
        return self._recorded_messages.get(self._call_id(node), (0, {}))[0]

    def _current_status(self, node: Node) -> StepStatus:
        """Status of a recorded call in this replay."""
        _, reason = self._state.labels.get(node.no, (None, None))
        if reason in _NOT_MADE_REASONS:
            return StepStatus.DENIED
        default = StepStatus.OK if node.no in self._state.changes else node.status
        return self._state.statuses.get(node.no, default)

    def _register_earlier(self, node: Node) -> None:
        """Register an earlier recorded call: an idempotent tool repeats its answer unless it failed or changed."""
        if node.type is not StepType.TOOL or node.no in self._state.skipped_steps:
            return
        self._made_keys.add(self._key(*self._request_of(node)))
        is_repeatable = node.no not in self._state.changes and node.status in {StepStatus.OK, StepStatus.PARTIAL}
        if node.no >= self._context.graph.fork and is_repeatable and node.callee not in self._shared_names:
            self._recorded_calls.add(node, *self._request_of(node))
            self.use(node)

    def _calls_of_turn(self, start: Node, calls: Iterable[Node]) -> list[Node]:
        """Recorded calls of the current turn up to `start`, without skipped ones."""
        turn = turn_messages(as_list(self._context.recorded_request(start).get("messages")))
        answers = [message for message in turn if member(message, "role") == "assistant"]
        models = [model.no for model in self._loop.models if model.no < start.no]
        run_calls = [call for call in calls if call.no not in self._state.skipped_steps]
        if len(answers) <= len(models):
            first = models[-len(answers)] if answers else start.no
            return [call for call in run_calls if call.no >= first]
        # The turn began before the fork; there, call ids identify its calls.
        ids = {"", *(str(call.get("id")) for answer in answers for call in Message(answer).calls)}
        return [call for call in run_calls if call.no >= self._context.graph.fork or call.call_id in ids]

    def _names_of_several_servers(self, calls: Iterable[Node]) -> frozenset[str]:
        known_servers = self._context.graph.servers
        servers: dict[str, list[Server]] = {}
        for node in calls if known_servers else ():
            if node.no in known_servers:
                servers.setdefault(node.callee, []).append(known_servers[node.no])
        return frozenset(name for name, items in servers.items() if are_several(items))

    def _calls_before_fork(self) -> list[Node]:
        """Calls of this loop before the fork, including those in its closed containers."""
        graph, scope = self._context.graph, self._loop.parent
        container_numbers = {node.no for node in graph.earlier if node.parent == scope}
        return [
            node for node in graph.earlier_calls.values() if node.parent == scope or node.parent in container_numbers
        ]

    def _request_of(self, node: Node) -> tuple[str, JSONValue]:
        """Tool and arguments of a recorded call."""
        if (implicit := self._implicit.call_of(node)) is not None:
            return implicit.tool, implicit.arguments
        return node.callee, self._context.payload(node.input_ref)

    def _call_id(self, node: Node) -> str:
        implicit = self._implicit.call_of(node)
        return node.call_id if implicit is None else implicit.call_id

    def _record_status(self, tool: str, arguments: JSONValue, status: StepStatus, number: int) -> None:
        spec = self._spec(tool)
        match status:
            case StepStatus.OK | StepStatus.PARTIAL:
                self._control.record_success(tool, arguments, spec, step=number)
            case StepStatus.TIMEOUT:
                self._control.record_timeout(tool, arguments, spec)
            case StepStatus.DENIED:
                self._control.record_denied(tool, arguments, spec)
            case _:
                self._control.record_failure(tool, arguments, spec)

    def _spec(self, tool: str) -> ToolSpec | None:
        """What the request's tool schemas declare about idempotency; None if nothing."""
        for schema in map(as_object, self._tools):
            if schema.get("name") == tool:
                idempotent = as_boolean(schema.get("idempotent", member(schema, "annotations", "idempotentHint")))
                return None if idempotent is None else ToolSpec(name=tool, idempotent=idempotent)
        return None

    def _key(self, tool: str, arguments: JSONValue) -> str:
        return exact_key(tool, self._recorded_calls.reduce(tool, arguments))

    def _was_made(self, call: Call) -> bool:
        return self._key(call.callee, call.input) in self._made_keys

    def _exhausted_match(self, call: Call) -> Node | None:
        """Last recorded call of an idempotent tool whose recordings are used up."""
        spec = self._spec(call.callee)
        match = self._recorded_calls.used_up(call.callee, call.input)
        return match.call if match is not None and (spec is None or spec.idempotent) else None

    def _similar_match(self, call: Call) -> Match[Node] | None:
        return self._recorded_calls.similar(
            call.callee, call.input, self._context.policy.semantic_threshold, exclude=self._reserved_nodes
        )


def _recorded_number(pair: tuple[JSONObject, Node | None]) -> int:
    return pair[1].no if pair[1] is not None else 0


def _duplicate_answer(call: Call, step: int | None) -> Answer:
    text = f"[Forkpoint] Tool '{call.callee}' was not called again: step {step} made the same call and succeeded."
    detail: JSONObject = {**label_key(), "duplicate_of": step}
    return Answer(
        action="blocked",
        label=Label.SIMULATED,
        reason=Reason.DUPLICATE_SUPPRESSED,
        output=text,
        status=StepStatus.DENIED,
        detail=detail,
        note=f"Repeats step {step}",
    )
