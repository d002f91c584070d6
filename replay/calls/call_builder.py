"""Call builder: recorded inputs with upstream changes and edits applied. Pure."""

from collections.abc import Iterator, Sequence
from functools import partial

from replay.calls.foreseen_steps import Foresight
from replay.calls.implicit_results import ImplicitResults
from replay.calls.unknown_parts import UnknownParts
from replay.core.calls import Call
from replay.core.context import ReplayContext
from replay.core.graph import Link, Node, with_ordinals
from replay.core.values.unread import Unread
from replay.inputs.changes import Change, Incoming, Misses
from replay.inputs.rebuilt_inputs import is_unaltered, rebuild_slots, rebuild_value
from replay.overrides.edits import Edits
from replay.overrides.request_edits import edited_names
from replay.state.rebuilt_messages import MessageVariants, RebuiltMessages, prefix_of
from replay.state.replay_state import ReplayState
from traces.core.canonical import digest, escape_pointer
from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.splitter import Splitter
from traces.signatures.call_signatures import call_of, differing_fields, signature
from traces.signatures.ignore_rules import ReductionCache


class CallBuilder:
    """Builds the call that a step makes in the replay."""

    def __init__(
        self, context: ReplayContext, state: ReplayState, implicit_results: ImplicitResults, foresight: Foresight
    ) -> None:
        self._context = context
        self._state = state
        self._implicit_results = implicit_results
        self._foresight = foresight
        self._unknown_parts = UnknownParts(context, state)
        # Caches the digest of each message of a conversation.
        self._splitter = Splitter()
        # Caches what the ignore list leaves of each message.
        self._reductions = ReductionCache()

    def of_step(self, node: Node) -> Call:
        """Build the call of a step other than a model step."""
        edits = self._context.profile.edits_of(node)
        if self._keeps_input(node, edits):
            return self._call(node, self._context.unread(node.input_ref), edits)
        recorded_input = self._context.payload(node.input_ref)
        input = None
        if recorded_input is not None or node.type is not StepType.OUTPUT:
            incoming = self.incoming(node)
            input = self._state.tasks.input_of(
                node, rebuild_value(recorded_input, incoming, self._unknown_parts.misses)
            )
            self._unknown_parts.check(node, incoming)
        if fields := edits.retrieval if node.type is StepType.RETRIEVAL else edits.prompt:
            # Only then: an unchanged input stays the recorded object, which needs no comparison.
            input = _with_fields(as_object(input), fields)
            self._unknown_parts.drop(_places_of(fields))
        if edits.arguments is not None:
            input = edits.arguments.value
        return self._call(node, input, edits, self._differing_fields(node, input, recorded_input))

    def _keeps_input(self, node: Node, edits: Edits) -> bool:
        """True if a plan knows that a step other than a model step makes the recorded call, without reading it."""
        context = self._context
        if not context.environment.planning or not node.input_ref or self._state.tasks.has(node):
            return False
        if node.lacks("input"):
            # The replay cannot read it either, so the plan is refused.
            return False
        if edits.arguments is not None or edits.retrieval or edits.prompt:
            return False
        return not context.ignoring.rules_for(node.type, node.callee) and is_unaltered(self.incoming(node))

    def of_model(self, node: Node, input: JSONObject, recorded_input: JSONObject, edits: Edits) -> Call:
        """Build the call of a source model step."""
        override = edits.model.get("provider")
        provider = node.provider if override is None else str(override)
        model = str(edits.model.get("model", node.model))
        differs = self._differing_fields(node, input, recorded_input, provider=provider, model=model)
        return self._call(
            node,
            input,
            edits,
            differs,
            provider=provider,
            model=model,
            override_provider=None if override is None else provider,
        )

    def without_request(self, node: Node, edits: Edits, *, repeats: bool) -> Call:
        """Build a model step's call without its request, which `repeats` the recorded one or matches no cache entry."""
        override = edits.model.get("provider")
        provider = node.provider if override is None else str(override)
        model = str(edits.model.get("model", node.model))
        explains = not self._context.brief
        call = Call(
            no=self._state.number(node),
            parent=self._state.parent_of(node.parent),
            type=node.type,
            name=node.named_for(model),
            input={},
            node=node,
            complete=bool(node.input_ref),
            changed=not repeats,
            is_moved=node.no in self._state.moved_steps,
            because=self._changed_producers(node) if explains else (),
            differs=_edited_fields(node, edits, provider, model) if explains and not repeats else (),
            provider=provider,
            model=model,
            override_provider=None if override is None else provider,
            tool_name=node.tool_name,
            call_id=node.call_id,
            signature=node.signature if repeats else "",
            edits=edits,
        )
        return self._unknown_parts.mark(call)

    def messages(self, node: Node, edits: Edits) -> RebuiltMessages:
        """Messages of a model step under the changes so far; rebuilt at the first use."""
        tasks, incoming = self._state.tasks, self._changes_of(node)
        sources = self._state.histories.sources(self._context.graph.links.get(node.no, ()))

        def rebuild(misses: Misses | None) -> MessageVariants:
            self._foresight.record_dependence(node, incoming)
            messages = self._recorded_messages(node)
            prefix = prefix_of(sources, messages, own_edits=bool(edits.messages))
            plain_slots = rebuild_slots(messages, prefix, incoming, misses)
            if tasks.changes_input_of(node):
                plain_slots = [tasks.messages_of(node, slot) for slot in plain_slots]
            return MessageVariants(plain_slots=plain_slots, edited_slots=edits.apply_to(plain_slots))

        recording = partial(self._recorded_messages, node)
        return RebuiltMessages(recording=recording, rebuild=rebuild, incoming=incoming, sources=sources)

    def rebuild_messages(self, node: Node, messages: RebuiltMessages) -> None:
        """Rebuild the messages of the call under construction, and mark its unknown parts."""
        messages.variants(self._unknown_parts.misses)
        self._unknown_parts.check(node, messages.incoming, self._recorded_messages(node))

    def _recorded_messages(self, node: Node) -> Sequence[JSONValue]:
        return as_list(self._context.recorded_request(node).get("messages"))

    def rebuild_output(
        self, call: Call, recorded_output: JSONValue, incoming: Incoming, node: Node
    ) -> tuple[JSONValue, Call]:
        """Rebuild the output of an output step that has no input."""
        output = rebuild_value(recorded_output, incoming, self._unknown_parts.misses)
        self._unknown_parts.check(node, incoming)
        return output, self._unknown_parts.mark(call)

    def incoming(self, node: Node) -> list[tuple[Link, Change]]:
        """Changes that reach a step, each with its link; the plan depends on them."""
        changes = self._changes_of(node)
        self._foresight.record_dependence(node, changes)
        return changes

    def _changes_of(self, node: Node) -> list[tuple[Link, Change]]:
        changes: list[tuple[Link, Change]] = []
        for link in with_ordinals(self._context.graph, self._implicit_results.links(node.no)):
            task_change = self._state.tasks.incoming(node, link) or self._implicit_results.incoming(node.no, link)
            if (change := task_change or self._state.changes.get(link.producer)) is not None:
                changes.append((link, change))
        return changes

    def is_reached(self, node: Node) -> bool:
        """True if an earlier change reaches a step's input."""
        return any(map(self._brings_change, self._implicit_results.links(node.no)))

    def changed_links(self, node: Node) -> Iterator[Link]:
        """Links to inputs that differ from the recording."""
        return filter(self._brings_change, self._implicit_results.links(node.no))

    def reduced_signature(
        self, type: StepType, name: str, input: JSONValue, provider: str, model: str, tool_name: str
    ) -> str:
        """Signature under the app's ignore list; empty if the list has no rule for such calls."""
        return self._context.ignoring.signature(
            type=type,
            name=name,
            input=input,
            provider=provider,
            model=model,
            tool_name=tool_name,
            digest_of=self._splitter.digest,
            cache=self._reductions,
        )

    def signature(self, type: StepType, name: str, input: JSONValue, provider: str, model: str, tool_name: str) -> str:
        """Signature of a call; digests of messages are cached."""
        return signature(
            type=type,
            name=name,
            input=input,
            provider=provider,
            model=model,
            tool_name=tool_name,
            digest_of=self._splitter.digest,
        )

    def _call(
        self,
        node: Node,
        input: JSONValue | Unread,
        edits: Edits,
        differs: Sequence[str] = (),
        *,
        provider: str | None = None,
        model: str | None = None,
        override_provider: str | None = None,
    ) -> Call:
        """Build a call that differs from the recorded one in these fields; only that one may be unread."""
        provider = node.provider if provider is None else provider
        model = node.model if model is None else model
        call_signature, reduced_signature = node.signature, ""
        if not isinstance(input, Unread):
            reduced_signature = self.reduced_signature(node.type, node.name, input, provider, model, node.tool_name)
        if differs and not isinstance(input, Unread):
            call_signature = self.signature(node.type, node.name, input, provider, model, node.tool_name)
        call = Call(
            no=self._state.number(node),
            parent=self._state.parent_of(node.parent),
            type=node.type,
            name=node.named_for(model),
            input=input,
            node=node,
            complete=bool(node.input_ref),
            changed=bool(differs) and (not call_signature or call_signature != node.signature),
            is_moved=node.no in self._state.moved_steps,
            differs=tuple(differs),
            because=self._changed_producers(node),
            provider=provider,
            model=model,
            override_provider=override_provider,
            tool_name=node.tool_name,
            call_id=node.call_id,
            signature=call_signature,
            edits=edits,
            reduced_signature=reduced_signature,
        )
        return self._unknown_parts.mark(call)

    def _differing_fields(
        self,
        node: Node,
        input: JSONValue,
        recorded_input: JSONValue,
        *,
        provider: str | None = None,
        model: str | None = None,
    ) -> Sequence[str]:
        """Fields in which a call differs from the recorded one."""
        before = call_of(
            type=node.type,
            name=node.name,
            input=self._comparable_input(node, recorded_input),
            provider=node.provider,
            model=node.model,
            tool_name=node.tool_name,
        )
        after = call_of(
            type=node.type,
            name=node.name,
            input=self._comparable_input(node, input),
            provider=node.provider if provider is None else provider,
            model=node.model if model is None else model,
            tool_name=node.tool_name,
        )
        if before is None or after is None:
            return [] if digest(recorded_input) == digest(input) else ["input"]
        return differing_fields(before, after, self._splitter.digest)

    def _comparable_input(self, node: Node, input: JSONValue) -> JSONValue:
        """Input without the fields that the app's ignore list excludes."""
        return self._context.ignoring.reduce(node.type, node.callee, input, self._reductions)

    def _changed_producers(self, node: Node) -> tuple[int, ...]:
        return tuple(sorted({link.producer for link in self.changed_links(node)}))

    def _brings_change(self, link: Link) -> bool:
        histories = self._state.histories
        if link.repeats_request:
            # The consumer repeats the producer's input, not its answer.
            return histories.has(link.producer)
        # Whether a history differs may have to be found out first.
        return link.producer in self._state.changes or (link.kind is EdgeKind.HISTORY and histories.has(link.producer))


def _with_fields(input: JSONObject, fields: JSONObject) -> JSONObject:
    """Set fields of an input; of a prompt's variables, those that are not set keep their recorded values."""
    new_fields = {name: value for name, value in fields.items() if name != "documents"}
    if isinstance(variables := new_fields.get("variables"), dict):
        new_fields["variables"] = {**as_object(input.get("variables")), **variables}
    return {**input, **new_fields}


def _places_of(fields: JSONObject) -> tuple[str, ...]:
    """Places that fields set in an input."""
    variables = (f"/variables/{escape_pointer(name)}" for name in as_object(fields.get("variables")))
    return (*(f"/{escape_pointer(name)}" for name in fields if name != "variables"), *variables)


def _edited_fields(node: Node, edits: Edits, provider: str, model: str) -> tuple[str, ...]:
    """Fields in which a request differs, judged by its edits alone."""
    fields = (("provider", provider, node.provider), ("model", model, node.model))
    changed_fields = [name for name, value, recorded_value in fields if value != recorded_value]
    return tuple(dict.fromkeys(("messages", *changed_fields, *edited_names(edits.model))))
