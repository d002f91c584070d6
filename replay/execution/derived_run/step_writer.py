"""Step writer: writes a replayer's events into the derived run."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NoReturn

from django.db import transaction

from replay.core.calls import Answer, Call
from replay.core.context import ReplayContext
from replay.core.errors import CancelRequest, ReplayFailure, SessionHandover
from replay.core.events import ContainerClosed, Divergence, Event, StepResolved, StepSkipped, StepsReused
from replay.engine.computed_outputs import PROVISIONAL
from replay.engine.replayer import Replayer
from replay.execution import observers
from replay.execution.derived_run import container_status, final_status, step_rows, unverified_containers
from replay.execution.derived_run.checkpoints import Checkpoints
from replay.execution.derived_run.reused_steps import ReusedSteps
from replay.execution.messages import StepsMessage
from replay.resolution.lost_recordings import ARTIFACT_MISSING, are_refused
from replay.state.replay_state import ReplayState
from traces.core.vocabulary import Label, Reason, StepStatus
from traces.models import Run, Step
from traces.payloads.parts import MissingPart
from traces.runs import services as traces


class StepWriter:
    """Writes the events of one execution as steps, and ends the run."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._row = checkpoints.row
        self._policy = checkpoints.policy
        self._reused_steps = ReusedSteps(checkpoints)
        self._closed: list[ContainerClosed] = []
        # Containers in which something differs from the recording.
        self._changed_containers: set[int | None] = set()
        self._skipped_steps: set[int] = set()
        self._end_kept = False
        self._reuses_all = False

    def copy_before(self, fork: int) -> None:
        """Copy the steps before the fork."""
        self._reused_steps.copy(1, fork - 1)

    def reuse_all(self) -> None:
        """Reuse every step, for a replay without changes."""
        session = self._row.session
        self._end_kept = self._reuses_all = True
        self._reused_steps.copy(session.fork_sequence_no, session.source_run.step_count)

    def follow(self, replayer: Replayer, inspect: Callable[[Event], None]) -> None:
        """Write a replayer's events after `inspect` accepts them.

        Steps resolved before an error are committed.
        """
        try:
            for event in replayer.run():
                inspect(event)
                self._write(event, replayer.context, replayer.state)
                self._checkpoints.flush_in_time()
        except (CancelRequest, SessionHandover, MissingPart, ReplayFailure):
            self._checkpoints.flush()
            raise

    def finish(self) -> None:
        """Write the end state and seal the run in one transaction."""
        session, checkpoints = self._row.session, self._checkpoints
        checkpoints.flush()
        self._row.check()
        checkpoints.deviations.finish()
        with transaction.atomic():
            for event in self._closed:
                self._close(event)
            self._weaken_containers()
            container_status.settle(self._row.run_id, self._changed_containers)
            status = final_status.session_status(session, checkpoints.counts)
            run_status = final_status.run_status(
                session, has_changes=bool(self._changed_containers), end_kept=self._end_kept
            )
            checkpoints.redaction.mark(Run.objects.get(id=self._row.run_id))
            repeats_source = self._reuses_all and self._reused_steps.repeat(session.source_run)
            traces.seal_run(self._row.run_id, run_status, repeats_source=repeats_source)
            observers.run_sealed(self._row.run_id)
            self._row.leave(status, current="", ended_at=datetime.now(UTC), **checkpoints.columns())
            self._row.append_messages("session")

    def _write(self, event: Event, context: ReplayContext, state: ReplayState) -> None:
        match event:
            case StepsReused():
                self._reuse(event, context, state)
            case StepResolved():
                self._resolve(event, context)
            case StepSkipped():
                self._skip(event, state)
            case Divergence():
                self._checkpoints.deviations.add(event.text)
            case ContainerClosed():
                self._defer_close(event)

    def _reuse(self, event: StepsReused, context: ReplayContext, state: ReplayState) -> None:
        self._reused_steps.reuse(event, context, state)
        self._end_kept = event.last not in event.assumptions
        # The output of a container around an assumed step is not verified.
        self._changed_containers.update(state.parent_of(context.graph.by_no[no].parent) for no in event.assumptions)

    def _skip(self, event: StepSkipped, state: ReplayState) -> None:
        self._skipped_steps.add(event.node.no)
        if event.node.parent not in self._skipped_steps:
            self._changed_containers.add(state.parent_of(event.node.parent))
        self._checkpoints.deviations.skip(event.node, is_reported=event.is_reported)

    def _resolve(self, event: StepResolved, context: ReplayContext) -> None:
        call, answer = event.call, event.answer
        node = call.node or answer.source
        is_recorded = answer.label is Label.EXACT or answer.is_reused
        if not is_recorded:
            self._changed_containers.add(call.parent)
        if node is not None:
            is_container = node.no in context.graph.children
            deviations = self._checkpoints.deviations
            deviations.resolve(node.no, answer.label or "", answer.reason or "", is_container=is_container)
        if call.no <= self._checkpoints.last:
            return
        if "unavailable" in answer.detail and are_refused(self._policy):
            self._refuse(call, answer, ARTIFACT_MISSING, answer.note)
        if answer.label is None:
            self._refuse(call, answer, "fallback_refused", answer.note)
        if self._policy.strict and answer.label is Label.SIMULATED and PROVISIONAL not in answer.detail:
            self._refuse(call, answer, "strict", f"it would be simulated ({answer.reason})")
        if answer.action != "live":  # checked before the call
            self._checkpoints.room_for(1)
        self._end_kept = is_recorded
        self._checkpoints.add(call, answer, answer.label)

    def _refuse(self, call: Call, answer: Answer, code: str, reason: str) -> NoReturn:
        """End the replay at a step whose answer the policy does not allow."""
        message = f"step {call.no} ({call.callee}): {reason}"
        failure = Answer(
            action="blocked",
            label=Label.SIMULATED,
            reason=answer.reason or Reason.POLICY_FALLBACK,
            status=StepStatus.ERROR,
            error=message,
            detail={**answer.detail, "code": code},
        )
        self._checkpoints.fail(call, failure, ReplayFailure(code, message, step=call.no))

    def _defer_close(self, event: ContainerClosed) -> None:
        self._closed.append(event)
        self._checkpoints.deviations.close(event.node.no, event.label, event.reason)
        if self._policy.strict and event.label is Label.SIMULATED:
            message = f"step {event.no} ({event.node.callee}): it would be simulated ({event.reason})"
            raise ReplayFailure("strict", message, step=event.no)

    def _weaken_containers(self) -> None:
        if not self._checkpoints.counts[Label.SIMULATED]:
            return
        if not (numbers := unverified_containers.weaken(self._row.run_id)):
            return
        self._checkpoints.counts[Label.EXACT] -= len(numbers)
        self._checkpoints.counts[Label.SIMULATED] += len(numbers)
        self._row.append_messages(*(StepsMessage(seq=0, first=no, last=no) for no in numbers))

    def _close(self, event: ContainerClosed) -> None:
        step = Step.objects.filter(run_id=self._row.run_id, sequence_no=event.no)
        ((before, detail),) = step.values_list("label", "detail")
        step.update(**step_rows.closed_columns(event, detail, self._row.run_id))
        self._checkpoints.counts[Label(before)] -= 1
        self._checkpoints.counts[event.label] += 1
        self._row.append_messages(StepsMessage(seq=0, first=event.no, last=event.no))
