"""Container status: agents and turns of a derived run end as their last step does."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from django.db.models import F

from replay.core.calls import label_key
from replay.core.graph import CHECKS, CONTAINERS
from replay.models import ReplaySession
from traces.core.vocabulary import Label, Reason, StepStatus
from traces.models import Step
from traces.payloads.replay_labels import origin_reason
from traces.storage import bulk

FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT})
_SUMS: Final = ("duration_ms", "tokens_in", "tokens_out", "tokens_cached", "cost_usd")
_CUT_OFF: Final = "The replay ended inside it, so it has no output. Its status and duration come from its steps."
_CHANGED: Final = "Steps in it were resolved again: its status and duration come from this run's steps."


def is_unverified(step: Step) -> bool:
    """True if a check did not run: its result is a placeholder, or kept on an assumption."""
    if step.type not in CHECKS or step.status == StepStatus.UNVERIFIED:
        return step.status == StepStatus.UNVERIFIED
    return step.label == Label.SIMULATED and origin_reason(step.reason, step.detail) != Reason.AGENT_RAN


def settle(run_id: UUID, container_numbers: Collection[int | None]) -> None:
    """Derive the outcome of changed containers, and of those around them, from their steps.

    `container_numbers` are the containers in which something differs from the recording.
    """
    _settle_all(run_id, container_numbers, cut_off=False)


def cut_off(session: ReplaySession) -> None:
    """Settle the containers that were open when the replay ended; without an output none is exact."""
    if session.run_id is None:
        return
    steps = Step.objects.filter(run_id=session.run_id).order_by("-sequence_no")
    last = steps.values_list("sequence_no", "parent_no").first()
    before = _settle_all(session.run_id, set(last or ()), cut_off=True)
    ReplaySession.objects.filter(id=session.id).update(
        exact_count=F("exact_count") - before.get(Label.EXACT, 0),
        cached_count=F("cached_count") - before.get(Label.CACHED, 0),
        simulated_count=F("simulated_count") + before.get(Label.EXACT, 0) + before.get(Label.CACHED, 0),
    )


def _settle_all(run_id: UUID, container_numbers: Collection[int | None], *, cut_off: bool) -> Mapping[str, int]:
    """Settle containers and those around them; returns how many had each label before."""
    containers = _enclosing_containers(run_id, container_numbers)
    before = Counter(step.label for step in containers.values())
    children = _children(run_id, containers)
    # Inner ones first.
    for no in sorted(containers, reverse=True):
        _settle(containers[no], children.get(no, []), cut_off=cut_off)
    columns = ["status", "error", "detail", "output_ref", "label", "reason", *_SUMS]
    Step.objects.bulk_update(containers.values(), columns, batch_size=100)
    return before


def _enclosing_containers(run_id: UUID, container_numbers: Collection[int | None]) -> dict[int, Step]:
    """Return the given containers and those that enclose them."""
    if not set(container_numbers) - {None}:
        return {}
    containers = {step.sequence_no: step for step in Step.objects.filter(run_id=run_id, type__in=CONTAINERS)}
    enclosing: dict[int, Step] = {}
    for current in container_numbers:
        while current is not None and current in containers and current not in enclosing:
            enclosing[current] = containers[current]
            current = containers[current].parent_no
    return enclosing


def _children(run_id: UUID, containers: Mapping[int, Step]) -> dict[int, list[Step]]:
    """Return the children of each container in order; nested containers are the given instances."""
    columns = ("id", "sequence_no", "parent_no", "type", "status", "error", "label", "reason", "detail", *_SUMS)
    children_by_parent: dict[int, list[Step]] = {}
    for parents in bulk.chunks(containers):
        children = Step.objects.filter(run_id=run_id, parent_no__in=parents).only(*columns)
        for step in children.order_by("sequence_no"):
            children_by_parent.setdefault(step.parent_no or 0, []).append(containers.get(step.sequence_no, step))
    return children_by_parent


def _settle(container: Step, children: list[Step], *, cut_off: bool) -> None:
    has_unverified = any(map(is_unverified, children))
    failed = bool(children) and children[-1].status in FAILED and not is_unverified(children[-1])
    status = StepStatus.PARTIAL if cut_off else StepStatus.UNVERIFIED if has_unverified else StepStatus.OK
    container.status = StepStatus.ERROR if failed else status
    container.error = children[-1].error if failed else ""
    for name in _SUMS:
        if getattr(container, name) is not None:
            setattr(container, name, _sum(getattr(child, name) for child in children))
    if cut_off:
        container.output_ref = ""  # the recorded output does not apply
        container.label, container.reason = Label.SIMULATED, Reason.DERIVED
    note = _CUT_OFF if cut_off else _CHANGED
    container.detail = {**label_key(), **container.detail, "means": note}


def _sum(values: Iterable[Any]) -> Any:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None
