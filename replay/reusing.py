"""Reused steps: copies of what no change reaches, verified before they are called exact."""

from typing import TYPE_CHECKING, Final

from django.db import transaction

from replay import derived
from replay.lost import ARTIFACT_MISSING, are_refused, refusal_text
from replay.problems import Stopped
from replay.reach import explanation
from replay.replayer import Replayer
from replay.world import Kept, label_key
from traces import services as traces
from traces.integrity import Inspector
from traces.losses import LostPayloads
from traces.models import Step
from traces.rows import StepRow
from traces.vocabulary import Label, Reason

if TYPE_CHECKING:
    from replay.execution import Execution

_BATCH: Final = 2500  # steps in one transaction: short enough that other writers need not wait


class ReusedSteps:
    """Takes over the source's steps into the derived run."""

    def __init__(self, execution: "Execution") -> None:
        self._execution = execution
        self._source = execution.session.source_run_id
        self._inspector = Inspector()

    def keep(self, event: Kept, replayer: Replayer) -> None:
        """Take over steps that a replay comes to; their numbers and parents may differ from the source's."""
        execution = self._execution
        if execution.session.planned:
            self._compare_with_plan(event, replayer)
        execution.flush()
        execution.end_kept = True
        if event.assumed:
            self._refuse_assumed(event)
            # A container around an assumed step has output of steps that nobody verified.
            execution.touched.update(
                replayer.state.parent_of(replayer.context.graph.by_no[no].parent) for no in event.assumed
            )
        elif not event.offset and not replayer.state.numbers_moved:
            self.copy(event.first, event.last)
            return
        for first in range(event.first, event.last + 1, _BATCH):
            last = min(first + _BATCH - 1, event.last)
            if last + event.offset > execution.checkpoint:
                self._renumber(first, last, event, replayer)

    def copy(self, first: int, last: int) -> None:
        """Copy steps under their own numbers, those before the checkpoint aside."""
        execution = self._execution
        while (start := max(first, execution.checkpoint + 1)) <= last:
            execution.check_cancelled()
            end = start + execution.room_for(min(_BATCH, last - start + 1)) - 1
            lost = self._lost(start, end)
            execution.counts[Label.EXACT] += end - start + 1 - len(lost)
            execution.counts[Label.SIMULATED] += len(lost)
            with transaction.atomic():
                execution.progress(start, end)
                self._copy_whole(start, end, lost)
                traces.append_steps(execution.run_id, self._unverified(lost))

    def _copy_whole(self, first: int, last: int, lost: dict[int, LostPayloads]) -> None:
        """Copy the steps between the lost ones."""
        for stop in (*lost, last + 1):
            traces.copy_steps(
                source_run_id=self._source,
                run_id=self._execution.run_id,
                first=first,
                last=stop - 1,
                label=Label.EXACT,
                reason=str(Reason.SOURCE_OUTPUT_REUSED),
                detail={**label_key(), **self._execution.ignoring.key},
            )
            first = stop + 1

    def _unverified(self, lost: dict[int, LostPayloads]) -> list[StepRow]:
        steps = Step.objects.filter(run_id=self._source, sequence_no__in=lost) if lost else ()
        save = self._execution.save
        return [
            derived.lost_row(step, step.sequence_no, step.parent_no, lost[step.sequence_no], save) for step in steps
        ]

    def _refuse_assumed(self, event: Kept) -> None:
        """Raise `Stopped` under a strict policy: what is assumed is not known."""
        no = min(event.assumed)
        if self._execution.policy.strict and no + event.offset > self._execution.checkpoint:
            why = f"step {no} would be assumed unaffected: {explanation(event.assumed[no])}"
            raise Stopped("strict", why, step=no)

    def _renumber(self, first: int, last: int, event: Kept, replayer: Replayer) -> None:
        execution, lost = self._execution, self._lost(first, last)
        source = Step.objects.filter(run_id=self._source, sequence_no__gte=first, sequence_no__lte=last)
        rows = [
            self._renumbered(step, event, replayer, lost.get(step.sequence_no, ()))
            for step in source.order_by("sequence_no")
            if step.sequence_no + event.offset > execution.checkpoint
        ]
        while rows:
            room = execution.room_for(len(rows))
            execution.buffer, rows = rows[:room], rows[room:]
            for row in execution.buffer:
                execution.counts[row.label] += 1
            execution.check_cancelled()
            execution.flush()

    def _renumbered(self, step: Step, event: Kept, replayer: Replayer, lost: LostPayloads) -> StepRow:
        no, parent = step.sequence_no + event.offset, replayer.state.parent_of(step.parent_no)
        if lost:
            return derived.lost_row(step, no, parent, lost, self._execution.save)
        if (assumption := event.assumed.get(step.sequence_no)) is not None:
            return derived.assumed_row(step, no, parent, assumption)
        return derived.kept_row(step, no, parent)

    def _lost(self, first: int, last: int) -> dict[int, LostPayloads]:
        """The steps that cannot be read; raises `Stopped` where the policy wants them as recorded."""
        lost = self._inspector.steps(self._source, first, last)
        if lost and are_refused(self._execution.policy):
            no = min(lost)
            raise Stopped(ARTIFACT_MISSING, refusal_text(self._execution.policy, no, lost[no]), step=no)
        return lost

    def _compare_with_plan(self, event: Kept, replayer: Replayer) -> None:
        lost = self._lost(event.first, event.last)
        for no in range(event.first, event.last + 1):
            label, reason = Label.EXACT, Reason.SOURCE_OUTPUT_REUSED
            if no in event.assumed:
                label, reason = Label.SIMULATED, Reason.ASSUMED_UNAFFECTED
            if no in lost:
                label, reason = Label.SIMULATED, Reason.POLICY_FALLBACK
            self._execution.deviations.became(no, label, reason, holds_others=no in replayer.context.graph.children)
