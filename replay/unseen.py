"""Calls of model steps whose request nobody needs to know. Pure."""

from typing import TYPE_CHECKING

from replay.edits import Edits, edited_names
from replay.graph import Node
from replay.world import Call, Resolved

if TYPE_CHECKING:
    from replay.walk import Walk


def resolve_unseen(walk: "Walk", node: Node, edits: Edits, *, repeats: bool = False) -> Resolved:
    """Resolve a model step whose request `repeats` the recorded one, or else is one that no cache can hold."""
    call = walk.underived.applied(_call(walk, node, edits, repeats=repeats))
    answer = walk.resolvers.resolve(call)
    walk.settle(node, answer)
    return Resolved(call=call, answer=answer)


def _call(walk: "Walk", node: Node, edits: Edits, *, repeats: bool) -> Call:
    override = edits.model.get("provider")
    provider = node.provider if override is None else str(override)
    model = str(edits.model.get("model", node.model))
    return Call(
        no=walk.numbered(node), parent=walk.parent_of(node.parent), type=node.type, name=node.named_for(model),
        input={}, node=node, complete=bool(node.input_ref), changed=not repeats, because=walk.because(node),
        differs=() if repeats else _differs(node, edits, provider, model), provider=provider, model=model,
        override_provider=None if override is None else provider, tool_name=node.tool_name, call_id=node.call_id,
        signature=node.signature if repeats else "", edits=edits,
    )  # fmt: skip


def _differs(node: Node, edits: Edits, provider: str, model: str) -> tuple[str, ...]:
    asked = (("provider", provider, node.provider), ("model", model, node.model))
    named = [name for name, now, recorded in asked if now != recorded]
    return tuple(dict.fromkeys(("messages", *named, *edited_names(edits.model))))
