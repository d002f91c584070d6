"""Edited model requests to which no recording can contain an answer. Pure.

The signature of an edited request is computed from its stored form, which references its messages: a plan of a long run
signs thousands of requests, and reads no messages for edits of models and parameters.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from replay.core.graph import Node
from replay.inputs.rebuilt_inputs import flat
from replay.overrides.edits import Edits
from replay.overrides.request_edits import apply_model_settings
from replay.planning.shared_outlooks import EditedStep
from traces.core.canonical import canonical_bytes
from traces.core.json_access import as_list, as_object, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.parts import LITERAL, PART, MissingPart
from traces.payloads.splitter import Splitter
from traces.signatures.call_signatures import ModelSigner, SignedFields
from traces.signatures.ignore_rules import NO_RULES, IgnoreRules

Roots = Callable[[Collection[str]], Mapping[str, JSONValue]]
_MessageEdits = tuple[object, tuple[str, ...]]


@dataclass(kw_only=True)
class StoredRequests:
    """Signs the recorded requests of a source with a profile's edits applied."""

    payload: Callable[[str], JSONValue]
    # Reads recorded inputs with references in place of their parts.
    roots: Roots
    is_any_recorded: Callable[[Iterable[str]], bool]
    ignoring: IgnoreRules = NO_RULES
    _roots: dict[str, JSONValue] = field(default_factory=dict)
    # Numbers of recorded requests without messages, and of that of each step.
    _groups: dict[tuple[bytes, str, str], int] = field(default_factory=dict)
    _group_by_step: dict[int, int] = field(default_factory=dict)
    _signers: dict[tuple[str, _MessageEdits], ModelSigner] = field(default_factory=dict)
    # Edited first messages in stored form; None if the system prompt was inserted before them.
    _first_messages: dict[tuple[str, object], JSONObject | None] = field(default_factory=dict)
    _splitter: Splitter = field(default_factory=Splitter)

    def are_new(self, edited_steps: Sequence[EditedStep]) -> bool:
        """True if no stored step has any of these requests; False if unknown."""
        if any(self.ignoring.rules_for(StepType.MODEL, callee) for callee in {node.callee for node, _ in edited_steps}):
            # The ignore list gives other requests the same signature.
            return False
        try:
            return not self.is_any_recorded(list(self._signatures(edited_steps)))
        except (_UnsplitRequest, MissingPart):
            return False

    def unchanged(self, edited_steps: Sequence[EditedStep]) -> frozenset[int]:
        """Numbers of the steps whose edits equal the recording."""
        try:
            rests = self._rests_of(edited_steps)
        except (_UnsplitRequest, MissingPart):
            return frozenset()
        return frozenset(
            node.no
            for (node, edits), rest in zip(edited_steps, rests, strict=True)
            if rest.is_recorded and not _edits_messages(edits)
        )

    def _signatures(self, edited_steps: Sequence[EditedStep]) -> Iterator[str]:
        message_edits = {id(edits): _message_edits(edits) for _, edits in edited_steps}
        for (node, edits), rest in zip(edited_steps, self._rests_of(edited_steps), strict=True):
            key = node.input_ref, message_edits[id(edits)]
            if key not in self._signers:
                self._signers[key] = ModelSigner.for_messages(self._messages(node, edits))
            yield self._signers[key].signature(rest.signed_form)

    def _rests_of(self, edited_steps: Sequence[EditedStep]) -> list["_Rest"]:
        """Request of each step without its messages; computed once per group of equal steps."""
        self._group([node for node, _ in edited_steps if node.no not in self._group_by_step])
        rest_by_group: dict[tuple[int, int], _Rest] = {}
        rests: list[_Rest] = []
        for node, edits in edited_steps:
            key = self._group_by_step[node.no], id(edits)
            if (rest := rest_by_group.get(key)) is None:
                rest = rest_by_group[key] = self._edited_rest(node, edits)
            rests.append(rest)
        return rests

    def _group(self, nodes: Sequence[Node]) -> None:
        """Group steps by their recorded requests without messages."""
        if refs := {node.input_ref for node in nodes}:
            roots = self.roots(refs)
            self._roots.update({ref: roots[ref] for ref in refs if ref in roots})
        for node in nodes:
            key = _without_messages(self._root(node)), node.provider, node.model
            self._group_by_step[node.no] = self._groups.setdefault(key, len(self._groups))

    def _edited_rest(self, node: Node, edits: Edits) -> "_Rest":
        provider, model = str(edits.model.get("provider", node.provider)), str(edits.model.get("model", node.model))
        input = apply_model_settings(self._root(node), Splitter().cut(edits.model))
        same = (provider, model) == (node.provider, node.model)
        return _Rest(
            signed_form=ModelSigner.rest(input, provider=provider, model=model),
            is_recorded=same and _without_messages(input) == _without_messages(self._root(node)),
        )

    def _root(self, node: Node) -> JSONObject:
        root = self._roots.get(node.input_ref)
        return as_object(root)

    def _messages(self, node: Node, edits: Edits) -> JSONValue:
        messages = self._root(node)["messages"]
        if not _edits_messages(edits):
            return messages
        if (edited_messages := self._with_first_replaced(as_list(messages), edits)) is not None:
            return edited_messages
        request = self.payload(node.input_ref)
        slots = edits.apply_to([[message] for message in as_list(member(request, "messages"))])
        return self._splitter.cut({"messages": flat(slots)})["messages"]

    def _with_first_replaced(self, messages: Sequence[JSONValue], edits: Edits) -> JSONValue | None:
        """Messages whose first one is the edited system prompt, without reading the others; None if it is not."""
        if edits.messages or not edits.prompt.get("system") or not messages:
            return None
        key = str(member(messages[0], PART)), edits.prompt["system"]
        if key not in self._first_messages:
            self._first_messages[key] = self._edited_first_message(key[0], edits)
        first_message = self._first_messages[key]
        return None if first_message is None else [first_message, *messages[1:]]

    def _edited_first_message(self, ref: str, edits: Edits) -> JSONObject | None:
        [edited_messages] = edits.apply_to([[self.payload(ref)]])
        if len(edited_messages) != 1:
            # The system prompt was inserted: the recorded one may come later.
            return None
        [first_message] = as_list(self._splitter.cut({"messages": edited_messages})["messages"])
        return as_object(first_message)


@dataclass(frozen=True, kw_only=True)
class _Rest:
    """A request without its messages: signed form, and whether it equals the recording."""

    signed_form: SignedFields
    is_recorded: bool


class _UnsplitRequest(Exception):
    """Raised for a request that is not stored in parts."""


def _message_edits(edits: Edits) -> _MessageEdits:
    """Edits of messages in comparable form."""
    return edits.prompt.get("system"), tuple(map(repr, edits.messages))


def _edits_messages(edits: Edits) -> bool:
    return bool(edits.messages) or "system" in edits.prompt


def _without_messages(root: JSONValue) -> bytes:
    if not isinstance(root, dict) or root.get("messages") is None:
        raise _UnsplitRequest
    rest = canonical_bytes({name: item for name, item in root.items() if name != "messages"})
    if LITERAL.encode() in rest:
        raise _UnsplitRequest
    return rest
