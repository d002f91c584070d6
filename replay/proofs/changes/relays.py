"""Relays: messages that the agent's code composed after an earlier output differed. Pure.

The recordings do not show whether the code passed a change on or was changed itself, so a relay is no change that could
be applied and reverted. But a replay of the base can hold it to the candidate's recording. If that makes no difference,
neither does anything that works through the relay alone.
"""

from dataclasses import replace

from diffing.attribution.unexplained_changes import Atom as Root
from diffing.sentences.atoms.obstacles import Obstacle
from replay.proofs.changes.atoms import Change
from replay.proofs.changes.message_edits import edit_messages
from replay.proofs.changes.overrides import RunPair, untestable


def relay(runs: RunPair, root: Root) -> Change:
    """A derived difference, with the overrides that hold its messages to a recording if there are any."""
    change = untestable(root, Obstacle.CODE_MAY_DERIVE)
    if root.facet is None or not root.facet.messages:
        return change
    edit = edit_messages(runs, root, root.facet.messages)
    return replace(edit, atom=replace(change.atom, is_relay=True)) if edit.atom.testable else change
