"""Relays: messages that the agent's code composed after an earlier output differed. Pure.

The recordings do not show whether the code passed a change on or was changed itself, so a relay is no change that could
be applied and reverted. But a replay of the base can hold it to the candidate's recording. If that makes no difference,
neither does anything that works through the relay alone.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from diffing.attribution.unexplained_changes import Atom as Root
from diffing.content.message_diff import MessagePair
from diffing.sentences.atoms.obstacles import Obstacle
from diffing.sequences.word_hunks import hunks, spaced_words
from replay.proofs.changes.atoms import Change, Slot
from replay.proofs.changes.message_edits import edit_messages
from replay.proofs.changes.overrides import RunPair, atom_of, plain_text, untestable
from replay.proofs.core.types import Atom
from traces.core.json_types import JSONValue

# Shorter words are units.
_WORD: Final = re.compile(r"[^\W\d_]{3}")


def relay(runs: RunPair, root: Root, setting: Change | None = None) -> Change:
    """A derived difference, with the overrides that hold its messages to a recording if there are any.

    `setting`: the change that sets what differs, if that is no message.
    """
    change = untestable(root, Obstacle.CODE_MAY_DERIVE)
    if root.facet is None or not (root.facet.messages or setting):
        return change
    edit = setting or _text_edit(runs, root, root.facet.messages) or edit_messages(runs, root, root.facet.messages)
    return replace(edit, atom=_relay_atom(runs, root, change.atom)) if edit.atom.testable else change


def _relay_atom(runs: RunPair, root: Root, atom: Atom) -> Atom:
    return replace(atom, is_relay=True, shown_at=frozenset(root.places), has_own_words=_has_own_words(runs, root))


def _has_own_words(runs: RunPair, root: Root) -> bool:
    """Return whether words of what code composed differ as no earlier output does; it may have computed numbers."""
    earlier = [words for pair, own in runs.output_words if pair.order_key < root.pair.order_key for words in own]
    return any(
        _WORD.search(f"{hunk.base} {hunk.candidate}") and not _is_passed_on(spaced_words(hunk), earlier)
        for texts in _texts(root)
        for hunk in hunks(*texts)
    )


def _texts(root: Root) -> list[tuple[str, str]]:
    """The texts of the messages, else of the template and its variables."""
    facet = root.facet
    if facet is None:
        return []
    messages = [(item.base, item.candidate) for item in facet.messages]
    return messages or [(plain_text(facet.base), plain_text(facet.candidate))]


def _is_passed_on(words: tuple[str, str], earlier: Iterable[tuple[str, str]]) -> bool:
    """Return whether both sides of a difference are in those of an earlier one; a side may be empty in both."""
    return any(
        all(own in other if own else not other for own, other in zip(words, output, strict=True)) for output in earlier
    )


def _text_edit(runs: RunPair, root: Root, messages: Sequence[MessagePair]) -> Change | None:
    """A message with passages of another change as one text, which can be divided; no probe holds both changes."""
    item = messages[0]
    if len(messages) > 1 or not item.passages or item.base_index is None or len(runs.beginnings(root.places)) > 1:
        return None
    step = runs.entry_step(root.pair, 0, item.base_index)
    edits: list[JSONValue] = [
        {"op": "replace", "index": item.base_index, "content": text} for text in (item.base, item.candidate)
    ]
    slot = Slot(match={"step": step}, category="messages")
    return Change(atom=atom_of(root), on_base=(slot,), base=edits[0], candidate=edits[1])
