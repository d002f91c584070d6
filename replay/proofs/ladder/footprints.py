"""Footprints: what a change leaves in the messages that code composed later. Pure.

A replay of one change may reach the candidate's state and take over what that run's code composed. It then shows the
candidate's outcome, whether the code used the change or was changed itself. The messages tell the two apart, if the
change left its footprint where it does not matter:

    result  "fridge": "west" -> "north"    code  "Order: 3 / From: west"  ->  "Order: 0 / From: north"
    probe   base with "From: north"        the base's outcome
    probe   base with "Order: 0"           the candidate's: the difference bypasses the change

Numbers, dates and lists disappear in what code computes of them, so they need not leave a footprint.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from diffing.schemas.evidence import ProbeOutcome
from diffing.sequences.json_diff import parse_embedded_json, value_changes
from diffing.sequences.recurrence import recurs
from diffing.sequences.subjects import names
from replay.proofs.core.types import Atom, Atoms, ProbeSpec
from replay.proofs.ladder.facts import ProbeRequest, Space
from replay.proofs.ladder.search import Steps

_RESULTS: Final = frozenset({"tool", "retrieval"})
# What separates the items of a list, or the lines of a document, within one text.
_SEPARATOR: Final = re.compile(r"[\n;|]")
_NUMBER: Final = re.compile(r"\d[\d.,]*")
# Messages to probe for footprints: each costs two replays.
_MAX_PROBED: Final = 4


def traceless_results(atoms: Sequence[Atom], *, other_code: bool) -> Atoms:
    """The changed results that recur nowhere in what code composed, and whose subject names no line that differs.

    Then it was rather the code that changed, and a replay only assumes that code used the result: surely so if
    different code made the recordings, else if one text changed. Numbers, dates and lists disappear in what code
    computes of them. A text is passed on, which leaves a trace, or it decides a branch, which few texts do. So a line
    about the subject of a text is a trace of it only if it differs in words.

    If something shows that code was changed, no replay that assumes otherwise shows anything.
    """
    if any(atom.is_by_code for atom in atoms):
        return frozenset(atom.id for atom in atoms)
    relays = [atom for atom in atoms if atom.is_relay and atom.certificate is None]
    unseen_results = [atom for atom in atoms if _is_read_by_code(atom) and not atom.shown_at]
    results = [atom for atom in unseen_results if other_code or _is_one_text(atom)]
    line_names = LineNames.from_relays(relays)
    word_names = LineNames.from_relays(relays, numbers=False)
    return frozenset(
        atom.id
        for atom in results
        if relays
        and (word_names if _is_one_text(atom) else line_names).fit(atom) <= 0
        and not any(recurs_in(atom, relay) for relay in relays)
    )


def _is_one_text(atom: Atom) -> bool:
    """Return whether a result differs in one text: no number, date or list, and no document of several lines."""
    base, candidate = map(parse_embedded_json, atom.texts[0]) if atom.texts else (None, None)
    changes = value_changes(base, candidate, 2)
    texts = [text for change in changes for text in (change.base, change.candidate)]
    is_in_list = any(part.isdecimal() for change in changes for part in change.path.split("/"))
    return len(changes) == 1 and not is_in_list and all(isinstance(text, str) and _is_words(text) for text in texts)


def _is_words(text: str) -> bool:
    return not text or (any(map(str.isalpha, text)) and not _SEPARATOR.search(text))


def recurs_in(atom: Atom, relay: Atom) -> bool:
    return any(recurs(mine, theirs) for mine in atom.texts for theirs in relay.texts)


def find_bypassed(
    space: Space, sets: Sequence[Atoms], relays: Sequence[Atom], divide: Callable[[Atom], Sequence[Atom]]
) -> Steps[Atoms]:
    """Find members of these sets whose footprint lies in parts that make no difference, while the other parts do."""
    suspects: set[str] = set()
    for footprint in list(_footprints(space, sets, relays, divide))[:_MAX_PROBED]:
        yield ProbeRequest(spec=footprint.spec(footprint.elsewhere), purpose="apply")
        if footprint.leads_to_candidate(space, footprint.elsewhere) is True:
            yield ProbeRequest(spec=footprint.spec(footprint.parts), purpose="apply")
            if footprint.leads_to_candidate(space, footprint.parts) is False:
                suspects.add(footprint.change)
    return frozenset(suspects)


def most_probes(space: Space, relays: Sequence[Atom], divide: Callable[[Atom], Sequence[Atom]]) -> int:
    """The most replays that a search for bypassed changes takes."""
    footprints = _footprints(space, [frozenset({atom.id}) for atom in space.atoms], relays, divide)
    return 2 * min(_MAX_PROBED, len(list(footprints)))


@dataclass(frozen=True, kw_only=True)
class _Footprint:
    """The parts of a message in which a change recurs, those in which it does not, and the rest of its set."""

    change: str
    parts: Atoms
    elsewhere: Atoms
    companions: Atoms

    def spec(self, parts: Atoms) -> ProbeSpec:
        """Hold these parts to the candidate's recording, in place of the change."""
        return ProbeSpec(atoms=parts | self.companions)

    def leads_to_candidate(self, space: Space, parts: Atoms) -> bool | None:
        """Return whether the base with these parts has the candidate's outcome; None: unknown."""
        result = space.facts.result(self.spec(parts))
        if result is None or not result.is_settled or result.is_assumed("base"):
            return None
        return result.outcome == ProbeOutcome.CANDIDATE


def _footprints(
    space: Space, sets: Sequence[Atoms], relays: Sequence[Atom], divide: Callable[[Atom], Sequence[Atom]]
) -> Iterator[_Footprint]:
    members = [(atom, causes - {atom.id}) for causes in sets for atom in space.atoms if atom.id in causes]
    for atom, companions in members:
        readable_relays = [relay for relay in relays if _is_only_shown_in(relay, atom)]
        for relay in readable_relays if _is_read_by_code(atom) and _is_one_text(atom) else ():
            parts = divide(relay) if relay.certificate is None and _recurs_everywhere(atom, relay) else ()
            own = frozenset(part.id for part in parts if recurs_in(atom, part))
            elsewhere = frozenset(part.id for part in parts) - own
            if own and elsewhere:
                yield _Footprint(change=atom.id, parts=own, elsewhere=elsewhere, companions=companions)


def _is_read_by_code(atom: Atom) -> bool:
    """Return whether code reads a change of a result and leads to no other call with it.

    What a user wants decides branches in code.
    """
    return atom.category in _RESULTS and not (atom.echoes or atom.rekeys)


def _is_only_shown_in(relay: Atom, atom: Atom) -> bool:
    """Return whether no model is shown a change elsewhere than in a message.

    What another model makes of it may be in the other parts of the message.
    """
    return atom.shown_at <= relay.shown_at


def _recurs_everywhere(atom: Atom, relay: Atom) -> bool:
    """Return whether all that differs by a change recurs in a message; an output that does not may decide a branch."""
    return all(
        any(recurs((before, after), texts) for texts in relay.texts) for before, after in atom.texts if before != after
    )


@dataclass(frozen=True, kw_only=True)
class LineNames:
    """The words that only differing lines of what code composed have, and those that only equal lines have."""

    differing: frozenset[str]
    equal: frozenset[str]

    def fit(self, atom: Atom) -> int:
        """1 if the subject of a change is named in differing lines only, -1 if in equal ones only."""
        return bool(atom.subject & self.differing) - bool(atom.subject & self.equal)

    @classmethod
    def from_relays(cls, relays: Sequence[Atom], *, numbers: bool = True) -> "LineNames":
        """The names in the lines of relays. Without `numbers`, lines that differ in numbers alone are equal."""
        texts = [[{*_lines(text, numbers=numbers)} for text in pair] for relay in relays for pair in relay.texts]
        differing = {word for base, candidate in texts for line in base ^ candidate for word in names(line)}
        equal = {word for base, candidate in texts for line in base & candidate for word in names(line)}
        return cls(differing=frozenset(differing - equal), equal=frozenset(equal - differing))


def _lines(text: str, *, numbers: bool) -> list[str]:
    return (text if numbers else _NUMBER.sub("", text)).splitlines()
