"""Origins of differences: set from outside, or following from an earlier changed output. Pure.

Recorded data flow shows most of the content that a step got from earlier steps. It does not show what the agent's own
code derived from an answer: a word that selects the next prompt, a number that is looked up in a table. So a difference
that no recorded flow explains is certainly exogenous only if no output before it differs:

    step 2  model "router"      answered "billing", now "technical"     <- its prompt changed: exogenous
    step 3  model "specialist"  has another message in its request      <- derived, until proved otherwise
    step 4  model "specialist"  has another user reply in its request   <- open: the user may have written it anyway
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow
from diffing.compare.run_side import SideStep
from diffing.content.facet import DOCUMENTS, Facet
from diffing.content.message_diff import MessagePair
from diffing.sequences.recurrence import distinct_words, distinctive_words, names_field
from diffing.sequences.text_diff import is_other_text
from diffing.sequences.word_hunks import Hunk, hunks, is_copy, is_repeated, share_phrase
from traces.core.json_access import text_or_json
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import Documents

_NO_STEP: Final = -1
# In Python 3.11, reading a member of an enum takes ten times as long as reading a constant.
_MODEL: Final = StepType.MODEL
_WORLD: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})


class Origin(StrEnum):
    """How a difference relates to the changed outputs before it."""

    # Nothing before it differs.
    EXOGENOUS = "exogenous"
    # Set from outside, or a response to an earlier difference.
    OPEN = "open"
    # Computed by the agent's code from an earlier difference, until proved otherwise.
    DERIVED = "derived"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """Content of unknown origin in a step, which may contain outputs before these sequence numbers."""

    base: int = _NO_STEP
    candidate: int = _NO_STEP


@dataclass(frozen=True, kw_only=True, slots=True)
class _Output:
    """A differing output: the distinctive words of each side alone, all differing words, and its values."""

    pair: Pair
    first: Entry
    base: set[str]
    candidate: set[str]
    hunks: Sequence[Hunk]
    values: tuple[JSONValue, JSONValue]


class Words:
    """The words in which outputs differ, by side, to recognise content that uses them. Add all outputs first.

    `equal_outputs` are those of both runs, as far as their summaries show. `inner_ends`: the last steps inside of calls
    that run other agents, by place. Their results come after them.
    """

    def __init__(self, equal_outputs: Sequence[Pair], inner_ends: Mapping[int, tuple[int, int]]) -> None:
        self._ends = {place: Entry(base=base, candidate=candidate) for place, (base, candidate) in inner_ends.items()}
        self._outputs: list[_Output] = []
        # The words that a differing output has in both runs.
        self._common_words: list[tuple[Pair, set[str]]] = []
        self._equal_outputs = equal_outputs

    def add(self, pair: Pair, *sides: JSONValue) -> None:
        """Add an output of both sides."""
        base, candidate = map(text_or_json, sides)
        base_words, candidate_words = distinctive_words(base), distinctive_words(candidate)
        self._common_words.append((pair, base_words & candidate_words))
        self._outputs.append(
            _Output(
                pair=pair,
                first=self._ends.get(pair.place) or _first([pair]),
                base=base_words - candidate_words,
                candidate=candidate_words - base_words,
                hunks=hunks(base, candidate),
                values=(sides[0], sides[1]),
            )
        )

    def explains_most(self, pair: Pair, base: str, candidate: str) -> bool:
        """True if the differing words of a step's texts come mostly from differing words of outputs before it.

        Either every difference equals one between outputs, however short, or most of the distinctive words do.
        """
        outputs_before = self._before(pair)
        if not outputs_before:
            return False
        copies = _copies(outputs_before, base, candidate)
        if copies and all(copies):
            return True
        base_words, candidate_words = distinct_words(base, candidate)
        words_before = (
            set[str]().union(*(output.base for output in outputs_before)),
            set[str]().union(*(output.candidate for output in outputs_before)),
        )
        sides = [
            (words, output_words)
            for words, output_words in zip((base_words, candidate_words), words_before, strict=True)
            if words
        ]
        return bool(sides) and all(2 * len(words & output_words) >= len(words) for words, output_words in sides)

    def explains_all(self, pair: Pair, base: str, candidate: str, places: Collection[int] | None = None) -> bool:
        """True if every difference of a step's texts equals one of earlier outputs, at `places` if given."""
        outputs = [output for output in self._before(pair) if places is None or output.pair.place in places]
        return all(_copies(outputs, base, candidate))

    def explain_result(self, pair: Pair, *sides: JSONValue) -> bool:
        """True if every difference between results of a call equals one of outputs up to the last step inside it."""
        end = self._ends[pair.place]
        after = Entry(base=end.base + 1, candidate=end.candidate + 1)
        outputs = [output for output in self._outputs if output.pair is not pair and _may_use(after, output.first)]
        return all(_copies(outputs, *map(text_or_json, sides)))

    def explains_some(self, pair: Pair, base: str, candidate: str) -> bool:
        """True if some difference of a step's texts equals one between outputs before it."""
        return any(_copies(self._before(pair), base, candidate))

    def explains_part(self, pair: Pair, base: str, candidate: str) -> bool:
        """True if some difference of a step's texts contains one between outputs before it, or a field that differs.

        Example: the field "quota" moved from 7 to 3, and one side's message has the line "above the quota of 3".
        """
        outputs, differences = self._before(pair), hunks(base, candidate)
        return any(
            any(is_copy(own, hunk) for own in output.hunks) or names_field(*output.values, hunk.base, hunk.candidate)
            for output in outputs
            for hunk in differences
        )

    def explains_with_equal(self, pair: Pair, base: str, candidate: str) -> bool:
        """True if the differing words of one side come from differing outputs, and the other's from any outputs.

        Example: a memory contains "running" from the first turn; in one run, a later turn replaces it by "tennis".
        """
        sides = distinct_words(base, candidate)
        differing, equal = self._before(pair), self._equal_words_before(pair)
        words_before = [
            set[str]().union(*(output.base for output in differing)),
            set[str]().union(*(output.candidate for output in differing)),
        ]
        is_from_differing = [bool(own) and own <= words for own, words in zip(sides, words_before, strict=True)]
        return any(is_from_differing) and all(
            own <= words | equal for own, words in zip(sides, words_before, strict=True)
        )

    def know(self, pair: Pair, base: str, candidate: str) -> bool:
        """True if most of the distinctive words in which two texts differ occur in outputs before a step."""
        own = set[str]().union(*distinct_words(base, candidate))
        outputs = self._before(pair)
        words = self._equal_words_before(pair).union(*(output.base | output.candidate for output in outputs))
        return 2 * len(own & words) > len(own)

    def repeats(self, pair: Pair, hunk: Hunk) -> bool:
        """True if a difference of a step's texts equals one between outputs before it."""
        return any(is_repeated(hunk, output_hunk) for output in self._before(pair) for output_hunk in output.hunks)

    def quotes(self, pair: Pair, text: str, shown_places: Collection[int]) -> bool:
        """True if a text at a step of one run repeats words of a differing output before it that is not shown there."""
        side = int(pair.base is None)
        outputs = (output for output in self._before(pair) if output.pair.place not in shown_places)
        return any(share_phrase(text, text_or_json(output.values[side])) for output in outputs)

    @cached_property
    def _equal_words(self) -> list[tuple[Pair, set[str]]]:
        """The words that each output has in both runs; few comparisons of two long runs need them."""
        return [*self._common_words, *((pair, distinctive_words(pair.step.summary)) for pair in self._equal_outputs)]

    def _equal_words_before(self, pair: Pair) -> set[str]:
        words = (words for output, words in self._equal_words if output.order_key < pair.order_key)
        return set[str]().union(*words)

    def _before(self, pair: Pair) -> list[_Output]:
        entry = entry_of(pair)
        return [output for output in self._outputs if _may_use(entry, output.first)]


def _copies(outputs: Sequence[_Output], base: str, candidate: str) -> list[bool]:
    """For each difference of two texts, whether it equals one between two outputs."""
    output_hunks = [output_hunk for output in outputs for output_hunk in output.hunks]
    return [any(is_repeated(hunk, output_hunk) for output_hunk in output_hunks) for hunk in hunks(base, candidate)]


def has_edited_documents(facet: Facet, *, same_query: bool = False) -> bool:
    """True if two searches found the same documents, with edited texts: then something else than the query changed.

    A search may quote other passages of a document for another query. Those are no edits of each other. With
    `same_query`, one search may also have found documents that the other has not.
    """
    if facet.part != "output" or facet.kind != DOCUMENTS:
        return False
    before, after = (Documents({"documents": documents}).texts_by_id for documents in (facet.base, facet.candidate))
    if not same_query and list(before) != list(after):
        return False
    edits = [(text, after[id]) for id, text in before.items() if text != after.get(id, text)]
    return bool(edits) and not any(is_other_text(*texts) for texts in edits)


class ChangedOutputs:
    """The differing outputs in order; of a call that runs another agent, those of that agent in place of its result."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self.pairs: Sequence[Pair] = [
            pair
            for pair in comparison.differing
            if pair.answers_differently
            and pair.step.type != StepType.OUTPUT
            and pair.place not in comparison.inner_ends
        ]
        self._first = _first(self.pairs)
        self._first_of_both = _first([pair for pair in self.pairs if pair.sides or pair.step.type == StepType.MODEL])
        calls = [pair for pair in comparison.differing if pair.step.type in _WORLD and _calls_differently(pair)]
        self._first_of_calls = _first(calls)
        self._first_of_models = _first([pair for pair in self.pairs if pair.step.type == StepType.MODEL])

    def precede(self, pair: Pair) -> bool:
        """True if any of them comes before this step, on either side.

        Of two consecutive unpaired steps, the first does not explain the second.
        """
        return _is_before(self._first if pair.sides else self._first_of_both, pair)

    def leave_to_code(self, pair: Pair) -> bool:
        """True if only code can have made a step of one run only: no output differs before it.

        A model that is called as often by that agent in the other run may have been paired otherwise.
        """
        if pair.sides is not None or self.precede(pair):
            return False
        if pair.step.type != StepType.MODEL:
            return True
        own, other = self._calls_of_models if pair.base is not None else self._calls_of_models[::-1]
        place = bisect_left(own[pair.step.role], pair.step.sequence_no)
        return place >= len(other.get(pair.step.role, ()))

    @cached_property
    def _calls_of_models(self) -> tuple[Mapping[str, Sequence[int]], Mapping[str, Sequence[int]]]:
        """The numbers of model calls by agent, of either run."""
        return _model_calls(self._comparison.base.steps), _model_calls(self._comparison.candidate.steps)

    def calls_precede(self, pair: Pair) -> bool:
        """True if the call of a tool or a retriever differs before this step."""
        return _is_before(self._first_of_calls, pair)

    def models_precede(self, pair: Pair) -> bool:
        """True if the answer of a model differs before this step."""
        return _is_before(self._first_of_models, pair)


class FirstCalls:
    """The first model call of each agent, on each side."""

    def __init__(self, comparison: Comparison) -> None:
        # The steps of a side ascend, so the first of an agent is the last of them in reverse.
        self._by_agent: list[dict[str, int]] = [
            {step.role: step.sequence_no for step in reversed(side.steps) if step.type == _MODEL}
            for side in (comparison.base, comparison.candidate)
        ]

    def precede(self, pair: Pair) -> tuple[bool, bool]:
        """Whether, on each side, the step's agent has called its model before."""
        sides = zip(self._by_agent, (pair.base, pair.candidate), strict=True)
        base, candidate = (
            step is not None and first.get(step.role, step.sequence_no) < step.sequence_no for first, step in sides
        )
        return base, candidate


def _model_calls(steps: Iterable[SideStep]) -> dict[str, list[int]]:
    numbers: dict[str, list[int]] = {}
    for step in steps:
        if step.type == StepType.MODEL:
            numbers.setdefault(step.role, []).append(step.sequence_no)
    return numbers


def _calls_differently(pair: Pair) -> bool:
    return pair.sides is None or "input" in pair.changes


def _first(pairs: Sequence[Pair]) -> Entry:
    """The first of the steps, by side."""
    base = min((pair.base.sequence_no for pair in pairs if pair.base), default=_NO_STEP)
    candidate = min((pair.candidate.sequence_no for pair in pairs if pair.candidate), default=_NO_STEP)
    return Entry(base=base, candidate=candidate)


def _is_before(first: Entry, pair: Pair) -> bool:
    return _may_use(entry_of(pair), first)


def entry_of(pair: Pair) -> Entry:
    """An entry for all outputs before the step."""
    numbers = [step.sequence_no if step is not None else _NO_STEP for step in (pair.base, pair.candidate)]
    return Entry(base=numbers[0], candidate=numbers[1])


def window_origin(items: Sequence[MessagePair], gaps: Sequence[MessagePair], *, follows_output: bool) -> Origin:
    """The origin of a context window that drops messages; derived if it may have room for so many characters.

    Example: an answer became longer, and from then on one side drops its first messages.
    """
    if not follows_output:
        return Origin.EXOGENOUS
    other_items = [item for item in items if item not in gaps]
    growth = sum(len(item.candidate) - len(item.base) for item in other_items)
    drops_in_candidate = gaps[0].candidate_index is None
    return Origin.DERIVED if growth and (growth > 0) is drops_in_candidate else Origin.OPEN


class Reach:
    """The places that a change may reach, through recorded data flow, the agent's own code and the state of its tools.

    A tool that was called differently may have left something else behind, even if it gave the same answer. That may
    explain why the same call of a tool or a search was answered differently later.
    """

    def __init__(self, comparison: Comparison, flow: Flow, entries: Mapping[int, Entry]) -> None:
        self._pairs, self._flow, self._entries = comparison.pairs, flow, entries
        self._changed = ChangedOutputs(comparison)
        calls = [pair for pair in comparison.differing if pair.step.type in _WORLD]
        self._writers = {
            pair.place: pair for pair in calls if pair.step.type is StepType.TOOL and _calls_differently(pair)
        }
        self._readers = {
            pair.place: entry_of(pair) for pair in calls if not _calls_differently(pair) and not pair.overridden
        }

    def after(self, places: Collection[int]) -> set[int]:
        """Every place that a change at `places` may have reached."""
        places_after = set(self._flow.after(places))
        while True:
            reached_places = {*places_after, *places}
            first = self._earliest(reached_places)
            first_call = _first([self._writers[place] for place in reached_places if place in self._writers])
            new = {place for place, entry in self._entries.items() if _may_use(entry, first)}
            new |= {place for place, entry in self._readers.items() if _may_use(entry, first_call)}
            new -= reached_places
            if not new:
                return places_after
            places_after |= new | self._flow.after(new)

    def before(self, place: int) -> set[int]:
        """The places from which a change may have reached `place`."""
        places_before = set(self._flow.before(place))
        while True:
            earlier_places = {*places_before, place}
            last = _latest(self._entries, earlier_places)
            last_call = _latest(self._readers, earlier_places)
            new = {pair.place for pair in self._changed.pairs if _may_feed(pair, last)}
            new |= {pair.place for pair in self._writers.values() if _may_feed(pair, last_call)}
            new -= earlier_places
            if not new:
                return places_before
            for new_place in new:
                places_before |= {new_place} | self._flow.before(new_place)

    def _earliest(self, places: Collection[int]) -> Entry:
        """The first differing outputs at these places, by side."""
        return _first([self._pairs[place] for place in places if self._pairs[place].answers_differently])


def _latest(entries: Mapping[int, Entry], places: Collection[int]) -> Entry:
    """The last outputs that these places may contain, by side."""
    own_entries = [entries[place] for place in places if place in entries]
    return Entry(
        base=max((entry.base for entry in own_entries), default=_NO_STEP),
        candidate=max((entry.candidate for entry in own_entries), default=_NO_STEP),
    )


def _may_use(entry: Entry, first: Entry) -> bool:
    return _NO_STEP < first.base < entry.base or _NO_STEP < first.candidate < entry.candidate


def _may_feed(pair: Pair, last: Entry) -> bool:
    base, candidate = (step.sequence_no if step is not None else None for step in (pair.base, pair.candidate))
    return (base is not None and base < last.base) or (candidate is not None and candidate < last.candidate)
