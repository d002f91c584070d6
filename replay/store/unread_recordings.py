"""Recordings that a plan of a long run reuses without reading them, verified before its replay starts."""

from collections.abc import Sequence

from replay.core.graph import Node
from traces.models.digests import digest_keys
from traces.storage.integrity import Inspector
from traces.storage.verification import Verifier


def find_damaged_step(nodes: Sequence[Node]) -> tuple[Node, str] | None:
    """Return the first step with an unreadable payload, and the digest of what is unreadable."""
    refs = [(node, field, ref) for node in nodes for field, ref in _payloads(node) if ref]
    if Verifier().are_whole(digest_keys([ref for _, _, ref in refs])):
        return None
    inspector = Inspector()
    losses = ((node, inspector.payload(field, ref)) for node, field, ref in refs)
    return next(((node, loss.digest) for node, loss in losses if loss is not None), None)


def _payloads(node: Node) -> tuple[tuple[str, str], ...]:
    return ("input", node.input_ref), ("output", node.output_ref)
