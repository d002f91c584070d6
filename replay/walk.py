"""The engine: one walk over the source steps from the fork on, which planning and execution share. Pure.

A step that no change reaches is kept as it is. A step that one reaches is rebuilt and resolved by the chain, and
its new output, where it differs, reaches further. Model answers that ask for other calls are followed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from replay.agenda import Agenda
from replay.answerers import Answerers
from replay.callids import aligned, asked
from replay.closing import Closings
from replay.computing import BEGUN, computed
from replay.edits import AppliedProfile, Edits, edit_slots, edited_names, edited_request, with_system_slots
from replay.follow import Follower
from replay.foresight import Edited, Foresight
from replay.graph import Graph, Link, Node, numbered
from replay.history import Histories
from replay.hooks import turns
from replay.hooks.points import Points, said_in, with_added
from replay.hooks.types import NO_HOOKS, Hooks
from replay.keeping import Keeping
from replay.loops import Recognition, recognise
from replay.policy import Policy
from replay.reach import Reach
from replay.rebuild import Change, Slots, answer_of, flat, rebuilt_slots, rebuilt_value
from replay.resolvers import Resolvers
from replay.subagents import RAN, SubAgents
from replay.underived import Underived
from replay.unseen import resolve_unseen
from replay.wording import UNFOLLOWED
from replay.world import LIVE_REASONS, Answer, Call, Diverged, Event, Gone, Resolved, World
from traces.canonical import digest
from traces.ignoring import NOTHING, Ignoring, Known
from traces.json_types import JSONObject, JSONValue
from traces.signatures import call_of, differing_fields, signature
from traces.splitting import Splitter
from traces.vocabulary import EdgeKind, Label, Reason, StepStatus, StepType


class Walk:
    """One replay's walk; `run` says everything that happens, in order."""

    def __init__(
        self, graph: Graph, profile: AppliedProfile, policy: Policy, world: World, hooks: Hooks = NO_HOOKS,
        ignoring: Ignoring = NOTHING, *, brief: bool = False, edited: Edited | None = None,
    ) -> None:  # fmt: skip
        """`brief`: nobody asks why a step is resolved as it is."""
        self.graph = graph
        self.profile = profile
        self.policy = policy
        self.world = world
        self.ignoring = ignoring
        self.brief = brief
        self.foresight = Foresight(self, edited or Edited())
        self.agenda = Agenda(graph.nodes)
        self.answerers = Answerers(self)
        self.closings = Closings(self)
        self.keeping = Keeping(self)
        self.underived = Underived(self)
        self.reach = Reach(self)
        self.subagents = SubAgents(self)
        self.resolvers = Resolvers(policy, world, self.subagents.answer, ignoring, self.reach.of)
        self.points = Points(hooks)
        self.loops = turns.Loops(self)
        self.histories = Histories(world)
        self.splitter = Splitter()  # knows each message of a conversation once
        self.reductions = Known()  # and what the ignore list leaves of it
        self.changes: dict[int, Change] = {}
        self.labels: dict[int, tuple[Label, Reason]] = {}
        self.statuses: dict[int, StepStatus] = {}
        self.numbers: dict[int, int] = {}
        self.next_no = graph.fork
        self.gone: set[int] = set()
        self.recognitions: dict[tuple[int | None, int], Recognition] = {}
        self.numbers_moved = False  # a step has another number than its source

    def run(self) -> Iterator[Event]:
        """Everything that happens, in order; live calls are made as the walk comes to them."""
        for event in self._events():
            self.closings.heed(event)
            yield event

    def _events(self) -> Iterator[Event]:
        with turns.ending(self):
            yield from self.advance()
        yield from self.closings.before(self.graph.last + 1)

    def advance(self, before: int | None = None) -> Iterator[Event]:
        """Come to the steps whose turn it is, those with numbers under `before`."""
        while (node := self.agenda.next(before)) is not None:
            turns.end(self, node)
            if self.closings.are_due(node.no):
                yield from self.keeping.flush()
                yield from self.closings.before(node.no)
            if self._touched(node):
                yield from self.keeping.flush()
                yield from self._step(node)
            else:
                yield from self.keeping.add(node)
        yield from self.keeping.flush()

    def number(self) -> int:
        """The next number of the derived run."""
        self.next_no += 1
        return self.next_no - 1

    def parent_of(self, source_parent: int | None) -> int | None:
        return None if source_parent is None else self.numbers.get(source_parent, source_parent)

    def settle(self, node: Node, answer: Answer) -> None:
        """Remember what a source step's resolution changed."""
        self.statuses[node.no] = answer.status
        if answer.label is not None and answer.reason is not None:
            self.labels[node.no] = (answer.label, answer.reason)
        if answer.reason is Reason.ASSUMED_UNAFFECTED:
            self.reach.assume(node.no)
        if answer.label is Label.EXACT and answer.source is node:
            self.changes.pop(node.no, None)
            return
        recorded = self.world.payload(node.output_ref) if node.output_ref else None
        if self._same_output(node, recorded, answer):
            self.changes.pop(node.no, None)
        else:
            self.change(Change(node=node, recorded=recorded, current=answer.output, answered=answer.known))

    def change(self, change: Change) -> None:
        """From now on a step says something else than it was recorded to say."""
        self.changes[change.node.no] = change
        self.reach.changed(change.node.no)
        self.closings.changed(change.node)
        self.answerers.changed(change.node)

    def drop(self, nodes: Iterable[Node], why: str, *, told: bool = False) -> Iterator[Event]:
        """These steps do not take place any more."""
        for node in nodes:
            if not self.agenda.is_done(node):
                self.agenda.done(node)
                self.gone.add(node.no)
                yield Gone(node=node, why=why, told=told)

    def model_call(self, node: Node, input: JSONObject, recorded: JSONObject, edits: Edits) -> Call:
        """The call that a source model step makes now."""
        provider = str(edits.model.get("provider", node.provider))
        model = str(edits.model.get("model", node.model))
        override = edits.model.get("provider")
        return self._call(
            node, input, recorded, edits, provider=provider, model=model,
            override_provider=str(override) if override is not None else None,
        )  # fmt: skip

    def called(self, call: Call, answer: Answer) -> Iterator[Event]:
        """What a tool call's answer means for the steps inside of it."""
        node = call.node
        if node is None or answer.label is Label.EXACT or node.no not in self.graph.children:
            return
        if answer.detail.get(RAN):
            self.subagents.begin(call, answer)
        else:
            yield from self.drop(self.graph.inside(node.no), f"Step {node.no} is answered as a whole", told=True)

    def _step(self, node: Node) -> Iterator[Event]:
        """Resolve one source step."""
        if node.type is StepType.MODEL:
            loop = self.loops.of(node)
            if loop not in self.points.stops:
                self.points.turn_started(loop, self.loops.before(node), self.next_no)
            if loop not in self.points.stops:
                yield from self._model(node)
                return
        if node.type in turns.LOOPED and self.loops.of(node) in self.points.stops:
            yield from turns.stop(self, node)
            return
        if node.type is StepType.TOOL:
            yield from turns.tool(self, node)
            return
        call = self.rebuilt_call(node)
        answer = computed(self, call) if node.type not in _CALLED else self.resolvers.resolve(call)
        yield Resolved(call=call, answer=answer)
        if answer.detail.get(RAN) or answer.detail.get(BEGUN):
            self.closings.begin(node, answer)
        else:
            self.settle(node, answer)

    def _model(self, node: Node) -> Iterator[Event]:
        edits = self.profile.of(node)
        if self.foresight.has(node):
            yield resolve_unseen(self, node, edits, repeats=self.foresight.repeats(node))
            return
        unknowable = self.world.planning and self._unknowable(node)
        if unknowable and edits.output is None:
            self.histories.unknowable.add(node.no)
            yield resolve_unseen(self, node, edits)
            return
        recorded = self.recorded_input(node)
        added = self.points.take(self.loops.of(node))
        same = not added and self._keeps_messages(node, edits)
        if same:  # the very list, which is then known wherever it is compared or signed
            plain = edited = []
            input = edited_request(recorded, edits.model)
        else:
            plain, edited = (with_added(slots, added) for slots in self.messages(node, recorded, edits))
            input = edited_request(
                {**recorded, "messages": flat(edited)} if "messages" in recorded else recorded, edits.model
            )
        call = self.model_call(node, input, recorded, edits)
        if unknowable:
            call = self.guess(call)
        answer = said_in(self._aligned(node, self.resolvers.resolve(call)), added)
        self.points.answered(call, answer)
        yield Resolved(call=call, answer=answer)
        self.settle(node, answer)
        if not same:
            self.histories.rebuilt(node, plain, edited)
        if not self._asks_otherwise(node, answer):
            return
        edited = self.messages(node, recorded, edits)[1] if same else edited
        loop = self.recognition(node)
        if loop.loop is None:
            yield Diverged(text=f"Step {node.no} asks for other tools than recorded, {UNFOLLOWED}. {loop.said}.")
            return
        yield from Follower(self, loop.loop, node, call, edited, answer).run()

    def _keeps_messages(self, node: Node, edits: Edits) -> bool:
        """Whether a model step is sent the recorded messages: nothing changes them."""
        return not edits.messages and "system" not in edits.prompt and self._is_unreached(node)

    def _is_unreached(self, node: Node) -> bool:
        """Whether nothing that changed before stands in a step's input."""
        return not self.subagents.has_task(node) and not any(True for _ in self.changed_links(node))

    def _unknowable(self, node: Node) -> bool:
        """Whether what a live call will say stands in this call's messages: then only the call itself can tell."""
        # What a model asks for is taken to be what was recorded, so whoever was given that knows it.
        links = [link for link in self.answerers.links(node.no) if not link.producer_path.startswith(_CALLS)]
        return any(
            link.producer in self.histories.unknowable
            or (link.producer in self.changes and not self.changes[link.producer].answered)
            for link in links
        )

    def guess(self, call: Call) -> Call:
        """A call whose messages are not known differs from the recorded one, and no cache can hold it."""
        if call.node is not None:
            self.histories.unknowable.add(call.node.no)
        differs = tuple(dict.fromkeys(("messages", *call.differs, *edited_names(call.edits.model))))
        return replace(call, changed=True, differs=differs, signature="", reduced="")

    def recognition(self, node: Node) -> Recognition:
        key = (node.parent, self.graph.threads[node.no])
        if key not in self.recognitions:
            conversation = self.graph.conversations[self.graph.threads[node.no]]
            self.recognitions[key] = recognise(self.graph, node, self.answerers.within(conversation))
        return self.recognitions[key]

    def _touched(self, node: Node) -> bool:
        if node.no in self.profile.by_step or self.policy.asks_anew(node.type):
            return True
        if self.points.active and turns.is_awaited(self, node):
            return True
        if self.subagents.is_told(node):
            return True
        return any(True for _ in self.changed_links(node))

    def _brings_change(self, link: Link) -> bool:
        if link.kind is EdgeKind.HISTORY and not link.producer_path:
            return self.histories.has(link.producer)  # its input is repeated, and not its answer
        continued = link.kind is EdgeKind.HISTORY and self.histories.has(link.producer)
        return continued or link.producer in self.changes

    def incoming(self, node: Node) -> list[tuple[Link, Change]]:
        """The changes that reach a step, each with the way that it comes."""
        found: list[tuple[Link, Change]] = []
        for link in numbered(self.graph, self.answerers.links(node.no)):
            told = self.subagents.incoming(node, link) or self.answerers.incoming(node.no, link)
            if (change := told or self.changes.get(link.producer)) is not None:
                found.append((link, change))
        self.foresight.look(node, found)
        return found

    def messages(self, node: Node, recorded: JSONObject, edits: Edits) -> tuple[Slots, Slots]:
        """The rebuilt messages before and after this step's own edits."""
        given = recorded.get("messages")
        messages = given if isinstance(given, list) else []
        links = self.graph.links.get(node.no, ())
        prefix = self.histories.prefix(links, messages, own_edits=bool(edits.messages))
        incoming = self.incoming(node)
        plain = rebuilt_slots(messages, prefix, incoming, self.underived.missed)
        self.underived.check(node, incoming, messages)
        plain = [self.subagents.told(node, slot) for slot in plain] if self.subagents.is_told(node) else plain
        edited = edit_slots(plain, edits.messages) if edits.messages else plain
        if "system" in edits.prompt:
            edited = with_system_slots(edited, str(edits.prompt["system"]))
        return plain, edited

    def recorded_input(self, node: Node) -> JSONObject:
        value = self.world.payload(node.input_ref) if node.input_ref else None
        return value if isinstance(value, dict) else {}

    def rebuilt_call(self, node: Node) -> Call:
        recorded = self.world.payload(node.input_ref) if node.input_ref else None
        edits = self.profile.of(node)
        input = None
        if recorded is not None or node.type is not StepType.OUTPUT:
            incoming = self.incoming(node)
            input = self.subagents.given(node, rebuilt_value(recorded, incoming, self.underived.missed))
            self.underived.check(node, incoming)
        if isinstance(input, dict):
            fields = edits.retrieval if node.type is StepType.RETRIEVAL else edits.prompt
            input = {**input, **{name: value for name, value in fields.items() if name != "documents"}}
        if edits.arguments is not None:
            input = edits.arguments.value
        return self._call(node, input, recorded, edits, provider=node.provider, model=node.model)

    def _call(
        self, node: Node, input: JSONValue, recorded: JSONValue, edits: Edits, *, provider: str, model: str,
        override_provider: str | None = None,
    ) -> Call:  # fmt: skip
        before = call_of(
            type=node.type, name=node.name, input=self._compared(node, recorded), provider=node.provider,
            model=node.model, tool_name=node.tool_name,
        )  # fmt: skip
        after = call_of(
            type=node.type, name=node.name, input=self._compared(node, input), provider=provider, model=model,
            tool_name=node.tool_name,
        )  # fmt: skip
        if before is None or after is None:
            differs = [] if digest(recorded) == digest(input) else ["input"]
        else:
            differs = differing_fields(before, after, self.splitter.digest)
        signed = node.signature
        if differs and after is not None:
            signed = signature(
                type=node.type, name=node.name, input=input, provider=provider, model=model, tool_name=node.tool_name,
                digest_of=self.splitter.digest,
            )  # fmt: skip
        call = Call(
            no=self.numbered(node), parent=self.parent_of(node.parent), type=node.type, name=node.named_for(model),
            input=input, node=node, complete=bool(node.input_ref),
            changed=bool(differs) and (not signed or signed != node.signature),
            differs=tuple(differs), because=self.because(node), provider=provider, model=model,
            override_provider=override_provider, tool_name=node.tool_name, call_id=node.call_id, signature=signed,
            edits=edits, reduced=self.reduced(node.type, node.name, input, provider, model, node.tool_name),
        )  # fmt: skip
        return self.underived.applied(call)

    def reduced(self, type: StepType, name: str, input: JSONValue, provider: str, model: str, tool_name: str) -> str:
        """The signature of a call under the app's ignore list; empty where that says nothing of such calls."""
        return self.ignoring.signature(
            type=type, name=name, input=input, provider=provider, model=model, tool_name=tool_name,
            digest_of=self.splitter.digest, known=self.reductions,
        )  # fmt: skip

    def _compared(self, node: Node, input: JSONValue) -> JSONValue:
        """What of a call's input is compared: all but what the app's ignore list leaves out."""
        return self.ignoring.reduced(node.type, node.called, input, self.reductions)

    def numbered(self, node: Node) -> int:
        number = self.number()
        self.numbers_moved |= number != node.no
        self.numbers[node.no] = number
        return number

    def because(self, node: Node) -> tuple[int, ...]:
        return tuple(sorted({link.producer for link in self.changed_links(node)}))

    def changed_links(self, node: Node) -> Iterator[Link]:
        """What a step consumed that is no longer as recorded."""
        return filter(self._brings_change, self.answerers.links(node.no))

    def label_of(self, node: Node) -> tuple[Label, Reason]:
        return self.labels.get(node.no, (Label.SIMULATED, Reason.POLICY_FALLBACK))

    def waits_for_live(self, no: int) -> bool:
        """Whether what a step says, or what is said inside of it, comes from a live call."""
        return self.labels.get(no, (None, None))[1] in LIVE_REASONS or no in self.closings.live

    def _aligned(self, node: Node, answer: Answer) -> Answer:
        """The answer with the recorded ids on calls that equal the recorded ones: ids say nothing."""
        recorded = answer_of(self.world.payload(node.output_ref)) if node.output_ref else {}
        return aligned(answer, recorded)

    def _same_output(self, node: Node, recorded: JSONValue, answer: Answer) -> bool:
        if answer.status is not node.status or (not answer.known and recorded != answer.output):
            return False
        if node.type is StepType.MODEL and recorded is not None and answer.known:
            return digest(answer_of(recorded)) == digest(answer_of(answer.output))
        return digest(recorded) == digest(answer.output)

    def _asks_otherwise(self, node: Node, answer: Answer) -> bool:
        """Whether a real answer asks for other calls than the recorded one did."""
        change = self.changes.get(node.no)
        if change is None or not answer.known:
            return False
        return asked(answer_of(change.recorded)) != asked(answer_of(change.current))


_CALLS = "/message/tool_calls/"
_CALLED = frozenset({StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})
