"""How a step that holds others ends: what it says, and the label that this deserves. Pure.

What it says is what its inside says now, as far as the recording shows how the one became the other; the label is the
weakest of the steps that the words come from. Where nothing shows that, the recorded output is kept on an assumption.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from replay.core.calls import SEVERITY, Answer
from replay.core.context import ReplayContext
from replay.core.graph import CHECKS, CONTAINERS, Node
from replay.core.payloads import answer_of, text_of
from replay.core.wording import GIVEN_OTHERWISE, WITHOUT_OUTPUT, ending_unknown
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import replaced_in
from replay.inputs.texts import has_words, leaves_in, texts_in
from replay.loops.subagents import RAN
from replay.state.open_containers import Inside
from replay.state.replay_state import ReplayState
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason, StepType

_BLANK: Final = "\u2400"  # stands for a step's words while it is looked where they went


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The output, with the steps of the source that it comes from; the latest first."""

    output: JSONValue
    label: Label
    reason: Reason
    origins: tuple[int, ...] = ()
    is_assumed: bool = False
    note: str = ""


class Container:
    """A step that holds others, all of which have come; something `inside` is not as recorded."""

    def __init__(self, context: ReplayContext, state: ReplayState, node: Node, inside: Inside) -> None:
        self._context = context
        self._state = state
        self._node = node
        self._inside = inside
        self._recorded = context.payload(node.output_ref)
        self._last = context.graph.last_model(node.no)

    def ending(self) -> Ending:
        """What the step says, and under which label."""
        begun = self._state.containers.begun.get(self._node.no)  # it was given something else than recorded
        if begun is not None and begun.detail.get(RAN):
            return self._of_new_task(begun)
        origins = self._origins()
        kept = [self._last] if self._last is not None and self._last.no not in self._inside.steps else []
        if origins and not any(map(self._is_stuck, origins)):
            output = self._with_changes(origins)
            return self._derived(output, origins) if self._is_explained([*origins, *kept]) else self._unknown(output)
        if not self._node.output_ref:
            label = Label.SIMULATED if self._inside.weakest is Label.EXACT else self._inside.weakest
            return Ending(output=None, label=label, reason=Reason.DERIVED, note=WITHOUT_OUTPUT)
        if begun is not None:
            return _assumed(self._recorded, GIVEN_OTHERWISE)
        if kept and not origins and self._is_explained(kept):
            return Ending(output=self._recorded, label=Label.EXACT, reason=Reason.DERIVED, origins=(kept[0].no,))
        return self._unknown(self._recorded)

    def _of_new_task(self, begun: Answer) -> Ending:
        """A sub-agent that ran for another task: the recorded output counts no more."""
        if origins := self._origins():
            return self._derived(self._with_changes(origins), origins)
        last, changes = self._last, self._state.changes
        if last is not None and last.no in changes:
            text = text_of(answer_of(changes[last.no].current))
            return self._derived({"text": text} if self._node.type in CONTAINERS else text, [last])
        # The same words were said to another task.
        said = Label.EXACT if last is None else self._state.labels.get(last.no, (Label.EXACT, None))[0]
        label = said if said is not Label.EXACT else begun.label or Label.SIMULATED
        origin = () if last is None else (last.no,)
        return Ending(output=self._recorded, label=label, reason=Reason.DERIVED, origins=origin)

    def _derived(self, output: JSONValue, origins: Iterable[Node]) -> Ending:
        labels = [self._state.label_of(node) for node in origins]
        return Ending(
            output=output, label=max((label for label, _ in labels), key=SEVERITY.__getitem__), reason=Reason.DERIVED,
            origins=tuple(node.no for node in origins),
            is_assumed=any(reason is Reason.ASSUMED_UNAFFECTED for _, reason in labels),
        )  # fmt: skip

    def _unknown(self, output: JSONValue) -> Ending:
        return _assumed(output, ending_unknown(sorted(self._inside.steps)))

    def _origins(self) -> list[Node]:
        """The steps inside that are not as recorded and whose words the recorded output holds, the latest first.

        Where it says what one of them says and nothing else, it is that one's alone: earlier ones say the same by
        chance.
        """
        found: list[Node] = []
        for no in sorted(self._inside.steps, reverse=True):
            step = self._context.graph.by_no[no]
            if step.type in CHECKS or (no in self._state.gone and no not in self._state.changes):
                continue  # what checks an answer repeats it
            said = self._said(step)
            if said is None or not self._holds(step, said):
                continue
            if not found and self._is_all_of(step, said):
                return [step]
            found.append(step)
        return found

    def _is_stuck(self, origin: Node) -> bool:
        """Whether what a step says now has no place in an output that holds what it said: the shapes may differ."""
        change = self._state.changes.get(origin.no)
        if change is None or (self._context.environment.planning and self._state.waits_for_live(origin.no)):
            return False
        return replaced_in(self._recorded, [change]) == self._recorded

    def _said(self, step: Node) -> JSONValue:
        """What a step was recorded to say; None where that is nothing, or cannot be read."""
        return None if step.lacks("output") else self._context.payload(step.output_ref)

    def _holds(self, step: Node, said: JSONValue) -> bool:
        return replaced_in(self._recorded, [_blanked(step, said)]) != self._recorded

    def _is_all_of(self, step: Node, said: JSONValue) -> bool:
        words = [text_of(answer_of(said))] if step.type is StepType.MODEL else list(texts_in(said))
        return {text.strip() for text in texts_in(self._recorded)} <= {*words, "assistant"}

    def _with_changes(self, origins: Iterable[Node]) -> JSONValue:
        changes = self._state.changes
        return replaced_in(self._recorded, [changes[node.no] for node in origins if node.no in changes])

    def _is_explained(self, origins: Sequence[Node]) -> bool:
        """Whether an output says only what these steps say, or what stood in its own input or in theirs.

        What a step that changed says is there as a whole, or a field of its answer that is the same as before.
        """
        rest = self._recorded
        known: list[str] = []
        for origin in origins:
            said, change = self._said(origin), self._state.changes.get(origin.no)
            rest = replaced_in(rest, [_blanked(origin, said)])
            known += set(leaves_in(said)) & set(leaves_in(said if change is None else change.current))
        left = _unexplained((text.strip() for text in leaves_in(rest) if _BLANK not in text), known)
        for step in (self._node, *origins):
            if left and not step.lacks("input"):
                left = _unexplained(left, leaves_in(self._context.payload(step.input_ref)))
        return not left and any(leaves_in(self._recorded))


def _unexplained(texts: Iterable[str], known: Iterable[str]) -> list[str]:
    """Those that do not stand as words in what is known."""
    text = "\n".join(known)
    return [one for one in texts if not has_words(text, one)]


def _assumed(output: JSONValue, note: str) -> Ending:
    return Ending(
        output=output, label=Label.SIMULATED, reason=Reason.ASSUMED_UNAFFECTED, is_assumed=True, note=note
    )  # fmt: skip


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
