"""Tool calls of a diverged loop: match them with recorded ones, and format their results. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from replay.core import wording
from replay.core.calls import Answer, Call, label_key
from replay.core.graph import Node
from replay.detection.implicit_calls import KINDS, ImplicitCall
from replay.detection.loops import Loop
from replay.detection.messages_between import turn_messages
from replay.inputs.rebuilt_inputs import render, tool_content
from replay.loops.duplicate_calls import ReplayControl, ToolSpec
from replay.loops.replay_parts import ReplayParts
from replay.loops.subagents import as_rerun
from replay.overrides.edits import NO_EDITS
from replay.resolution.tool_matching import Match, RecordedCalls, exact_key
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepStatus, StepType
from traces.payloads.messages import Message

# Calls that nobody made or answered: such a one again repeats nothing.
_NOT_MADE: Final = frozenset(
    {
        Reason.SIDE_EFFECT_BLOCKED,
        Reason.POLICY_FALLBACK,
        Reason.DENIED,
        Reason.STOPPED,
        Reason.DUPLICATE_SUPPRESSED,
    }
)


class TurnCalls:
    """Calls made so far in a turn, and recorded calls from `start` on that may answer new ones."""

    def __init__(self, parts: ReplayParts, loop: Loop, start: Node, template: JSONObject) -> None:
        self._context = parts.context
        self._state = parts.state
        self._implicit = parts.implicit
        self._handed = parts.handed
        self._subagents = parts.subagents
        self._resolvers = parts.chain
        self._loop = loop
        self._tools = _list(template.get("tools"))
        self._control = ReplayControl()
        self._recorded: RecordedCalls[Node] = RecordedCalls(
            lambda tool, arguments: parts.context.ignoring.reduce(StepType.TOOL, tool, arguments)
        )
        # Agents and searches
        self._without_tool: RecordedCalls[Node] = RecordedCalls(self._recorded.reduced)
        self._later = [node for node in loop.calls if node.no > start.no]
        # Recorded calls in whose place another one was told
        self._paired: set[int] = set()
        self._used: set[int] = set()
        # Calls by name and arguments, in whatever turn
        self._made: set[str] = set()
        # Those that answer another call of the same turn
        self._reserved: set[Node] = set()
        # By call id: the recorded result and its place
        self._messages: dict[str, tuple[int, JSONObject]] = {}
        self._learn(start)

    def in_order(self, asked: Sequence[JSONObject]) -> list[tuple[JSONObject, Node | None]]:
        """Order the calls of one answer like the recorded calls they match; returns them in pairs."""
        taken: set[int] = set()
        found: list[tuple[JSONObject, Node | None]] = []
        for call in asked:
            asked_for = str(call.get("name", "")), call.get("arguments")
            waiting = [*self._recorded.waiting(*asked_for), *self._without_tool.waiting(*asked_for)]
            node = next((one for one in waiting if one.no not in taken), None)
            taken.update(() if node is None else (node.no,))
            found.append((call, node))
        self._reserved = {node for _, node in found if node is not None}
        recorded = iter(sorted((pair for pair in found if pair[1] is not None), key=_recorded_number))
        return [pair if pair[1] is None else next(recorded) for pair in found]

    def match(self, tool: str, arguments: JSONValue) -> Node | None:
        found = self._recorded.exact(tool, arguments)
        return found.call if found else None

    def use(self, node: Node) -> bool:
        """Use a recorded call; False if it already answered another one."""
        if node.no in self._used:
            return False
        self._used.add(node.no)
        self._recorded.use(node)
        self._without_tool.use(node)
        return True

    def is_used(self, node: Node) -> bool:
        return node.no in self._used

    def is_paired(self, node: Node) -> bool:
        return node.no in self._paired

    def without_tool(self, asked: JSONObject, at: Node) -> ImplicitCall | None:
        """Agent or search that answers a call without a tool step, reused or re-run."""
        tool, arguments = str(asked.get("name", "")), asked.get("arguments")
        if (found := self._without_tool.exact(tool, arguments)) is not None:
            return self._implicit.call_of(found.call)
        skipped = self._control.should_skip(tool, arguments, self._spec(tool)).skip
        node = None if skipped or self._resolvers.is_listed(tool) else self._in_place(tool, at)
        implicit = None if node is None else self._implicit.call_of(node)
        can = implicit is not None and self._subagents.can_answer(implicit, arguments)
        return implicit if can else None

    def answer(self, call: Call, at: Node) -> Answer:
        """Resolve a call: recorded calls in order, then duplicate suppression, then the resolver chain."""
        self._subagents.refused = ""
        resumed = self._context.environment.committed_answer(call.no)
        if resumed is not None or call.node is not None or call.edits is not NO_EDITS:
            return resumed or self._resolvers.resolve(call)
        spec = self._spec(call.callee)
        decision = self._control.should_skip(call.callee, call.input, spec)
        if decision.skip:
            self._control.record_denied(call.callee, call.input, spec)
            return _denied(call, decision.step)

        def anew(asked: Call) -> Answer | None:
            place = self.in_its_place(asked, at)
            if place is not None and place.type in KINDS:
                # Says why it is not
                self.without_tool({"name": asked.callee, "arguments": asked.input}, at)
                return None
            return None if place is None else self._subagents.answer(as_rerun(asked, place))

        kept = self._is_made(call) and spec is not None and not spec.idempotent
        return self._resolvers.resolve_tool(call, self._repeated, self._similar, anew, from_others=not kept)

    def came(self, call: Call, answer: Answer) -> None:
        """Record how a call ended, for calls that repeat it."""
        status = StepStatus.DENIED if answer.reason in _NOT_MADE else answer.status
        self._outcome(call.callee, call.input, status, call.no)
        if status is not StepStatus.DENIED:
            self._made.add(self._key(call.callee, call.input))

    def in_its_place(self, call: Call, at: Node) -> Node | None:
        """First unused recorded call of the same tool before the next recorded model step."""
        return self._in_place(call.callee, at)

    def _in_place(self, tool: str, at: Node) -> Node | None:
        following = (model.no for model in self._loop.models if model.no > at.no)
        end = next(following, self._loop.last + 1)
        for node in self._later:
            free = node not in self._reserved and node.no not in self._used | self._paired
            if at.no < node.no < end and free and self._asked(node)[0] == tool:
                return node
        return None

    def said_of_new(self, call: Call, at: Node) -> str:
        """Describe how a new call differs from the recorded one in its place."""
        node = self.in_its_place(call, at)
        if node is None:
            return wording.new_call(call.no, call.callee)
        self._paired.add(node.no)
        return wording.changed_arguments(call.no, call.callee, self._asked(node)[1], call.input)

    def message(self, call: Call, answer: Answer, source: Node | None) -> JSONObject:
        """Format a result as a tool message, in the recorded style if that is known."""
        implicit = None if source is None else self._implicit.call_of(source)
        _, recorded = self._messages.get(self._call_id(source) if source is not None else "", (0, None))
        if implicit is not None:
            recorded = implicit.message
        if recorded is None or source is None:
            change = None if source is None else self._state.changes.get(source.no)
            output = answer.output if change is None else change.current
            return {"role": "tool", "content": render(None, "\x00", output), "tool_call_id": call.call_id}
        change = self._state.changes.get(source.no) if implicit is None else self._handed.change(implicit)
        if change is not None:
            recorded = {**recorded, "content": tool_content(recorded.get("content"), change)}
        return {**recorded, "tool_call_id": call.call_id} if "tool_call_id" in recorded else recorded

    def handed_over(self, results: Sequence[tuple[Node | None, JSONObject]]) -> list[JSONValue]:
        """Order tool messages: those of recorded calls like the recorded messages."""
        places = {node.no: place for node, _ in results if node is not None and (place := self._place(node))}
        known = iter(
            sorted(
                (pair for pair in results if pair[0] and pair[0].no in places),
                key=lambda pair: places[pair[0].no] if pair[0] else 0,
            )
        )
        return [next(known)[1] if node and node.no in places else message for node, message in results]

    def _place(self, node: Node) -> int:
        """Index of a call's result among the recorded messages; 0 if it has none."""
        return self._messages.get(self._call_id(node), (0, {}))[0]

    def _learn(self, start: Node) -> None:
        calls = [*self._earlier(), *(call for call in self._loop.calls if call.no < start.no)]
        for node in calls:
            self._remember(node)
        for node in self._of_this_turn(start, calls):
            if node.type is StepType.TOOL or self._implicit.call_of(node) is not None:
                number = self._state.numbers.get(node.no, node.no)
                self._outcome(*self._asked(node), self._became(node), number)
        for node in self._later:
            (self._without_tool if node.type in KINDS else self._recorded).add(node, *self._asked(node))
        messages = self._context.recorded_request(self._loop.models[-1]).get("messages")
        for place, message in enumerate(_list(messages), 1):
            if isinstance(message, dict) and isinstance(message.get("tool_call_id"), str):
                self._messages[str(message["tool_call_id"])] = (place, message)

    def _became(self, node: Node) -> StepStatus:
        """Status of a recorded call in this replay."""
        _, reason = self._state.labels.get(node.no, (None, None))
        if reason in _NOT_MADE:
            return StepStatus.DENIED
        changed = StepStatus.OK if node.no in self._state.changes else node.status
        return self._state.statuses.get(node.no, changed)

    def _remember(self, node: Node) -> None:
        """Register an earlier recorded call: an idempotent tool repeats its answer unless it failed or changed."""
        if node.type is not StepType.TOOL or node.no in self._state.skipped_steps:
            return
        self._made.add(self._key(*self._asked(node)))
        holds = node.no not in self._state.changes and node.status in {StepStatus.OK, StepStatus.PARTIAL}
        if node.no >= self._context.graph.fork and holds:
            self._recorded.add(node, *self._asked(node))
            self.use(node)

    def _of_this_turn(self, start: Node, calls: Iterable[Node]) -> list[Node]:
        """Recorded calls of the current turn up to `start`, without skipped ones."""
        turn = turn_messages(_list(self._context.recorded_request(start).get("messages")))
        answers = [message for message in turn if isinstance(message, dict) and message.get("role") == "assistant"]
        models = [model.no for model in self._loop.models if model.no < start.no]
        made = [call for call in calls if call.no not in self._state.skipped_steps]
        if len(answers) <= len(models):
            since = models[-len(answers)] if answers else start.no
            return [call for call in made if call.no >= since]
        # It began before the fork: of what lies there the ids tell.
        ids = {"", *(str(call.get("id")) for answer in answers for call in Message(answer).calls)}
        return [call for call in made if call.no >= self._context.graph.fork or call.call_id in ids]

    def _earlier(self) -> list[Node]:
        """Calls of this loop before the fork, including those in its closed containers."""
        graph, scope = self._context.graph, self._loop.parent
        around = {node.no for node in graph.earlier if node.parent == scope}
        return [node for node in graph.earlier_calls if node.parent == scope or node.parent in around]

    def _asked(self, node: Node) -> tuple[str, JSONValue]:
        """Tool and arguments of a recorded call."""
        if (implicit := self._implicit.call_of(node)) is not None:
            return implicit.tool, implicit.arguments
        return node.callee, self._context.payload(node.input_ref)

    def _call_id(self, node: Node) -> str:
        implicit = self._implicit.call_of(node)
        return node.call_id if implicit is None else implicit.call_id

    def _outcome(self, tool: str, arguments: JSONValue, status: StepStatus, number: int) -> None:
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
        for schema in self._tools:
            if isinstance(schema, dict) and schema.get("name") == tool:
                hints = schema.get("annotations")
                said = schema.get("idempotent", hints.get("idempotentHint") if isinstance(hints, dict) else None)
                return ToolSpec(name=tool, idempotent=said) if isinstance(said, bool) else None
        return None

    def _key(self, tool: str, arguments: JSONValue) -> str:
        return exact_key(tool, self._recorded.reduced(tool, arguments))

    def _is_made(self, call: Call) -> bool:
        return self._key(call.callee, call.input) in self._made

    def _repeated(self, call: Call) -> Node | None:
        """Last recorded call of an idempotent tool whose recordings are used up."""
        spec = self._spec(call.callee)
        match = self._recorded.used_up(call.callee, call.input)
        return match.call if match is not None and (spec is None or spec.idempotent) else None

    def _similar(self, call: Call) -> Match[Node] | None:
        return self._recorded.similar(
            call.callee, call.input, self._context.policy.semantic_threshold, but=self._reserved
        )


def _recorded_number(pair: tuple[JSONObject, Node | None]) -> int:
    return pair[1].no if pair[1] is not None else 0


def _denied(call: Call, step: int | None) -> Answer:
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


def _list(value: JSONValue) -> list[JSONValue]:
    return value if isinstance(value, list) else []
