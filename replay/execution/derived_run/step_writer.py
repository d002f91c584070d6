"""Writes into the derived run what a replayer says."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NoReturn

from django.db import transaction

from replay.core.calls import Answer, Call
from replay.core.context import ReplayContext
from replay.core.errors import CancelRequest, ReplayFailure, SessionHandover
from replay.core.events import ContainerClosed, Divergence, Event, StepResolved, StepSkipped, StepsReused
from replay.engine.computed_outputs import BEGUN
from replay.engine.replayer import Replayer
from replay.execution import observers
from replay.execution.derived_run import container_status, final_status, step_rows
from replay.execution.derived_run.checkpoints import Checkpoints
from replay.execution.derived_run.reused_steps import ReusedSteps
from replay.execution.messages import StepsMessage
from replay.resolution.lost_recordings import ARTIFACT_MISSING, are_refused
from replay.state.replay_state import ReplayState
from traces.core.vocabulary import Label, Reason, StepStatus
from traces.models import Step
from traces.payloads.parts import MissingPart
from traces.runs import services as traces


class StepWriter:
    """One execution's events, as steps; how the run ends."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._row = checkpoints.row
        self._policy = checkpoints.policy
        self._reused = ReusedSteps(checkpoints)
        self._closed: list[ContainerClosed] = []
        self._touched: set[int | None] = set()  # the parents of what is not as recorded
        self._gone: set[int] = set()
        self._end_kept = False

    def copy_before(self, fork: int) -> None:
        """What lies before the fork is as recorded."""
        self._reused.copy(1, fork - 1)

    def keep_everything(self) -> None:
        """A replay that changes nothing keeps every step."""
        session = self._row.session
        self._end_kept = True
        self._reused.copy(session.fork_sequence_no, session.source_run.step_count)

    def follow(self, replayer: Replayer, see: Callable[[Event], None]) -> None:
        """Write what a replayer says, once `see` let it pass; whatever ends it, what was resolved before stays."""
        try:
            for event in replayer.run():
                see(event)
                self._write(event, replayer.context, replayer.state)
                self._checkpoints.flush_in_time()
        except (CancelRequest, SessionHandover, MissingPart, ReplayFailure):
            self._checkpoints.flush()
            raise

    def finish(self) -> None:
        """The end state, and the sealed run, in one transaction."""
        session, checkpoints = self._row.session, self._checkpoints
        checkpoints.flush()
        self._row.check()
        checkpoints.deviations.finish()
        with transaction.atomic():
            for event in self._closed:
                self._close(event)
            container_status.settle(self._row.run_id, self._touched)
            status = final_status.session_status(session, checkpoints.counts)
            ended = final_status.run_status(session, touched=bool(self._touched), end_kept=self._end_kept)
            traces.seal_run(self._row.run_id, ended)
            observers.run_sealed(self._row.run_id)
            self._row.leave(status, current="", ended_at=datetime.now(UTC), **checkpoints.columns())
            self._row.append_messages("session")

    def _write(self, event: Event, context: ReplayContext, state: ReplayState) -> None:
        match event:
            case StepsReused():
                self._keep(event, context, state)
            case StepResolved():
                self._resolved(event, context)
            case StepSkipped():
                self._left_out(event, state)
            case Divergence():
                self._checkpoints.deviations.say(event.text)
            case ContainerClosed():
                self._will_close(event)

    def _keep(self, event: StepsReused, context: ReplayContext, state: ReplayState) -> None:
        self._reused.keep(event, context, state)
        self._end_kept = True
        # A container around an assumed step has output of steps that nobody verified.
        self._touched.update(state.parent_of(context.graph.by_no[no].parent) for no in event.assumptions)

    def _left_out(self, event: StepSkipped, state: ReplayState) -> None:
        self._gone.add(event.node.no)
        if event.node.parent not in self._gone:
            self._touched.add(state.parent_of(event.node.parent))
        self._checkpoints.deviations.left_out(event.node, told=event.is_reported)

    def _resolved(self, event: StepResolved, context: ReplayContext) -> None:
        call, answer = event.call, event.answer
        node = call.node or answer.source
        if answer.label is not Label.EXACT:
            self._touched.add(call.parent)
        if node is not None:
            holds = node.no in context.graph.children
            deviations = self._checkpoints.deviations
            deviations.became(node.no, answer.label or "", answer.reason or "", holds_others=holds)
        if call.no <= self._checkpoints.last:
            return
        if "unavailable" in answer.detail and are_refused(self._policy):
            self._refuse(call, answer, ARTIFACT_MISSING, answer.note)
        if answer.label is None:
            self._refuse(call, answer, "fallback_refused", answer.note)
        if self._policy.strict and answer.label is Label.SIMULATED and BEGUN not in answer.detail:
            self._refuse(call, answer, "strict", f"it would be simulated ({answer.reason})")
        if answer.action != "live":  # there was room for it before it was asked
            self._checkpoints.room_for(1)
        self._end_kept = answer.label is Label.EXACT
        self._checkpoints.add(call, answer, answer.label)

    def _refuse(self, call: Call, answer: Answer, code: str, why: str) -> NoReturn:
        """End at a step that the policy does not let be answered so."""
        said = f"step {call.no} ({call.callee}): {why}"
        failed = Answer(
            action="blocked",
            label=Label.SIMULATED,
            reason=answer.reason or Reason.POLICY_FALLBACK,
            status=StepStatus.ERROR,
            error=said,
            detail={**answer.detail, "code": code},
        )
        self._checkpoints.fail(call, failed, ReplayFailure(code, said, step=call.no))

    def _will_close(self, event: ContainerClosed) -> None:
        self._closed.append(event)
        self._checkpoints.deviations.closed(event.node.no, event.label, event.reason)
        if self._policy.strict and event.label is Label.SIMULATED:
            why = f"step {event.no} ({event.node.callee}): it would be simulated ({event.reason})"
            raise ReplayFailure("strict", why, step=event.no)

    def _close(self, event: ContainerClosed) -> None:
        step = Step.objects.filter(run_id=self._row.run_id, sequence_no=event.no)
        ((before, detail),) = step.values_list("label", "detail")
        step.update(**step_rows.closed_columns(event, detail))
        self._checkpoints.counts[Label(before)] -= 1
        self._checkpoints.counts[event.label] += 1
        self._row.append_messages(StepsMessage(seq=0, first=event.no, last=event.no))
