"""Echoes: numbers or words of a change that recur in what the agent's code made, or in the final answer. Pure.

    tool    "climb_ft": 4100 -> 2300        code    "a climb of 1,250 m" -> "a climb of 701 m"    the same ratio
    tool    "days": 14 -> 30                code    "due 2026-03-17" -> "due 2026-04-02"          the same difference
    tool    "extra": 24.50 -> 18.20         answer  "you get 20.00" -> "you get 18.20"            the same number
    prompt  its call: "fixed" -> "escalate" answer  "T13: fixed" -> "T13: escalate"               the same word
    tool    "next": "p3" -> "p9"            call    list {"page": "p3"} -> list {"page": "p9"}    the same argument

An echo orders changes that no replay could decide between. It is no evidence: texts may agree by chance.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from diffing.attribution.difference_origins import Origin
from diffing.attribution.unexplained_changes import Atom as Root
from diffing.compare.comparison import Pair
from diffing.sequences.json_diff import parse_embedded_json, value_changes
from diffing.sequences.recurrence import Move, Texts, differing_numbers, distinct_words, moves_alike, number_moves
from diffing.sequences.subjects import subject
from diffing.sequences.word_hunks import contains_words
from replay.proofs.changes.atoms import Change
from replay.proofs.changes.overrides import RunPair, plain_text
from traces.core.json_access import text_or_json
from traces.core.json_walk import scalars
from traces.core.vocabulary import StepType

# The number of changed values of a result to look for in requests.
_MAX_CHANGES: Final = 20
_EXTERNAL: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})


def with_echoes(changes: Iterable[tuple[Root, Change]], runs: RunPair) -> list[Change]:
    """Add the texts of the changes, and mark those whose numbers moved like some number in a difference that code
    derived, or recur in an answer, and results that contain what a later call of the same run alone passes on.

    Words that a change removed or added recur in an answer if they are at least half of those that differ in it.
    """
    rows = list(changes)
    derived = [move for root, _ in rows if root.origin is Origin.DERIVED for move in _moves(root)]
    final = runs.examination.comparison.final
    answers = _outputs(runs, final) if final is not None else ("", "")
    removed, added = differing_numbers(*answers)
    arguments = list(_arguments(runs))

    def is_echo(move: Move) -> bool:
        return (
            any(moves_alike(move, other) for other in derived) or _recurs(move[0], removed) or _recurs(move[1], added)
        )

    def with_texts(root: Root, change: Change) -> Change:
        if not change.atom.testable:
            return replace(change, atom=replace(change.atom, texts=tuple(_texts(root))))
        texts = (*_texts(root), *_direct_outputs(runs, root))
        echoes = any(map(is_echo, _moves(root))) or _has_words_of(answers, texts) or _is_passed_on(root, arguments)
        subject_names, shown_at = _subject(runs, root), _shown_at(runs, root)
        atom = replace(change.atom, texts=texts, echoes=echoes, shown_at=shown_at, subject=subject_names)
        return replace(change, atom=atom)

    return [with_texts(root, change) for root, change in rows]


def _shown_at(runs: RunPair, root: Root) -> frozenset[int]:
    """The places of the models that answer differently and have a changed value of an output in their request."""
    flow = runs.examination.flow
    places = {link.consumer for link in flow.outgoing(root.places[0]) if flow.carries(link)}
    models = [pair for place in places if (pair := runs.pairs[place]).step.type == StepType.MODEL]
    changes = [
        (text_or_json(change.base), text_or_json(change.candidate))
        for texts in (_texts(root) if models else ())
        for change in value_changes(parse_embedded_json(texts[0]), parse_embedded_json(texts[1]), _MAX_CHANGES)
    ]
    return frozenset(
        pair.place
        for pair in models
        if pair.answers_differently and _shows_any(changes, [plain_text(value) for value in runs.inputs(pair)])
    )


def _shows_any(changes: Iterable[Texts], request: Sequence[str]) -> bool:
    """Return whether a request has the changed value of its own side and not that of the other's request."""
    return any(
        contains_words(own, request[side]) and not contains_words(own, request[1 - side])
        for change in changes
        for side, own in enumerate(change)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Argument:
    """A text that a call passes on: the place of the call, and the side whose run makes it."""

    place: int
    side: int
    text: str


def _arguments(runs: RunPair) -> Iterator[_Argument]:
    """The texts that calls pass on which the other run does not make."""
    for pair in runs.examination.comparison.differing:
        if pair.step.type in _EXTERNAL and (pair.sides is None or "input" in pair.changes):
            for side, arguments in enumerate(runs.inputs(pair)):
                texts = (value for _, value in scalars(arguments) if isinstance(value, str))
                yield from (_Argument(place=pair.place, side=side, text=text) for text in texts)


def _is_passed_on(root: Root, arguments: Iterable[_Argument]) -> bool:
    """Return whether a result contains an argument of a later call, and the other run's result does not."""
    if root.facet is None or root.facet.part != "output" or root.pair.step.type not in _EXTERNAL:
        return False
    texts = [text for pair in _texts(root) for text in pair]
    return any(
        argument.place > root.places[0]
        and contains_words(argument.text, texts[argument.side])
        and not contains_words(argument.text, texts[1 - argument.side])
        for argument in arguments
    )


def _subject(runs: RunPair, root: Root) -> frozenset[str]:
    """The words that name what a changed result of a tool or a search is about."""
    is_result = root.facet is not None and root.facet.part == "output"
    if root.pair.sides is None or not is_result or root.pair.step.type not in _EXTERNAL:
        return frozenset()
    return subject(runs.inputs(root.pair), runs.outputs(root.pair))


def _has_words_of(answers: Texts, texts: Iterable[Texts]) -> bool:
    """Return whether at least half of the words that only one answer has are words that only this side's texts have."""
    words = [distinct_words(*sides) for sides in texts]
    own = (set[str]().union(*(base for base, _ in words)), set[str]().union(*(candidate for _, candidate in words)))
    sides = zip(distinct_words(*answers), own, strict=True)
    return any(words and 2 * len(words & own_words) >= len(words) for words, own_words in sides)


def _direct_outputs(runs: RunPair, root: Root) -> Iterator[Texts]:
    """The outputs of the steps whose requests differ by this change alone, and of those that only one run has."""
    for place in root.places:
        facets = [facet for facet in runs.examination.loaded_pairs.facets.get(place, ()) if facet.part != "output"]
        messages = root.facet.messages if root.facet is not None else ()
        is_alone = len(facets) == 1 and len(facets[0].messages) <= max(1, len(messages))
        if runs.pairs[place].sides is None or is_alone:
            yield _outputs(runs, runs.pairs[place])


def _outputs(runs: RunPair, pair: Pair) -> Texts:
    base, candidate = runs.outputs(pair)
    return text_or_json(base), text_or_json(candidate)


def _moves(root: Root) -> list[Move]:
    """The numbers that differ between the texts of a change, each with its possible counterparts."""
    return [move for texts in _texts(root) for move in number_moves(*texts)]


def _texts(root: Root) -> list[Texts]:
    """The texts of a change."""
    facet = root.facet
    if facet is None:
        return []
    texts = [(item.base, item.candidate) for item in facet.messages]
    return texts or [(text_or_json(facet.base), text_or_json(facet.candidate))]


def _recurs(number: float, numbers: Sequence[float]) -> bool:
    """Return whether a number occurs among others; one digit alone is no trace of anything."""
    return number in numbers and len(f"{number:g}") > 1
