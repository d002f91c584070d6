"""One execution of a session: the world that the engine walks in, and the writer of what it says.

Every resolved step is committed together with the session's progress: that commit is the checkpoint. After a
crash the replay begins again and finds its committed steps and finished live calls instead of resolving them.
"""

import time
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NoReturn
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from replay import (
    asking,
    cache,
    containers,
    derived,
    ending,
    livecalls,
    liveretrieval,
    livetools,
    log,
    preflight,
    retrieval,
    stopping,
    tool_queries,
    tools,
)
from replay.computing import BEGUN
from replay.deviations import Deviations
from replay.graph import Graph
from replay.hooks import lifecycle
from replay.hooks.types import NO_HOOKS, Hooks
from replay.langfuse import exporting
from replay.loading import Payloads
from replay.lost import ARTIFACT_MISSING, are_refused
from replay.models import ReplaySession
from replay.policy import Policy
from replay.problems import CancelRequested, HandedBack, OperatorNeeded, OwnershipLost, Stopped
from replay.replayer import Replayer
from replay.reusing import ReusedSteps
from replay.saving import Saver
from replay.schemas import StepsResolved
from replay.world import (
    Answer,
    Call,
    Closed,
    Diverged,
    Event,
    Gone,
    Hit,
    Kept,
    OperatorAnswer,
    Resolved,
    Serving,
    Standing,
)
from traces import ignore_lists, live
from traces import services as traces
from traces.models import Step
from traces.parts import MissingPart
from traces.rows import StepRow
from traces.vocabulary import Label, Reason, RunSource, StepStatus

_BUFFERED: Final = 200
_UNANSWERED: Final = "which no recording answers: what does it return?"
_PATIENCE_S: Final = 0.05  # how long resolved steps may wait for company before they are committed


class Execution:
    """Implements `World`, and `handle` for what the replayer says."""

    planning = False

    def __init__(self, session: ReplaySession, owner: str, policy: Policy, payloads: Payloads) -> None:
        self.session = session
        self.owner = owner
        self.policy = policy
        self.payload = payloads
        self.save = Saver()
        # The list of the plan, also when another one holds by now.
        self.ignoring = ignore_lists.of_version(session.source_run.app, session.plan.get("ignore_list", 0))
        self.calls = livecalls.LiveCalls(self)
        self.reused = ReusedSteps(self)
        self.checkpoint = session.checkpoint_no
        self.counts = {Label.EXACT: session.exact_count, Label.CACHED: session.cached_count,
                       Label.SIMULATED: session.simulated_count}  # fmt: skip
        self.deviations = Deviations(session.planned)
        self.buffer, self.buffered_at = list[StepRow](), 0.0
        self.closed: list[Closed] = []
        self.touched: set[int | None] = set()  # the parents of what is not as recorded
        self.gone: set[int] = set()
        self.committed: dict[int, Step] = {}
        self.end_kept = False
        self.hooks: Hooks = NO_HOOKS

    # Before the replay

    def completed_graph(self, graph: Graph) -> Graph:
        """The graph of the source, with what else is known of its data flow."""
        return graph

    def open(self) -> None:
        """Open the derived run, or take it over: what lies after the last checkpoint is taken back."""
        session = self.session
        self.hooks = lifecycle.begin(session, taken_over=session.run_id is not None)
        if session.run_id is None:
            with transaction.atomic():
                run = traces.open_run(
                    name=session.source_run.name, app=session.source_run.app, source_run=session.source_run,
                    fork_sequence_no=session.fork_sequence_no, session_id=session.id,
                    environment=session.source_run.environment, metadata=derived.metadata(session),
                    source=RunSource.PROBE if session.is_probe else RunSource.REPLAY,
                )  # fmt: skip
                session.run = run
                self._update(run=run)
                log.say(session.id, "session")
        else:
            with transaction.atomic():
                self._update()  # holds the session, so that nobody else writes steps that this would take back
                taken_back = traces.truncate_steps(self.run_id, self.checkpoint)
            if taken_back or session.lost_workers:
                taken_over = [datetime.now(UTC).isoformat(), self.checkpoint, taken_back]
                self._update(takeovers=[*session.takeovers, taken_over])
                log.say(session.id, "session")
            rows = Step.objects.filter(run_id=self.run_id, sequence_no__gte=session.fork_sequence_no)
            self.committed = {row.sequence_no: row for row in rows}
        self.reused.copy(1, session.fork_sequence_no - 1)

    @property
    def run_id(self) -> UUID:
        if self.session.run_id is None:
            raise RuntimeError(f"session {self.session.id} has no run yet")
        return self.session.run_id

    # The world

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> Hit | None:
        return cache.lookup(self.session.source_run.app, signature, exclude=exclude)

    def similar(self, call: Call, threshold: float) -> Hit | None:
        return cache.similar(self.session.source_run, call.called, call.input, threshold, self.ignoring)

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        return preflight.provider_name(provider, model, override)

    def live(self, call: Call, provider: str) -> Answer:
        self._prepare_call()
        return self.calls.answer(call, provider)

    def tool(self, name: str) -> Standing:
        """As decided now: a review that was taken back holds at once."""
        configured = tools.configured().get(name)
        return Standing(safe=tool_queries.standing(name), executor="" if configured is None else configured.place)

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        self._prepare_call()
        return livetools.answer(self.calls, tools.configured()[call.called], call)

    def retriever(self, call: Call) -> Serving:
        return preflight.retriever(call)

    def live_retrieval(self, call: Call, serving: Serving) -> Answer:
        self._prepare_call()
        return liveretrieval.answer(self.calls, retrieval.configured()[serving.name], call)

    def ask(self, call: Call, why: str = _UNANSWERED, may_run: bool = False) -> OperatorAnswer | None:
        """The operator's stored answer, else the session begins to wait. `run` is no answer to what came of a call."""
        if (answer := asking.answered(self.session, call, may_run=may_run)) is not None:
            return answer
        self.flush()
        question = asking.question(call, why, may_run=may_run)
        with transaction.atomic():
            self._update(
                status="awaiting_operator", question=question.model_dump(mode="json"), current=question.text[:300],
                owner="",
            )  # fmt: skip
            if ReplaySession.objects.filter(id=self.session.id, cancel_requested=True).exists():
                raise CancelRequested
            log.say(self.session.id, "session")
        raise OperatorNeeded

    def resumed(self, no: int) -> Answer | None:
        row = self.committed.get(no)
        if row is None:
            return None
        if "code" in row.detail:  # the replay failed here, and its worker ended before it could say so
            raise Stopped(str(row.detail["code"]), row.error, step=no, finished=True)
        return derived.answer_of_row(row, self.payload(row.output_ref) if row.output_ref else None)

    # What the replayer says

    def follow(self, replayer: Replayer) -> None:
        """Write what a replayer says; whatever ends it, what was resolved before stays."""
        try:
            for event in replayer.run():
                self.handle(event, replayer)
        except (CancelRequested, HandedBack, MissingPart, Stopped):
            self.flush()
            raise

    def handle(self, event: Event, replayer: Replayer) -> None:
        match event:
            case Kept():
                self.reused.keep(event, replayer)
            case Resolved():
                self._resolved(event, replayer)
            case Gone():
                self._left_out(event, replayer)
            case Diverged():
                self.deviations.say(event.text)
            case Closed():
                self._will_close(event)
        if self.buffer and (len(self.buffer) >= _BUFFERED or time.monotonic() - self.buffered_at > _PATIENCE_S):
            self.check_cancelled()
            self.flush()

    def _left_out(self, event: Gone, replayer: Replayer) -> None:
        self.gone.add(event.node.no)
        if event.node.parent not in self.gone:
            self.touched.add(replayer.state.parent_of(event.node.parent))
        self.deviations.left_out(event.node, told=event.told)

    def _will_close(self, event: Closed) -> None:
        self.closed.append(event)
        self.deviations.closed(event.node.no, event.label, event.reason)
        if self.policy.strict and event.label is Label.SIMULATED:
            why = f"step {event.no} ({event.node.called}): it would be simulated ({event.reason})"
            raise Stopped("strict", why, step=event.no)

    def keep_everything(self) -> None:
        """A replay that changes nothing keeps every step."""
        self.end_kept = True
        self.reused.copy(self.session.fork_sequence_no, self.session.source_run.step_count)

    def flush(self) -> None:
        """Commit what has been resolved: a checkpoint."""
        if not self.buffer:
            return
        rows, self.buffer = [self._keyed(row) for row in self.buffer], []
        with transaction.atomic():
            self.progress(rows[0].sequence_no, rows[-1].sequence_no)  # first: only the owner writes steps
            traces.append_steps(self.run_id, rows)

    def check_cancelled(self) -> None:
        """Raise when the operator or this worker wants to stop, or when somebody else owns the session by now."""
        cancelled, owner = ReplaySession.objects.values_list("cancel_requested", "owner").get(id=self.session.id)
        if owner != self.owner:
            raise OwnershipLost
        if cancelled:
            raise CancelRequested
        if stopping.begun():
            raise HandedBack

    def finish(self) -> None:
        """The end state, and the sealed run, in one transaction."""
        self.flush()
        self.check_cancelled()
        self.deviations.finish()
        with transaction.atomic():
            for event in self.closed:
                self._close(event)
            containers.settle(self.run_id, self.touched)
            status = ending.session_status(self.session, self.counts)
            ended = ending.run_status(self.session, touched=bool(self.touched), end_kept=self.end_kept)
            traces.seal_run(self.run_id, ended)
            exporting.enqueue_replay(self.run_id)
            self._update(
                status=status, current="", ended_at=datetime.now(UTC), owner="", **self._columns(),
            )  # fmt: skip
            log.say(self.session.id, "session")

    def fail_step(self, row: StepRow, stopped: Stopped) -> NoReturn:
        """Write the step that failed, so that the run shows where and why."""
        self.flush()
        self.counts[row.label] += 1
        with transaction.atomic():
            self.progress(row.sequence_no, row.sequence_no)
            traces.append_steps(self.run_id, [self._keyed(row)])
        raise stopped

    def _keyed(self, row: StepRow) -> StepRow:
        """A row whose label also carries what the app's ignore list left out."""
        return replace(row, detail={**row.detail, **self.ignoring.key}) if self.ignoring.rules else row

    def _resolved(self, event: Resolved, replayer: Replayer) -> None:
        call, answer = event.call, event.answer
        node = call.node or answer.source
        if answer.label is not Label.EXACT:
            self.touched.add(call.parent)
        if node is not None:
            holds = node.no in replayer.context.graph.children
            self.deviations.became(node.no, answer.label or "", answer.reason or "", holds_others=holds)
        if call.no <= self.checkpoint:
            return
        if "unavailable" in answer.detail and are_refused(self.policy):
            self._refuse(call, answer, ARTIFACT_MISSING, answer.note)
        if answer.label is None:
            self._refuse(call, answer, "fallback_refused", answer.note)
        if self.policy.strict and answer.label is Label.SIMULATED and BEGUN not in answer.detail:
            self._refuse(call, answer, "strict", f"it would be simulated ({answer.reason})")
        if answer.action != "live":  # there was room for it before it was asked
            self.room_for(1)
        self.end_kept = answer.label is Label.EXACT
        if not self.buffer:
            self.buffered_at = time.monotonic()
        self.buffer.append(derived.row(call, answer, self.session.source_run_id, self.save))
        self.counts[answer.label] += 1
        if answer.action == "live":
            self.flush()

    def _refuse(self, call: Call, answer: Answer, code: str, why: str) -> NoReturn:
        """End at a step that the policy does not let be answered so."""
        said = f"step {call.no} ({call.called}): {why}"
        failed = Answer(
            action="blocked", label=Label.SIMULATED, reason=answer.reason or Reason.POLICY_FALLBACK,
            status=StepStatus.ERROR, error=said, detail={**answer.detail, "code": code},
        )  # fmt: skip
        row = derived.row(call, failed, self.session.source_run_id, self.save)
        self.fail_step(row, Stopped(code, said, step=call.no))

    def _prepare_call(self) -> None:
        """Before a live call everything before it is committed, and there is room for its answer."""
        self.flush()
        self.check_cancelled()
        self.room_for(1)

    def room_for(self, count: int) -> int:
        """How many of so many more steps the budget allows; raises `Stopped` where it allows none."""
        most = self.policy.budget.max_steps
        written = sum(self.counts.values())
        self.calls.check_deadline(written + 1)
        if most is not None and written >= most:
            raise Stopped("budget_steps", f"the budget allows {most} steps", step=written + 1)
        return count if most is None else min(count, most - written)

    def _close(self, event: Closed) -> None:
        step = Step.objects.filter(run_id=self.run_id, sequence_no=event.no)
        ((before, detail),) = step.values_list("label", "detail")
        step.update(**derived.closed_columns(event, detail))
        self.counts[Label(before)] -= 1
        self.counts[event.label] += 1
        log.say(self.session.id, StepsResolved(seq=0, first=event.no, last=event.no))

    def progress(self, first: int, last: int) -> None:
        self.checkpoint = max(self.checkpoint, last)
        self._update(checkpoint_no=self.checkpoint, current="", lost_workers=0, **self._columns())
        log.say(self.session.id, StepsResolved(seq=0, first=first, last=last), "session")
        live.touch("runs")

    def _columns(self) -> dict[str, object]:
        return {
            "resolved_steps": sum(self.counts.values()), "exact_count": self.counts[Label.EXACT],
            "cached_count": self.counts[Label.CACHED], "simulated_count": self.counts[Label.SIMULATED],
            "divergences": self.deviations.said, "unused_calls": list(self.deviations.unused),
        }  # fmt: skip

    def _update(self, **columns: object) -> None:
        """Write the session, if it is still ours."""
        mine = ReplaySession.objects.filter(id=self.session.id, owner=self.owner, status="running")
        if not mine.update(heartbeat_at=Now(), **columns):
            raise OwnershipLost
