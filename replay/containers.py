"""How containers (agent, turn) of a derived run ended: as their last step here did, not as the source's did."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from replay.graph import CONTAINERS
from replay.world import label_key
from traces import bulk
from traces.models import Step
from traces.vocabulary import StepStatus

_FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT})
_SUMS: Final = ("duration_ms", "tokens_in", "tokens_out", "tokens_cached", "cost_usd")
_OPEN: Final = (
    "The step was open at the fork: its label speaks of its start, which is the recorded one. "
    "Its status and duration are those of this run's steps."
)
_CUT_OFF: Final = (
    "The replay ended inside of it, so it has no output: its label speaks of its start. "
    "Its status and duration are those of this run's steps."
)
_CHANGED: Final = "Steps in it were resolved anew: its status and duration are those of this run's steps."


def settle(run_id: UUID, touched: Collection[int | None], fork: int) -> None:
    """Give the containers around the `touched` steps the outcome of what they hold now.

    `touched` are numbers of containers in which something is not as recorded.
    """
    _settle_all(run_id, touched, fork, cut_off=False)


def cut_off(run_id: UUID, fork: int) -> None:
    """Settle the containers in which a replay came to its end before they did."""
    last = Step.objects.filter(run_id=run_id).order_by("-sequence_no").values_list("sequence_no", "parent_no").first()
    _settle_all(run_id, set(last or ()), fork, cut_off=True)


def _settle_all(run_id: UUID, touched: Collection[int | None], fork: int, *, cut_off: bool) -> None:
    containers = _around(run_id, touched)
    held = _children(run_id, containers)
    for no in sorted(containers, reverse=True):  # inner ones first
        _settle(containers[no], held.get(no, []), fork, cut_off=cut_off)
    columns = ["status", "error", "detail", "output_ref", *_SUMS]
    Step.objects.bulk_update(containers.values(), columns, batch_size=100)


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
    if cut_off:
        container.output_ref = ""  # what it would have said was never said
    means = _CUT_OFF if cut_off else _OPEN if container.sequence_no < fork else _CHANGED
    container.detail = {**label_key(), **container.detail, "means": means}


def _sum(values: Iterable[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
