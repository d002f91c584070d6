"""How containers (agent, turn) of a derived run ended: as their last step here did, not as the source's did."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from replay.graph import CONTAINERS
from replay.world import label_key
from traces import bulk
from traces.models import Step
from traces.vocabulary import StepStatus, StepType

_FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT})
_SUMS: Final = ("duration_ms", "tokens_in", "tokens_out", "tokens_cached", "cost_usd")
_OPEN: Final = (
    "The step was open at the fork: its label speaks of its start, which is the recorded one. "
    "Its status and duration are those of this run's steps."
)
_CHANGED: Final = "Steps in it were resolved anew: its status and duration are those of this run's steps."


def settle(run_id: UUID, touched: Collection[int | None], fork: int, *, cut_off: bool = False) -> None:
    """Give the containers around the `touched` steps the outcome of what they hold now.

    `touched` are numbers of containers in which something is not as recorded. `cut_off`: the replay was stopped
    inside of them.
    """
    containers = _around(run_id, touched)
    last = _children(run_id, containers)
    for no in sorted(containers, reverse=True):  # inner ones first
        _settle(containers[no], last.get(no, []), fork, cut_off=cut_off)
    Step.objects.bulk_update(containers.values(), ["status", "error", "detail", *_SUMS], batch_size=100)


def cut_off(run_id: UUID, fork: int, *, failed: bool) -> None:
    """Settle the containers in which a replay came to its end before they did."""
    parent = Step.objects.filter(run_id=run_id).order_by("-sequence_no").values_list("parent_no", flat=True).first()
    settle(run_id, {parent}, fork, cut_off=not failed)


def ends_failing(run_id: UUID) -> bool:
    """Whether the last outermost step failed; the output after it only repeats what there was."""
    outermost = Step.objects.filter(run_id=run_id, parent_no__isnull=True).exclude(type=StepType.OUTPUT)
    return outermost.order_by("-sequence_no").values_list("status", flat=True).first() in _FAILED


def has_failures(run_id: UUID) -> bool:
    """Whether any step of a run failed."""
    return Step.objects.filter(run_id=run_id, status__in=_FAILED).exists()


def _around(run_id: UUID, touched: Collection[int | None]) -> dict[int, Step]:
    """The touched containers and those that enclose them."""
    if not set(touched) - {None}:
        return {}
    every = {step.sequence_no: step for step in Step.objects.filter(run_id=run_id, type__in=CONTAINERS)}
    found: dict[int, Step] = {}
    for current in touched:
        while current is not None and current in every and current not in found:
            found[current] = every[current]
            current = every[current].parent_no
    return found


def _children(run_id: UUID, containers: Mapping[int, Step]) -> dict[int, list[Step]]:
    """The children of each container in order; a container among them is the one that is settled."""
    columns = ("id", "sequence_no", "parent_no", "status", "error", *_SUMS)
    found: dict[int, list[Step]] = {}
    for parents in bulk.chunks(containers):
        children = Step.objects.filter(run_id=run_id, parent_no__in=parents).only(*columns)
        for step in children.order_by("sequence_no"):
            found.setdefault(step.parent_no or 0, []).append(containers.get(step.sequence_no, step))
    return found


def _settle(container: Step, children: list[Step], fork: int, *, cut_off: bool) -> None:
    failed = bool(children) and children[-1].status in _FAILED
    container.status = StepStatus.ERROR if failed else StepStatus.PARTIAL if cut_off else StepStatus.OK
    container.error = children[-1].error if failed else ""
    for name in _SUMS:
        if getattr(container, name) is not None:
            setattr(container, name, _sum(getattr(child, name) for child in children))
    means = _OPEN if container.sequence_no < fork else _CHANGED
    container.detail = {**label_key(), **container.detail, "means": means}


def _sum(values: Iterable[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
