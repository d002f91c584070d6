"""Losses: unreadable payloads of a run that is replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from replay.core.graph import CONTAINERS, Node
from traces.models import Step
from traces.models.digests import digest_keys
from traces.payloads.lost_payloads import LostPayload, LostPayloads
from traces.storage import bulk
from traces.storage.integrity import Inspector
from traces.storage.verification import Verifier

_FULL_CHECK_STEPS: Final = 2000  # verifying all artifacts takes about 50 microseconds per step


def find_losses(run_id: UUID, steps: int, *, first: int = 1) -> dict[int, LostPayloads]:
    """Unreadable payloads by step of a run with so many steps, as a plan reports them: from a step on, and around it.

    Verifying every artifact of a long run would take too long for a plan; execution does it.
    """
    inspector = Inspector(shallow=is_too_long_to_verify(steps))
    losses = inspector.steps(run_id, first, steps)
    for no in _containers_around(run_id, first):
        losses |= inspector.steps(run_id, no, no)
    for no, loss in inner_losses(run_id, {no: payloads[0] for no, payloads in losses.items()}).items():
        losses[no] = (*losses.get(no, ()), loss)
    return losses


def inner_losses(run_id: UUID, losses: Mapping[int, LostPayload]) -> dict[int, LostPayload]:
    """Return, by container without an output, the loss of the last unreadable step inside it.

    What such a container returned is what the steps inside it did, so it is no better known than they are.
    """
    result: dict[int, LostPayload] = {}
    level = {no: replace(loss, inner=no) for no, loss in losses.items()}
    while level:
        outer_level: dict[int, LostPayload] = {}
        for no, parent, type, output_ref in _steps(run_id, level):
            if type in CONTAINERS and not output_ref:
                _keep_last(result, no, level[no])
            if parent is not None:
                _keep_last(outer_level, parent, level[no])
        level = outer_level
    return result


def is_too_long_to_verify(steps: int) -> bool:
    """True if only the existence of a run's artifacts is checked for a plan."""
    return steps > _FULL_CHECK_STEPS


def find_damaged_step(nodes: Sequence[Node]) -> tuple[Node, str] | None:
    """Return the first step with an unreadable payload, and the digest of what is unreadable."""
    refs = [(node, field, ref) for node in nodes for field, ref in _payloads(node) if ref]
    if Verifier().are_whole(digest_keys([ref for _, _, ref in refs])):
        return None
    inspector = Inspector()
    losses = ((node, inspector.payload(field, ref)) for node, field, ref in refs)
    return next(((node, loss.digest) for node, loss in losses if loss is not None), None)


def _containers_around(run_id: UUID, fork: int) -> set[int]:
    """Numbers of the containers before the fork that enclose steps after it."""
    inner = Step.objects.filter(run_id=run_id, sequence_no__gte=fork)
    numbers: set[int] = set()
    while True:
        parents = inner.filter(parent_no__lt=fork).values_list("parent_no", flat=True).distinct()
        level = {no for no in parents if no is not None} - numbers
        if not level:
            return numbers
        numbers |= level
        inner = Step.objects.filter(run_id=run_id, sequence_no__in=level)


def _steps(run_id: UUID, numbers: Mapping[int, LostPayload]) -> list[tuple[int, int | None, str, str]]:
    columns = ("sequence_no", "parent_no", "type", "output_ref")
    chunks = bulk.chunks(numbers)
    return [
        row
        for chunk in chunks
        for row in Step.objects.filter(run_id=run_id, sequence_no__in=chunk).values_list(*columns)
    ]


def _keep_last(losses: dict[int, LostPayload], no: int, loss: LostPayload) -> None:
    if no not in losses or (losses[no].inner or 0) < (loss.inner or 0):
        losses[no] = loss


def _payloads(node: Node) -> tuple[tuple[str, str], ...]:
    return ("input", node.input_ref), ("output", node.output_ref)
