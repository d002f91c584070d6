"""How a step that holds others ends: what it says, and the label that this deserves. Pure.

What it says is what its inside says now, as far as the recording shows how the one became the other; the label is the
weakest of the steps that the words come from. Where nothing shows that, the recorded output is kept on an assumption.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from replay.computing import SEVERITY
from replay.graph import CHECKS, CONTAINERS, Node
from replay.rebuild import Change, answer_of, replaced_in, text_of
from replay.subagents import RAN
from replay.texts import has_words, leaves_in, texts_in
from replay.wording import GIVEN_OTHERWISE, WITHOUT_OUTPUT, ending_unknown
from replay.world import Answer
from traces.json_types import JSONValue
from traces.vocabulary import Label, Reason, StepType

if TYPE_CHECKING:
    from replay.walk import Walk

_BLANK: Final = "\u2400"  # stands for a step's words while it is looked where they went


@dataclass
class Inside:
    """What is not as recorded in a step that holds others: `steps` of the source, and the weakest label of all."""

    steps: set[int] = field(default_factory=set)
    weakest: Label = Label.EXACT

    def weaken(self, label: Label | None) -> None:
        """Another step stands inside."""
        if label is not None and SEVERITY[label] > SEVERITY[self.weakest]:
            self.weakest = label


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The output, with the steps of the source that it comes from; the latest first."""

    output: JSONValue
    label: Label
    reason: Reason
    origins: tuple[int, ...] = ()
    is_assumed: bool = False
    note: str = ""


def ending(walk: "Walk", node: Node, recorded: JSONValue, inside: Inside, begun: Answer | None) -> Ending:
    """How `node` ends; `begun` stood for it so far, where it was given something else than recorded."""
    if begun is not None and begun.detail.get(RAN):
        return _of_new_task(walk, node, recorded, inside, begun)
    origins = _origins(walk, node, recorded, inside)
    last = walk.graph.last_model(node.no)
    kept = [last] if last is not None and last.no not in inside.steps else []
    if origins and not any(_is_stuck(walk, recorded, origin) for origin in origins):
        output = _with_changes(walk, recorded, origins)
        if _is_explained(walk, node, recorded, [*origins, *kept]):
            return _derived(walk, output, origins)
        return _assumed(output, ending_unknown(sorted(inside.steps)))
    if not node.output_ref:
        label = Label.SIMULATED if inside.weakest is Label.EXACT else inside.weakest
        return Ending(output=None, label=label, reason=Reason.DERIVED, note=WITHOUT_OUTPUT)
    if begun is not None:
        return _assumed(recorded, GIVEN_OTHERWISE)
    if kept and not origins and _is_explained(walk, node, recorded, kept):
        return Ending(output=recorded, label=Label.EXACT, reason=Reason.DERIVED, origins=(kept[0].no,))
    return _assumed(recorded, ending_unknown(sorted(inside.steps)))


def _of_new_task(walk: "Walk", node: Node, recorded: JSONValue, inside: Inside, begun: Answer) -> Ending:
    """A sub-agent that ran for another task: the recorded output counts no more."""
    if origins := _origins(walk, node, recorded, inside):
        return _derived(walk, _with_changes(walk, recorded, origins), origins)
    last = walk.graph.last_model(node.no)
    if last is not None and last.no in walk.changes:
        text = text_of(answer_of(walk.changes[last.no].current))
        return _derived(walk, {"text": text} if node.type in CONTAINERS else text, [last])
    # The same words were said to another task.
    said = Label.EXACT if last is None else walk.labels.get(last.no, (Label.EXACT, None))[0]
    label = said if said is not Label.EXACT else begun.label or Label.SIMULATED
    return Ending(output=recorded, label=label, reason=Reason.DERIVED, origins=() if last is None else (last.no,))


def _derived(walk: "Walk", output: JSONValue, origins: Iterable[Node]) -> Ending:
    labels = [walk.label_of(node) for node in origins]
    return Ending(
        output=output, label=max((label for label, _ in labels), key=SEVERITY.__getitem__), reason=Reason.DERIVED,
        origins=tuple(node.no for node in origins),
        is_assumed=any(reason is Reason.ASSUMED_UNAFFECTED for _, reason in labels),
    )  # fmt: skip


def _assumed(recorded: JSONValue, note: str) -> Ending:
    return Ending(
        output=recorded, label=Label.SIMULATED, reason=Reason.ASSUMED_UNAFFECTED, is_assumed=True, note=note
    )  # fmt: skip


def _origins(walk: "Walk", node: Node, recorded: JSONValue, inside: Inside) -> list[Node]:
    """The steps inside that are not as recorded and whose words the recorded output holds, the latest first.

    Where it says what one of them says and nothing else, it is that one's alone: earlier ones say the same by chance.
    """
    found: list[Node] = []
    for no in sorted(inside.steps, reverse=True):
        step = walk.graph.by_no[no]
        if step.type in CHECKS or (no in walk.gone and no not in walk.changes):
            continue  # what checks an answer repeats it
        said = _said(walk, step)
        if said is None or not _holds(recorded, step, said):
            continue
        if not found and _is_all_of(recorded, step, said):
            return [step]
        found.append(step)
    return found


def _is_stuck(walk: "Walk", recorded: JSONValue, origin: Node) -> bool:
    """Whether what a step says now has no place in an output that holds what it said, as where the shapes differ."""
    change = walk.changes.get(origin.no)
    if change is None or (walk.world.planning and walk.waits_for_live(origin.no)):
        return False
    return replaced_in(recorded, [change]) == recorded


def _said(walk: "Walk", step: Node) -> JSONValue:
    """What a step was recorded to say; None where that is nothing, or cannot be read."""
    if not step.output_ref or step.lacks("output"):
        return None
    return walk.world.payload(step.output_ref)


def _holds(recorded: JSONValue, step: Node, said: JSONValue) -> bool:
    return replaced_in(recorded, [_blanked(step, said)]) != recorded


def _blanked(step: Node, said: JSONValue) -> Change:
    """As if a step said nothing but a mark."""
    blank: JSONValue = _BLANK
    if step.type is StepType.MODEL:
        blank = {"message": {"role": "assistant", "content": _BLANK}}
    elif step.type is StepType.RETRIEVAL:
        blank = {"documents": [{"id": "", "content": _BLANK}]}
    elif isinstance(said, dict):
        blank = dict.fromkeys(said, _BLANK)
    return Change(node=step, recorded=said, current=blank)


def _is_all_of(recorded: JSONValue, step: Node, said: JSONValue) -> bool:
    words = [text_of(answer_of(said))] if step.type is StepType.MODEL else list(texts_in(said))
    return {text.strip() for text in texts_in(recorded)} <= {*words, "assistant"}


def _with_changes(walk: "Walk", recorded: JSONValue, origins: Iterable[Node]) -> JSONValue:
    return replaced_in(recorded, [walk.changes[node.no] for node in origins if node.no in walk.changes])


def _is_explained(walk: "Walk", node: Node, recorded: JSONValue, origins: Sequence[Node]) -> bool:
    """Whether an output says only what these steps say, or what stood in its own input or in theirs.

    What a step that changed says is there as a whole, or a field of its answer that is the same as before.
    """
    rest = recorded
    known: list[str] = []
    for origin in origins:
        said, change = _said(walk, origin), walk.changes.get(origin.no)
        rest = replaced_in(rest, [_blanked(origin, said)])
        known += set(leaves_in(said)) & set(leaves_in(said if change is None else change.current))
    for ref in {step.input_ref for step in (node, *origins) if step.input_ref and not step.lacks("input")}:
        known += leaves_in(walk.world.payload(ref))
    leaves = [text.strip() for text in leaves_in(rest) if _BLANK not in text]
    text = "\n".join(known)
    return any(leaves_in(recorded)) and all(has_words(text, leaf) for leaf in leaves)
