"""Container status: agents and turns of a derived run end as their last step does.

One that failed in the recording without its last step failed by another one, or by its own code. It fails again if that
step does; if code failed it, nothing shows whether it would.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, F, OuterRef

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
    failed_by_code = _failed_by_code(containers.values())
    # Inner ones first.
    for no in sorted(containers, reverse=True):
        is_failed_by_code = containers[no].source_step in failed_by_code
        _settle(containers[no], children.get(no, []), cut_off=cut_off, is_failed_by_code=is_failed_by_code)
    columns = ["status", "error", "detail", "output_ref", "label", "reason", *_SUMS]
    Step.objects.bulk_update(containers.values(), columns, batch_size=100)
    return before


def _failed_by_code(containers: Iterable[Step]) -> set[UUID]:
    """The recorded containers, of those that failed, in which no step did."""
    sources = [step.source_step for step in containers if step.status in FAILED and step.source_step is not None]
    if not sources:
        return set()
    failed_children = Step.objects.filter(
        run_id=OuterRef("run_id"), parent_no=OuterRef("sequence_no"), status__in=[*FAILED, StepStatus.UNVERIFIED]
    )
    return set(Step.objects.filter(~Exists(failed_children), id__in=sources).values_list("id", flat=True))


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


def _failure(container: Step, children: Sequence[Step], failed: Sequence[Step]) -> Step | None:
    """The step by which a container fails: its last one, or, if it failed in the recording, a check or one with its
    error."""
    if failed and failed[-1] is children[-1]:
        return failed[-1]
    if container.status not in FAILED:
        return None
    return next((child for child in failed if child.type in CHECKS or child.error == container.error), None)


def _settle(container: Step, children: list[Step], *, cut_off: bool, is_failed_by_code: bool) -> None:
    failed = [child for child in children if child.status in FAILED and not is_unverified(child)]
    failure = _failure(container, children, failed)
    # Code may have failed because of a step that it had accepted until then.
    is_failed_by_code |= bool(failed) and container.status in FAILED
    has_unverified = is_failed_by_code or any(map(is_unverified, children))
    status = StepStatus.PARTIAL if cut_off else StepStatus.UNVERIFIED if has_unverified else StepStatus.OK
    container.status = StepStatus.ERROR if failure else status
    container.error = failure.error if failure else ""
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
