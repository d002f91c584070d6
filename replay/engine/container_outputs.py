"""Container outputs: derive output and label of a container whose children differ from the recording. Pure.

The output is the recorded one with the children's new outputs in place of the recorded ones that it repeats. Its label
is the weakest of those children. If the recording does not show where the output comes from, it is kept and labelled
`simulated: assumed_unaffected`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from replay.core.calls import SEVERITY, Answer
from replay.core.context import ReplayContext
from replay.core.graph import CHECKS, CONTAINERS, Node
from replay.core.wording import CHANGED_INPUT, WITHOUT_OUTPUT, ending_unknown
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import replace_outputs
from replay.inputs.texts import has_words, leaves_in, texts_in
from replay.loops.subagents import RERUN
from replay.resolution import lost_recordings
from replay.state.open_containers import ChangedChildren
from replay.state.replay_state import ReplayState
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason, StepType
from traces.payloads.messages import ModelAnswer

# Replaces a child's output to find where the container repeats it
_BLANK: Final = "\u2400"


@dataclass(frozen=True, kw_only=True)
class ContainerOutput:
    """A container's output and label; `origins`: the source steps it comes from, latest first."""

    output: JSONValue
    label: Label
    reason: Reason
    origins: tuple[int, ...] = ()
    is_assumed: bool = False
    note: str = ""


class OutputDerivation:
    """Derives the output of a container that closes; `children`: those that differ from the recording."""

    def __init__(self, context: ReplayContext, state: ReplayState, node: Node, children: ChangedChildren) -> None:
        self._context = context
        self._state = state
        self._node = node
        self._children = children
        self._original = context.payload(node.output_ref)
        self._last = context.graph.last_model(node.no)

    def result(self) -> ContainerOutput:
        """Derive output and label; a container with an unreadable recording is never exact."""
        result = self._derive()
        losses = self._node.losses
        if not losses or result.label is not Label.EXACT:
            return result
        note = lost_recordings.note(losses)
        return replace(result, label=Label.SIMULATED, reason=lost_recordings.reason(losses), note=note)

    def _derive(self) -> ContainerOutput:
        # Its input changed
        rerun = self._state.containers.reruns.get(self._node.no)
        if rerun is not None and rerun.detail.get(RERUN):
            return self._of_new_task(rerun)
        origins = self._origins()
        unchanged = [self._last] if self._last is not None and self._last.no not in self._children.steps else []
        if origins and not any(map(self._is_stuck, origins)):
            output = self._with_changes(origins)
            return (
                self._derived(output, origins, unchanged)
                if self._is_explained([*origins, *unchanged])
                else self._unknown(output)
            )
        if not self._node.output_ref:
            label = Label.SIMULATED if self._children.weakest is Label.EXACT else self._children.weakest
            return ContainerOutput(output=None, label=label, reason=Reason.DERIVED, note=WITHOUT_OUTPUT)
        if rerun is not None:
            return _assumed_output(self._original, CHANGED_INPUT)
        if unchanged and not origins and self._is_explained(unchanged):
            return ContainerOutput(
                output=self._original,
                label=unchanged[0].reuse_label,
                reason=Reason.DERIVED,
                origins=(unchanged[0].no,),
            )
        return self._unknown(self._original)

    def _of_new_task(self, rerun: Answer) -> ContainerOutput:
        """Derive the output of a sub-agent that ran for another task; its recorded output no longer applies."""
        if origins := self._origins():
            return self._derived(self._with_changes(origins), origins)
        last, changes = self._last, self._state.changes
        if last is not None and last.no in changes:
            text = ModelAnswer(changes[last.no].current).text
            return self._derived({"text": text} if self._node.type in CONTAINERS else text, [last])
        # The last model gave the recorded answer to another task.
        label_of_last = Label.EXACT if last is None else self._state.labels.get(last.no, (last.reuse_label, None))[0]
        label = label_of_last if label_of_last is not Label.EXACT else rerun.label or Label.SIMULATED
        origin = () if last is None else (last.no,)
        return ContainerOutput(output=self._original, label=label, reason=Reason.DERIVED, origins=origin)

    def _derived(self, output: JSONValue, origins: Iterable[Node], unchanged: Iterable[Node] = ()) -> ContainerOutput:
        labels = [self._state.label_of(node) for node in origins]
        return ContainerOutput(
            output=output,
            label=max(
                (*(label for label, _ in labels), *(node.reuse_label for node in unchanged)), key=SEVERITY.__getitem__
            ),
            reason=Reason.DERIVED,
            origins=tuple(node.no for node in origins),
            is_assumed=any(reason is Reason.ASSUMED_UNAFFECTED for _, reason in labels),
        )

    def _unknown(self, output: JSONValue) -> ContainerOutput:
        return _assumed_output(output, ending_unknown(sorted(self._children.steps)))

    def _origins(self) -> list[Node]:
        """Changed children whose recorded output the container repeats, latest first.

        If the container repeats one child and nothing else, that child is the only origin: earlier children with the
        same output are coincidence.
        """
        origins: list[Node] = []
        for no in sorted(self._children.steps, reverse=True):
            step = self._context.graph.by_no[no]
            if step.type in CHECKS or (no in self._state.skipped_steps and no not in self._state.changes):
                # A check repeats the answer it checks
                continue
            output = self._recorded_output(step)
            if output is None or not self._holds(step, output):
                continue
            if not origins and self._is_all_of(step, output):
                return [step]
            origins.append(step)
        return origins

    def _is_stuck(self, origin: Node) -> bool:
        """True if a child's new output cannot replace its recorded one, e.g. because their shapes differ."""
        change = self._state.changes.get(origin.no)
        if change is None or (self._context.environment.planning and self._state.depends_on_live(origin.no)):
            return False
        return replace_outputs(self._original, [change]) == self._original

    def _recorded_output(self, step: Node) -> JSONValue:
        """Recorded output of a child; None if it is missing or unreadable."""
        return None if step.lacks("output") else self._context.payload(step.output_ref)

    def _holds(self, step: Node, output: JSONValue) -> bool:
        return replace_outputs(self._original, [_blanked_change(step, output)]) != self._original

    def _is_all_of(self, step: Node, output: JSONValue) -> bool:
        words = [ModelAnswer(output).text] if step.type is StepType.MODEL else list(texts_in(output))
        return {text.strip() for text in texts_in(self._original)} <= {*words, "assistant"}

    def _with_changes(self, origins: Iterable[Node]) -> JSONValue:
        changes = self._state.changes
        return replace_outputs(self._original, [changes[node.no] for node in origins if node.no in changes])

    def _is_explained(self, origins: Sequence[Node]) -> bool:
        """True if every value of the output comes from `origins`, the container's input or their inputs.

        Of a changed origin, fields count only if they are equal before and after.
        """
        rest = self._original
        explained_texts: list[str] = []
        for origin in origins:
            output, change = self._recorded_output(origin), self._state.changes.get(origin.no)
            rest = replace_outputs(rest, [_blanked_change(origin, output)])
            explained_texts += set(leaves_in(output)) & set(leaves_in(output if change is None else change.current))
        remainder = _unexplained_texts(
            (text.strip() for text in leaves_in(rest) if _BLANK not in text), explained_texts
        )
        for step in (self._node, *origins):
            if remainder and not step.lacks("input"):
                remainder = _unexplained_texts(remainder, leaves_in(self._context.payload(step.input_ref)))
        return not remainder and any(leaves_in(self._original))


def _unexplained_texts(candidates: Iterable[str], known_texts: Iterable[str]) -> list[str]:
    """Texts that do not occur as whole words in the known ones."""
    known_text = "\n".join(known_texts)
    return [candidate for candidate in candidates if not has_words(known_text, candidate)]


def _assumed_output(output: JSONValue, note: str) -> ContainerOutput:
    return ContainerOutput(
        output=output, label=Label.SIMULATED, reason=Reason.ASSUMED_UNAFFECTED, is_assumed=True, note=note
    )


def _blanked_change(step: Node, output: JSONValue) -> Change:
    """A change of a child's output to a marker."""
    blank: JSONValue = _BLANK
    if step.type is StepType.MODEL:
        blank = {"message": {"role": "assistant", "content": _BLANK}}
    elif step.type is StepType.RETRIEVAL:
        blank = {"documents": [{"id": "", "content": _BLANK}]}
    elif isinstance(output, dict):
        blank = dict.fromkeys(output, _BLANK)
    return Change(node=step, original=output, current=blank)
