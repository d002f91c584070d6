"""How alike two steps are before any payload is opened: from their rows, their one-line summaries, their children."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from rapidfuzz.distance import Indel

from diffing.sides import SideStep
from diffing.text import words

Content = Mapping[Hashable, int]
_NOTHING: Content = {}


class Subtrees:
    """The tree over a sequence of steps, and what each container holds."""

    def __init__(self, steps: Sequence[SideStep]) -> None:
        self._steps = steps
        places = {step.sequence_no: index for index, step in enumerate(steps)}
        self._parents = [_parent(step, index, places) for index, step in enumerate(steps)]
        self._children: dict[int | None, list[int]] = {}
        for index, parent in enumerate(self._parents):
            self._children.setdefault(parent, []).append(index)
        self._contents: dict[int, Content] = {}

    def children(self, parent: int | None) -> list[int]:
        return self._children.get(parent, [])

    def content(self, index: int) -> Content:
        """The tool calls right under a container; counted when first asked for."""
        if index not in self._children:
            return _NOTHING
        if index not in self._contents:
            self._contents[index] = _content(self._steps[child] for child in self._children[index])
        return self._contents[index]


def likeness(left: SideStep, right: SideStep, left_content: Content, right_content: Content) -> float:
    """From 0 to 1; 0 for steps of different kinds, which never correspond."""
    if left.type != right.type or left.tool_name != right.tool_name:
        return 0.0
    if left.input_ref == right.input_ref and left.output_ref == right.output_ref:
        return 1.0
    said = _said(left, right)
    if not left_content and not right_content:
        return said
    return 0.55 * said + 0.45 * _shared(left_content, right_content)


def _said(left: SideStep, right: SideStep) -> float:
    """Agreement of name and summary; the same call or the same answer counts whatever the summary says."""
    name = 1.0 if left.role == right.role else 0.0
    text = _text(left.summary, right.summary)
    if left.input_ref and left.input_ref == right.input_ref:
        text = max(text, 0.9)
    elif left.output_ref and left.output_ref == right.output_ref:
        text = max(text, 0.8)
    return 0.1 * name + 0.9 * text


def _text(left: str, right: str) -> float:
    """The better of words in order and words in any order."""
    if left == right:
        return 1.0 if left else 0.5
    one, other = words(left), words(right)
    shared = len(set(one) & set(other)) / max(1, len(set(one) | set(other)))
    return max(shared, Indel.normalized_similarity(one, other))


def _shared(left: Content, right: Content) -> float:
    """Dice over two multisets."""
    total = sum(left.values()) + sum(right.values())
    return 2 * sum(min(count, right.get(key, 0)) for key, count in left.items()) / total if total else 1.0


def _content(steps: Iterable[SideStep]) -> Content:
    """What a container is known by: which tools were called in it, and with which arguments."""
    tools = [step for step in steps if step.tool_name]
    return Counter([step.tool_name for step in tools] + [(step.tool_name, step.input_ref) for step in tools])


def _parent(step: SideStep, index: int, places: Mapping[int, int]) -> int | None:
    """The parent's index; a parent that is missing or comes later is none, so the tree has no cycles."""
    parent = places.get(step.parent_no) if step.parent_no is not None else None
    return parent if parent is not None and parent < index else None
