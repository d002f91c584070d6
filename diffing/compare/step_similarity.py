"""How alike two steps are before any payload is opened: from their rows, their one-line summaries, their children."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from rapidfuzz.distance import Indel

from diffing.compare.run_side import SideStep
from diffing.sequences.text_diff import words
from traces.core.vocabulary import StepType

Content = Mapping[Hashable, int]
_NOTHING: Final[Content] = {}
_IDLE: Final = 0.9  # a user said the same, and only one run did something about it
_TELLING: Final = 3  # words that a number or an id counts for
_LONG: Final = 4  # characters from which on it is one


class Look(NamedTuple):
    """What a step is compared by: its row, what it said, which calls it holds, and which tools it asked for."""

    step: SideStep
    said: str
    content: Content
    tools: frozenset[str]


class Subtrees:
    """The tree over a sequence of steps, what each container holds, and which calls each model step asked for."""

    def __init__(self, steps: Sequence[SideStep]) -> None:
        self._steps = steps
        places = {step.sequence_no: index for index, step in enumerate(steps)}
        self._parents = [_parent(step, index, places) for index, step in enumerate(steps)]
        self._children: dict[int | None, list[int]] = {}
        for index, parent in enumerate(self._parents):
            self._children.setdefault(parent, []).append(index)
        self._looks: dict[int, Look] = {}

    def children(self, parent: int | None) -> list[int]:
        return self._children.get(parent, [])

    def look(self, index: int) -> Look:
        """Worked out when first asked for; a model step that asked for calls is known by them."""
        if index not in self._looks:
            step = self._steps[index]
            children = self._children.get(index)
            content = _content(self._steps[child] for child in children) if children else _NOTHING
            calls = [self._steps[call] for call in self.asked.get(index, ())]
            said = " ".join(call.summary for call in calls)
            self._looks[index] = Look(step, said or step.summary, content, frozenset(call.tool_name for call in calls))
        return self._looks[index]

    def told(self, call: int) -> int | None:
        """The model step that was told a tool's answer first: the next sibling that is no tool."""
        siblings = self.children(self._parents[call])
        for index in siblings[bisect_right(siblings, call) :]:
            if self._steps[index].type != StepType.TOOL:
                return index if self._steps[index].type == StepType.MODEL else None
        return None

    @cached_property
    def asked(self) -> Mapping[int, Sequence[int]]:
        """The tool steps that each model step asked for: its next siblings up to one of another type."""
        found: dict[int, list[int]] = {}
        for call, model in self.askers.items():
            found.setdefault(model, []).append(call)
        return found

    @cached_property
    def askers(self) -> Mapping[int, int]:
        """By tool step: the model step that asked for it."""
        return dict(pair for siblings in self._children.values() for pair in _asked(siblings, self._steps))


def likeness(left: Look, right: Look) -> float:
    """From 0 to 1; 0 for steps of different kinds, which never correspond."""
    one, other = left.step, right.step
    if one.type != other.type or one.tool_name != other.tool_name or at_odds(left, right):
        return 0.0
    if one.input_ref == other.input_ref and one.output_ref == other.output_ref:
        return 1.0
    said = _said(left, right)
    if not left.content and not right.content:
        return said
    if one.type == StepType.TURN and not (left.content and right.content) and _names_the_same(left.said, right.said):
        return _IDLE * said
    return 0.55 * said + 0.45 * _shared(left.content, right.content)


def at_odds(left: Look, right: Look) -> bool:
    """Whether both asked for tools, and for none in common."""
    return bool(left.tools and right.tools) and left.tools.isdisjoint(right.tools)


def _said(left: Look, right: Look) -> float:
    """Agreement of name and of what was said; the same call or the same answer counts whatever was said."""
    one, other = left.step, right.step
    name = 1.0 if one.role == other.role else 0.0
    text = _text(left.said, right.said)
    if one.input_ref and one.input_ref == other.input_ref:
        text = max(text, 0.9)
    elif one.output_ref and one.output_ref == other.output_ref:
        text = max(text, 0.8)
    return 0.1 * name + 0.9 * text


def _asked(siblings: Sequence[int], steps: Sequence[SideStep]) -> Iterator[tuple[int, int]]:
    """Tool steps among siblings, each with the model step that they follow without another type between."""
    model = None
    for index in siblings:
        if steps[index].type == StepType.MODEL:
            model = index
        elif steps[index].type != StepType.TOOL:
            model = None
        elif model is not None:
            yield index, model


def _text(left: str, right: str) -> float:
    """The better of words in order and words in any order."""
    if left == right:
        return 1.0 if left else 0.5
    one, other = words(left), words(right)
    return max(_in_common(set(one), set(other)), Indel.normalized_similarity(one, other))


def _in_common(left: set[str], right: set[str]) -> float:
    """The share of the words of either that are in both; numbers and ids say more than other words."""
    return _weight(left & right) / max(1, _weight(left | right))


def _names_the_same(left: str, right: str) -> bool:
    """Whether both name one number or id."""
    return any(map(_is_telling, set(words(left)) & set(words(right))))


def _weight(found: set[str]) -> int:
    return len(found) + (_TELLING - 1) * sum(map(_is_telling, found))


def _is_telling(word: str) -> bool:
    return len(word) >= _LONG and any(map(str.isdigit, word))


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
