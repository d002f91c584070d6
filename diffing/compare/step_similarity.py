"""Similarity of two steps without payloads: by their rows, one-line summaries and children."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from rapidfuzz.distance import Indel

from diffing.compare.run_side import SideStep
from diffing.sequences.text_diff import words
from traces.core.vocabulary import StepType
from traces.payloads.step_summaries import is_request

Content = Mapping[Hashable, int]
_NO_CONTENT: Final[Content] = {}
# In Python 3.11, reading a member of an enum takes ten times as long as reading a constant.
_MODEL: Final = StepType.MODEL
_TOOL: Final = StepType.TOOL
# Two turns with the same user message, of which only one contains steps.
_EMPTY_TURN: Final = 0.9
# A number or an id counts as this many words.
_ID_WEIGHT: Final = 3
# A shorter number is an ordinary word.
_MIN_ID_LENGTH: Final = 4


class StepFeatures(NamedTuple):
    """The features that steps are compared by: row, text, contained calls and requested tools."""

    step: SideStep
    text: str
    content: Content
    tools: frozenset[str]


class Subtrees:
    """The tree of a run's steps: the contents of each container, and the calls that each model requested."""

    def __init__(self, steps: Sequence[SideStep]) -> None:
        self._steps = steps
        places = {step.sequence_no: index for index, step in enumerate(steps)}
        self._parents = [
            None if step.parent_no is None else _parent(step.parent_no, index, places)
            for index, step in enumerate(steps)
        ]
        self._children: dict[int | None, list[int]] = {}
        for index, parent in enumerate(self._parents):
            self._children.setdefault(parent, []).append(index)
        self._features: dict[int, StepFeatures] = {}

    def children(self, parent: int | None) -> list[int]:
        return self._children.get(parent, [])

    def containers(self, parent: int | None) -> list[int]:
        """The children that contain steps."""
        return [child for child in self.children(parent) if child in self._children]

    def features(self, index: int) -> StepFeatures:
        """The features of a step, computed on first use; a model that requested calls is described by them."""
        if index not in self._features:
            step = self._steps[index]
            children = self._children.get(index)
            content = _content(self._steps[child] for child in children) if children else _NO_CONTENT
            calls = [self._steps[call] for call in self.calls_by_model.get(index, ())]
            call_summaries = " ".join(call.summary for call in calls)
            self._features[index] = StepFeatures(
                step, call_summaries or step.summary, content, frozenset(call.tool_name for call in calls)
            )
        return self._features[index]

    def reader_of(self, call: int) -> int | None:
        """The model that reads a tool's answer first: the next sibling that is not a tool."""
        siblings = self.children(self._parents[call])
        for index in siblings[bisect_right(siblings, call) :]:
            if self._steps[index].type != StepType.TOOL:
                return index if self._steps[index].type == StepType.MODEL else None
        return None

    @cached_property
    def calls_by_model(self) -> Mapping[int, Sequence[int]]:
        """The tool steps that each model requested: its next siblings, up to one of another type."""
        calls_by_model: dict[int, list[int]] = {}
        for call, model in self.requesters.items():
            calls_by_model.setdefault(model, []).append(call)
        return calls_by_model

    @cached_property
    def requesters(self) -> Mapping[int, int]:
        """The model that requested each tool step."""
        return dict(pair for siblings in self._children.values() for pair in _requested_calls(siblings, self._steps))


def likeness(left: StepFeatures, right: StepFeatures) -> float:
    """Similarity from 0 to 1; 0 for steps of different types or tools, which never correspond."""
    left_step, right_step = left.step, right.step
    if (
        left_step.type != right_step.type
        or left_step.tool_name != right_step.tool_name
        or have_disjoint_tools(left, right)
    ):
        return 0.0
    if left_step.input_ref == right_step.input_ref and left_step.output_ref == right_step.output_ref:
        return 1.0
    row_score = _row_similarity(left, right)
    if not left.content and not right.content:
        return row_score
    if (
        left_step.type == StepType.TURN
        and not (left.content and right.content)
        and _share_identifier(left.text, right.text)
    ):
        return _EMPTY_TURN * row_score
    return 0.55 * row_score + 0.45 * _content_similarity(left.content, right.content)


def have_disjoint_tools(left: StepFeatures, right: StepFeatures) -> bool:
    """True if both requested tools, and none in common."""
    return bool(left.tools and right.tools) and left.tools.isdisjoint(right.tools)


def _row_similarity(left: StepFeatures, right: StepFeatures) -> float:
    """Similarity of name and text; the same input or output raises the similarity of the text."""
    left_step, right_step = left.step, right.step
    name = 1.0 if left_step.role == right_step.role else 0.0
    text = _text_similarity(left.text, right.text)
    if left_step.input_ref and left_step.input_ref == right_step.input_ref:
        text = max(text, 0.9)
    elif left_step.output_ref and left_step.output_ref == right_step.output_ref:
        text = max(text, 0.8)
    return 0.1 * name + 0.9 * text


def _requested_calls(siblings: Sequence[int], steps: Sequence[SideStep]) -> Iterator[tuple[int, int]]:
    """Tool steps among siblings, each with the model that precedes it without another type in between."""
    model = None
    for index in siblings:
        step_type = steps[index].type
        if step_type == _MODEL:
            model = index
        elif step_type != _TOOL:
            model = None
        elif model is not None and _may_request(steps[model], steps[index]):
            yield index, model


def _may_request(model: SideStep, call: SideStep) -> bool:
    """Return False if the model answered in words, so that the agent's code made the call after it."""
    return bool(call.call_id) or not model.summary or is_request(model.summary)


def _text_similarity(left: str, right: str) -> float:
    """The higher of two measures: words in order, and words in any order."""
    if left == right:
        return 1.0 if left else 0.5
    left_words, right_words = words(left), words(right)
    return max(
        _word_similarity(set(left_words), set(right_words)), Indel.normalized_similarity(left_words, right_words)
    )


def _word_similarity(left: set[str], right: set[str]) -> float:
    """Share of words in common; numbers and ids count more."""
    return _weight(left & right) / max(1, _weight(left | right))


def _share_identifier(left: str, right: str) -> bool:
    """True if both contain the same number or id."""
    return any(map(_is_identifier, set(words(left)) & set(words(right))))


def _weight(terms: set[str]) -> int:
    return len(terms) + (_ID_WEIGHT - 1) * sum(map(_is_identifier, terms))


def _is_identifier(word: str) -> bool:
    return len(word) >= _MIN_ID_LENGTH and any(map(str.isdigit, word))


def _content_similarity(left: Content, right: Content) -> float:
    """Dice similarity of two multisets."""
    total = sum(left.values()) + sum(right.values())
    return 2 * sum(min(count, right.get(key, 0)) for key, count in left.items()) / total if total else 1.0


def _content(steps: Iterable[SideStep]) -> Content:
    """The features of a container: its tool calls, with and without arguments."""
    tools = [step for step in steps if step.tool_name]
    return Counter([step.tool_name for step in tools] + [(step.tool_name, step.input_ref) for step in tools])


def _parent(number: int, index: int, places: Mapping[int, int]) -> int | None:
    """The index of the parent; a missing or later one is ignored, so the tree has no cycles."""
    parent = places.get(number)
    return parent if parent is not None and parent < index else None
