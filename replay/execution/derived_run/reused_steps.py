"""Reused steps: copies of steps that no change reaches, verified before they are labelled exact."""

from collections import Counter
from collections.abc import Collection
from typing import Final

from django.db import transaction
from django.db.models import Count

from replay.calls.reach import explanation
from replay.core.calls import label_key
from replay.core.context import ReplayContext
from replay.core.errors import ReplayFailure
from replay.core.events import StepsReused
from replay.execution.derived_run import step_rows
from replay.execution.derived_run.checkpoints import Checkpoints
from replay.resolution import lost_recordings, replay_outputs
from replay.resolution.lost_recordings import ARTIFACT_MISSING, are_refused, refusal_text
from replay.state.replay_state import ReplayState
from traces.core.vocabulary import Label, Reason
from traces.ingest.step_rows import StepRow
from traces.models import Run, Step
from traces.payloads.lost_payloads import LostPayloads
from traces.payloads.replay_labels import REPLAY_LABELS
from traces.runs import services as traces
from traces.storage.integrity import Inspector

# Steps per transaction: short enough that other writers do not wait.
_BATCH: Final = 2500
# Steps of the first transaction, which shows that the replay runs.
_FIRST_BATCH: Final = 250


class ReusedSteps:
    """Copies the source's steps into the derived run."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._row = checkpoints.row
        self._policy = checkpoints.policy
        self._source = checkpoints.session.source_run_id
        source = checkpoints.session.source_run
        self._is_mixed = source.cached_count + source.simulated_count > 0
        # Without such steps, the copying statement needs no cases.
        self._replay_details = {str(item): replay_outputs.detail(item) for item in Reason} if self._is_mixed else {}
        self._has_losses = False
        self._inspector = Inspector()
        self._batch = _FIRST_BATCH

    def reuse(self, event: StepsReused, context: ReplayContext, state: ReplayState) -> None:
        """Copy the steps of an event; their numbers and parents may differ from the source's."""
        if self._checkpoints.session.planned:
            self._compare_with_plan(event, context)
        self._checkpoints.flush()
        if event.assumptions:
            self._refuse_assumed(event)
        elif not event.offset and not state.numbers_moved:
            self.copy(event.first, event.last)
            return
        for first in range(event.first, event.last + 1, _BATCH):
            last = min(first + _BATCH - 1, event.last)
            if last + event.offset > self._checkpoints.last:
                self._renumber(first, last, event, state)

    def copy(self, first: int, last: int) -> None:
        """Copy steps under their own numbers, except those before the checkpoint."""
        checkpoints = self._checkpoints
        while (start := max(first, checkpoints.last + 1)) <= last:
            self._row.check()
            end = start + checkpoints.room_for(min(self._batch, last - start + 1)) - 1
            self._batch = _BATCH
            losses = self._find_losses(start, end)
            checkpoints.counts += self._labels(start, end, losses)
            with transaction.atomic():
                checkpoints.commit(start, end)
                self._copy_whole(start, end, losses)
                traces.append_steps(self._row.run_id, self._lost_rows(losses))

    def _copy_whole(self, first: int, last: int, losses: dict[int, LostPayloads]) -> None:
        """Copy the steps between the unreadable ones."""
        for stop in (*losses, last + 1):
            traces.copy_steps(
                source_run_id=self._source,
                run_id=self._row.run_id,
                first=first,
                last=stop - 1,
                label=Label.EXACT,
                reason=str(Reason.SOURCE_OUTPUT_REUSED),
                detail={**label_key(), **self._checkpoints.ignoring.key},
                replay_details=self._replay_details,
            )
            first = stop + 1

    def _labels(self, first: int, last: int, losses: Collection[int]) -> Counter[Label]:
        """Count the labels of copies: those of the source if that is itself a replay."""
        labels = Counter({Label.SIMULATED: len(losses)})
        if self._is_mixed:
            steps = Step.objects.filter(run_id=self._source, sequence_no__range=(first, last), label__in=REPLAY_LABELS)
            counts = steps.exclude(sequence_no__in=losses).values_list("label").annotate(Count("id"))
            labels.update({Label(label): count for label, count in counts})
        labels[Label.EXACT] += last - first + 1 - labels.total()
        return labels

    def repeat(self, source: Run) -> bool:
        """True if the derived run has as many steps of each label as its whole source."""
        counts = self._checkpoints.counts
        totals = source.cached_count, source.simulated_count
        return (
            not self._has_losses
            and (counts[Label.CACHED], counts[Label.SIMULATED]) == totals
            and (counts.total() == source.step_count)
        )

    def _lost_rows(self, losses: dict[int, LostPayloads]) -> list[StepRow]:
        steps = Step.objects.filter(run_id=self._source, sequence_no__in=losses) if losses else ()
        save = self._checkpoints.save
        rows = [
            step_rows.lost_row(step, step.sequence_no, step.parent_no, losses[step.sequence_no], save) for step in steps
        ]
        save.flush()
        return rows

    def _refuse_assumed(self, event: StepsReused) -> None:
        """Raise `ReplayFailure` under a strict policy, which does not accept assumptions."""
        no = min(event.assumptions)
        if self._policy.strict and no + event.offset > self._checkpoints.last:
            message = f"step {no} would be assumed unaffected: {explanation(event.assumptions[no])}"
            raise ReplayFailure("strict", message, step=no)

    def _renumber(self, first: int, last: int, event: StepsReused, state: ReplayState) -> None:
        losses = self._find_losses(first, last)
        source = Step.objects.filter(run_id=self._source, sequence_no__gte=first, sequence_no__lte=last)
        self._checkpoints.add_rows(
            [
                self._renumbered_row(step, event, state, losses.get(step.sequence_no, ()))
                for step in source.order_by("sequence_no")
                if step.sequence_no + event.offset > self._checkpoints.last
            ]
        )

    def _renumbered_row(self, step: Step, event: StepsReused, state: ReplayState, losses: LostPayloads) -> StepRow:
        no, parent = step.sequence_no + event.offset, state.parent_of(step.parent_no)
        if losses:
            return step_rows.lost_row(step, no, parent, losses, self._checkpoints.save)
        if (assumption := event.assumptions.get(step.sequence_no)) is not None:
            return step_rows.assumed_row(step, no, parent, assumption)
        return step_rows.reused_row(step, no, parent)

    def _find_losses(self, first: int, last: int) -> dict[int, LostPayloads]:
        """Find unreadable steps; raises `ReplayFailure` if the policy does not accept them."""
        losses = self._inspector.steps(self._source, first, last)
        self._has_losses = self._has_losses or bool(losses)
        if losses and are_refused(self._policy):
            no = min(losses)
            raise ReplayFailure(ARTIFACT_MISSING, refusal_text(self._policy, no, losses[no]), step=no)
        return losses

    def _compare_with_plan(self, event: StepsReused, context: ReplayContext) -> None:
        losses = self._find_losses(event.first, event.last)
        for no in range(event.first, event.last + 1):
            node = context.graph.by_no[no]
            label, reason = node.reuse_label, Reason.SOURCE_OUTPUT_REUSED
            if no in event.assumptions:
                label, reason = Label.SIMULATED, Reason.ASSUMED_UNAFFECTED
            # The plan knows which containers surround a lost step.
            if lost_payloads := losses.get(no, node.losses):
                label, reason = Label.SIMULATED, lost_recordings.reason(lost_payloads)
            deviations = self._checkpoints.deviations
            deviations.resolve(no, label, reason, is_container=no in context.graph.children)
