"""How containers (agent, turn) of a derived run ended: as their last step here did, not as the source's did."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from django.db.models import F

from replay.core.calls import label_key
from replay.core.graph import CONTAINERS
from replay.models import ReplaySession
from traces.core.vocabulary import Label, Reason, StepStatus
from traces.models import Step
from traces.storage import bulk

_FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT})
_SUMS: Final = ("duration_ms", "tokens_in", "tokens_out", "tokens_cached", "cost_usd")
_CUT_OFF: Final = "The replay ended inside of it, so it has no output. Its status and duration are those of its steps."
_CHANGED: Final = "Steps in it were resolved anew: its status and duration are those of this run's steps."


def settle(run_id: UUID, touched: Collection[int | None]) -> None:
    """Give the containers around the `touched` steps the outcome of what they hold now.

    `touched` are numbers of containers in which something is not as recorded.
    """
    _settle_all(run_id, touched, cut_off=False)


def cut_off(session: ReplaySession) -> None:
    """Settle the containers in which a replay came to its end before they did; without an output none is exact."""
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


def _settle_all(run_id: UUID, touched: Collection[int | None], *, cut_off: bool) -> Mapping[str, int]:
    """Settle what encloses the touched steps; how often it had each label before."""
    containers = _around(run_id, touched)
    before = Counter(step.label for step in containers.values())
    held = _children(run_id, containers)
    for no in sorted(containers, reverse=True):  # inner ones first
        _settle(containers[no], held.get(no, []), cut_off=cut_off)
    columns = ["status", "error", "detail", "output_ref", "label", "reason", *_SUMS]
    Step.objects.bulk_update(containers.values(), columns, batch_size=100)
    return before


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


def _settle(container: Step, children: list[Step], *, cut_off: bool) -> None:
    failed = bool(children) and children[-1].status in _FAILED
    unverified = any(child.status == StepStatus.UNVERIFIED for child in children)
    ended = StepStatus.PARTIAL if cut_off else StepStatus.UNVERIFIED if unverified else StepStatus.OK
    container.status = StepStatus.ERROR if failed else ended
    container.error = children[-1].error if failed else ""
    for name in _SUMS:
        if getattr(container, name) is not None:
            setattr(container, name, _sum(getattr(child, name) for child in children))
    if cut_off:
        container.output_ref = ""  # what it would have said was never said
        container.label, container.reason = Label.SIMULATED, Reason.DERIVED
    means = _CUT_OFF if cut_off else _CHANGED
    container.detail = {**label_key(), **container.detail, "means": means}


def _sum(values: Iterable[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
