"""Relays: messages that the agent's code composed after an earlier output differed. Pure.

The recordings do not show whether the code passed a change on or was changed itself, so a relay is no change that could
be applied and reverted. But a replay of the base can hold it to the candidate's recording. If that makes no difference,
neither does anything that works through the relay alone.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from diffing.attribution.unexplained_changes import Atom as Root
from diffing.content.message_diff import MessagePair
from diffing.sentences.atoms.obstacles import Obstacle
from diffing.sequences.word_hunks import hunks, is_repeated
from replay.proofs.changes.atoms import Change, Slot
from replay.proofs.changes.message_edits import edit_messages
from replay.proofs.changes.overrides import RunPair, atom_of, untestable
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
    """Return whether words of its messages differ as no earlier output does; numbers may have been computed."""
    before = [own for pair, own_hunks in runs.output_hunks if pair.order_key < root.pair.order_key for own in own_hunks]
    return any(
        _WORD.search(f"{hunk.base} {hunk.candidate}") and not any(is_repeated(hunk, own) for own in before)
        for item in (root.facet.messages if root.facet is not None else ())
        for hunk in hunks(item.base, item.candidate)
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
