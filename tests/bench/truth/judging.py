"""Compare the labels of a fork with a true run of the changed program."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import zip_longest
from typing import Final

from tests.bench.truth.runtime import NOTE_TOOLS, Runtime
from traces.core.canonical import digest
from traces.core.json_types import JSONValue
from traces.core.json_walk import scalars
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType

# What docs/labels.md names as outside of a label: code that chooses, and what a tool remembers.
CHOICE: Final = "choice of code"
REPETITION: Final = "text of an earlier call"
MEMORY: Final = "memory of a tool"
_NOWHERE: Final = 1_000
_SHORT: Final = 3
_IDS: Final = ("id", "tool_call_id")


@dataclass(frozen=True)
class Finding:
    """A step whose label is wrong; `kind` groups findings, and a named one is documented."""

    key: str
    kind: str
    is_named: bool = False


@dataclass(frozen=True)
class Truth:
    """The steps of a recording, and of a true run of the changed program."""

    recorded: Mapping[str, RecordedStep]
    true: Mapping[str, RecordedStep]
    # The first place at which code chose something else.
    choice: int

    @classmethod
    def of(cls, recorded: Runtime, true: Runtime) -> "Truth":
        recorded_steps, true_steps = ({step.key: step for step in run.steps} for run in (recorded, true))
        pairs = zip_longest(recorded.choices, true.choices, fillvalue=("", None))
        places = [one[0] or other[0] for one, other in pairs if one != other]
        return cls(recorded_steps, true_steps, min(map(_number, places), default=_NOWHERE))

    def equals(self, key: str) -> bool:
        """True if the true run makes the recorded call at the same place, and gets the same output."""
        true = self.true.get(key)
        return true is not None and _call(true) == _call(self.recorded[key]) and _same_output(true, self.recorded[key])

    @cached_property
    def _requests(self) -> frozenset[str]:
        return frozenset(digest(_plain(step.input)) for step in self.true.values())

    def is_true_request(self, request: JSONValue) -> bool:
        """True if the true run makes this request."""
        return digest(_plain(request)) in self._requests

    def wrong(self, key: str) -> Finding | None:
        """Finding if a step that is called exact is not what the true run shows."""
        step, true = self.recorded[key], self.true.get(key)
        if true is None or self.equals(key):
            # Whether a call would still be made is not stated by its label.
            return None
        place, what = key.partition(":")[0], f"{key.partition('.')[2].partition('#')[0]}"
        if _call(true) == _call(step) and step.name in NOTE_TOOLS:
            return Finding(key, MEMORY, is_named=True)
        if self._repeats_earlier_texts(step, true):
            is_short = all(len(text.split()) <= _SHORT for text in _texts(step.input) - _texts(true.input))
            return Finding(key, f"{REPETITION}{', short' if is_short else ''}", is_named=True)
        if any(_call(other) == _call(step) and _same_output(other, step) for other in self.true.values()):
            # The same call in another order.
            return None
        if self.choice <= _number(place) < _NOWHERE:
            return Finding(key, CHOICE, is_named=True)
        return Finding(key, f"{what}: {'output' if _call(true) == _call(step) else 'call'} differs")

    def _repeats_earlier_texts(self, step: RecordedStep, true: RecordedStep) -> bool:
        """True if an earlier recorded call has all words that the true call has not, in a text like the step's."""
        keys = list(self.recorded)
        # What a container around the step got is no earlier call.
        earlier_keys = [key for key in keys[: keys.index(step.key)] if key not in self._around(step)]
        earlier = [text for key in earlier_keys for text in _texts(self.recorded[key].input)]
        true_texts = _texts(true.input)
        # A call that only lacks something repeats nothing.
        new_texts = _texts(step.input) - true_texts
        return bool(new_texts) and all(
            any(_explains(text, true_text, old) for true_text in true_texts for old in earlier) for text in new_texts
        )

    def _around(self, step: RecordedStep) -> set[str]:
        keys: set[str] = set()
        while step.parent is not None:
            keys.add(step.parent)
            step = self.recorded[step.parent]
        return keys


def first_wrong(truth: Truth, exact_keys: Sequence[str]) -> Finding | None:
    """The first wrong step: later ones may be wrong because of it."""
    return next(findings(truth, exact_keys), None)


def findings(truth: Truth, exact_keys: Sequence[str]) -> Iterator[Finding]:
    order = {key: index for index, key in enumerate(truth.recorded)}
    # A container ends after the steps inside.
    for key in sorted(exact_keys, key=lambda key: (truth.recorded[key].type in _CONTAINERS, order[key])):
        if (finding := truth.wrong(key)) is not None:
            yield finding


_CONTAINERS: Final = frozenset({StepType.AGENT, StepType.TURN})


def _number(place: str) -> int:
    head = place.partition(".")[0]
    return int(head) if head.isdigit() else _NOWHERE


def _texts(value: JSONValue) -> set[str]:
    return {str(leaf) for _, leaf in scalars(value)}


def _explains(text: str, true: str, earlier: str) -> bool:
    """True if an earlier text contains a text, or all words in which it differs from the true one, in order."""
    if f" {' '.join(text.split())} " in f" {' '.join(earlier.split())} ":
        return True
    shared_words, true_words = _shared_words(text, earlier), _shared_words(text, true)
    words = range(len(text.split()))
    return 2 * len(true_words) > len(words) and all(index in shared_words for index in words if index not in true_words)


def _shared_words(text: str, other: str) -> set[int]:
    blocks = SequenceMatcher(a=text.split(), b=other.split(), autojunk=False).get_matching_blocks()
    return {index for block in blocks for index in range(block.a, block.a + block.size)}


def _call(step: RecordedStep) -> str:
    return digest([step.type, step.name, step.model, _plain(step.input)])


def _same_output(one: RecordedStep, other: RecordedStep) -> bool:
    return one.status is other.status and digest(_plain(one.output)) == digest(_plain(other.output))


def _plain(value: JSONValue) -> JSONValue:
    """A value without call ids."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if name not in _IDS}
    return [_plain(item) for item in value] if isinstance(value, list) else value
