"""Witness runs: content that is equal in other runs of the app despite different earlier outputs.

Example: in all three other runs the second request begins with the same instructions, whatever the first model had
answered. So they are configuration, and a changed first answer does not reach them.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from replay.core.graph import Content, Node, Witness
from replay.inputs.changes import Change
from replay.inputs.texts import leaves_in
from replay.inputs.value_pointers import resolve_pointer
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelAnswer
from traces.payloads.parts import MissingPart
from traces.provenance.input_origins import UnexplainedContent, scalars
from traces.provenance.short_values import COMMON_WORDS, json_in, words_of

# Different outputs that are read per witness; behind more of them, it shows nothing.
_MAX_EARLIER: Final = 64
# Characters of a word that code cut off; any two begin many words.
_SHORTEST_PART: Final = 3

# Type and name of a step, and its index among the steps with both.
Place = tuple[str, str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class WitnessStep:
    """A step as far as a witness needs it; `digests` are those of its unexplained content."""

    no: int
    type: str
    name: str
    output_ref: str = ""
    digests: tuple[str, ...] = ()


def places(steps: Iterable[WitnessStep]) -> dict[Place, int]:
    """The step at each place."""
    counts: dict[tuple[str, str], int] = {}
    numbers: dict[Place, int] = {}
    for step in steps:
        nth = counts[step.type, step.name] = counts.get((step.type, step.name), 0) + 1
        numbers[step.type, step.name, nth] = step.no
    return numbers


def witness(steps: Sequence[WitnessStep], numbers: Mapping[Place, int]) -> Witness:
    """A recording as a witness for another one, whose steps have these numbers by place."""
    by_no = {step.no: step for step in steps}
    contents: dict[Content, int] = {}
    outputs_by_kind: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for step in steps:
        for digest in filter(None, step.digests):
            contents.setdefault((step.type, step.name, digest), step.no)
        if step.output_ref:
            outputs_by_kind.setdefault((step.type, step.name), []).append((step.no, step.output_ref))
    return Witness(
        outputs={numbers[place]: by_no[no].output_ref for place, no in places(steps).items() if place in numbers},
        contents=contents,
        outputs_by_kind=outputs_by_kind,
    )


def is_configuration(
    node: Node,
    item: UnexplainedContent,
    change: Change,
    witnesses: tuple[Witness, ...],
    payload: Callable[[str], JSONValue],
) -> bool:
    """True if content is equal in all witnesses whose changed output differs, and no output before it explains it.

    One witness that lacks the content shows that it is chosen by something. One in which a step before the content
    returned what was changed here shows nothing: code may have made the same content from it. Nor does one in which
    such an output has words of the content in common with the changed one. A text with a number, which code may have
    computed, can be equal by chance: it takes two witnesses.
    """
    text, support = "", 0
    for witness in witnesses:
        if not _differs(witness.outputs.get(change.node.no, ""), change, payload):
            continue
        first_step = witness.contents.get((node.type, node.name, item.digest))
        if first_step is None:
            return False
        text = text or _text_at(node, item, payload)
        support += not _may_be_returned(text, witness, first_step, change, payload)
    return support >= (2 if _has_digit(text) else 1)


def _differs(ref: str, change: Change, payload: Callable[[str], JSONValue]) -> bool:
    """True if an output differs from the recorded one in every changed part."""
    if not ref or ref == change.node.output_ref:
        return False
    try:
        other_leaves = _leaves(change.node.type, payload(ref))
    except MissingPart:
        return False
    changed_leaves = _changed_leaves(change)
    return bool(changed_leaves) and all(
        path in other_leaves and other_leaves[path] != leaf for path, leaf in changed_leaves.items()
    )


def _may_be_returned(
    text: str, witness: Witness, end: int, change: Change, payload: Callable[[str], JSONValue]
) -> bool:
    """True if a step of the same kind before `end` may have returned a changed part as it was recorded, or words of the
    text that the changed output had."""
    outputs_by_kind = witness.outputs_by_kind.get((change.node.type, change.node.name), ())
    refs = {ref for no, ref in outputs_by_kind if no < end}
    if change.node.output_ref in refs or len(refs) > _MAX_EARLIER:
        return True
    changed_leaves = _changed_leaves(change).items()
    try:
        outputs = [payload(ref) for ref in sorted({*refs, witness.outputs[change.node.no]})]
    except MissingPart:
        return True
    return _shares_words(text, change, outputs) or any(
        changed_leaves & _leaves(change.node.type, output).items() for output in outputs
    )


def _text_at(node: Node, item: UnexplainedContent, payload: Callable[[str], JSONValue]) -> str:
    """Text or number of an input with the content; empty for other values and for what is not in the input."""
    try:
        value = resolve_pointer(payload(node.input_ref), item.path)
    except LookupError:
        return ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number or isinstance(value, str) else ""


def _shares_words(text: str, change: Change, other_outputs: Iterable[JSONValue]) -> bool:
    """True if a text has words of the recorded output and of others, but not of the new one.

    Code may have cut the output off within a word, or computed a number from another one.
    """
    recorded_words, other_words = _words_in(change.original), {*chain.from_iterable(map(_words_in, other_outputs))}
    new_words = _words_in(change.current) if change.is_known else set[str]()
    words = {*words_of(text)}
    # A text may consist of common words alone.
    words = words - COMMON_WORDS or words
    shared_words = (recorded_words & other_words) - new_words
    may_compute = any(map(_has_digit, words)) and any(map(_has_digit, shared_words))
    if may_compute or not words.isdisjoint(shared_words):
        return True
    parts = [word for word in words if len(word) >= _SHORTEST_PART]
    return _any_begins(parts, shared_words) or _any_begins(map(_reverse, parts), map(_reverse, shared_words))


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _any_begins(words: Iterable[str], long_words: Iterable[str]) -> bool:
    """True if one of the words is the beginning of one of the others."""
    order = sorted(long_words)
    indexes = ((word, bisect_left(order, word)) for word in words)
    return any(index < len(order) and order[index].startswith(word) for word, index in indexes)


def _reverse(word: str) -> str:
    return word[::-1]


def _words_in(output: JSONValue) -> set[str]:
    return {word for text in leaves_in(output) for word in words_of(text)}


def _changed_leaves(change: Change) -> dict[str, str]:
    """Changed parts of an output as they were recorded."""
    before = _leaves(change.node.type, change.original)
    after = _leaves(change.node.type, change.current) if change.is_known else {}
    return {path: leaf for path, leaf in before.items() if leaf != after.get(path)}


def _leaves(type: StepType, output: JSONValue) -> dict[str, str]:
    """Scalars of an output, also inside JSON texts, without case and punctuation."""
    value = output
    if type is StepType.MODEL:
        message = ModelAnswer(output).message
        value = {"content": message.get("content"), "tool_calls": message.get("tool_calls")}
    return dict(_scalars(value))


def _scalars(value: JSONValue) -> Iterator[tuple[str, str]]:
    for path, _, leaf in scalars(value, "", ""):
        document = json_in(leaf) if isinstance(leaf, str) else None
        if document is None:
            yield path, " ".join(words_of(str(leaf))) or str(leaf)
        else:
            yield from ((f"{path}#{inner}", text) for inner, text in _scalars(document[0]))
