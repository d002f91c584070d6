"""Calls of model steps whose request nobody needs to know. Pure."""

from typing import TYPE_CHECKING

from replay.edits import Edits
from replay.graph import Node
from replay.world import Call

if TYPE_CHECKING:
    from replay.walk import Walk


def unseen_call(walk: "Walk", node: Node, edits: Edits) -> Call:
    """The call of a model step without its request."""
    override = edits.model.get("provider")
    provider = node.provider if override is None else str(override)
    model = str(edits.model.get("model", node.model))
    differs = [
        name for name, asked, recorded in (("provider", provider, node.provider), ("model", model, node.model))
        if asked != recorded
    ]  # fmt: skip
    return Call(
        no=walk.numbered(node), parent=walk.parent_of(node.parent), type=node.type, name=node.named_for(model),
        input={}, node=node, complete=bool(node.input_ref), differs=tuple(differs), because=walk.because(node),
        provider=provider, model=model, override_provider=None if override is None else provider,
        tool_name=node.tool_name, call_id=node.call_id, edits=edits,
    )  # fmt: skip
