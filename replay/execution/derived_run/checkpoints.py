"""What a replay has resolved, committed together with the session's progress: each commit is a checkpoint."""

import time
from dataclasses import replace
from typing import Final, NoReturn

from django.db import transaction

from replay.core.calls import Answer, Call
from replay.core.errors import ReplayFailure
from replay.execution.calls.attempts import AttemptJournal
from replay.execution.derived_run import step_rows
from replay.execution.messages import StepsMessage
from replay.execution.session_row import SessionRow
from replay.models import ReplaySession
from replay.overrides.policy import Policy
from replay.planning.deviations import Deviations
from replay.store.payload_writer import PayloadWriter
from traces import notify
from traces.core.vocabulary import Label
from traces.ingest.step_rows import StepRow
from traces.runs import services as traces
from traces.signatures.ignore_rules import IgnoreRules

_BUFFERED: Final = 200
_PATIENCE_S: Final = 0.05  # how long resolved steps may wait for company before they are committed


class Checkpoints:
    """Steps that wait for the next commit, and what was committed so far."""

    def __init__(self, row: SessionRow, policy: Policy, ignoring: IgnoreRules, journal: AttemptJournal) -> None:
        session = row.session
        self.row = row
        self.policy = policy
        self.ignoring = ignoring
        self.save = PayloadWriter()
        self.last = session.checkpoint_no
        self.counts = {
            Label.EXACT: session.exact_count,
            Label.CACHED: session.cached_count,
            Label.SIMULATED: session.simulated_count,
        }
        self.deviations = Deviations(session.planned)
        self._journal = journal
        self._waiting: list[StepRow] = []
        self._since = 0.0

    @property
    def session(self) -> ReplaySession:
        return self.row.session

    def add(self, call: Call, answer: Answer, label: Label) -> None:
        """A step that was resolved."""
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting.append(step_rows.row(call, answer, self.session.source_run_id, self.save))
        self.counts[label] += 1
        if answer.action == "live":
            self.flush()

    def add_rows(self, rows: list[StepRow]) -> None:
        """Commit steps at once, as far as the budget allows."""
        while rows:
            room = self.room_for(len(rows))
            self._waiting += rows[:room]
            for row in rows[:room]:
                self.counts[row.label] += 1
            rows = rows[room:]
            self.row.check()
            self.flush()

    def flush_in_time(self) -> None:
        """Commit where enough steps wait, or one has waited long enough."""
        due = len(self._waiting) >= _BUFFERED or time.monotonic() - self._since > _PATIENCE_S
        if self._waiting and due:
            self.row.check()
            self.flush()

    def flush(self) -> None:
        """Commit what has been resolved."""
        if not self._waiting:
            return
        rows, self._waiting = [self._keyed(row) for row in self._waiting], []
        with transaction.atomic():
            self.commit(rows[0].sequence_no, rows[-1].sequence_no)  # first: only the owner writes steps
            traces.append_steps(self.row.run_id, rows)

    def commit(self, first: int, last: int) -> None:
        """Note in the session that steps are written; call it in the transaction that writes them."""
        self.last = max(self.last, last)
        self.row.update(checkpoint_no=self.last, current="", lost_workers=0, **self.columns())
        self.row.append_messages(StepsMessage(seq=0, first=first, last=last), "session")
        notify.touch("runs")

    def columns(self) -> dict[str, object]:
        """What the session's row says of the steps so far."""
        return {
            "resolved_steps": sum(self.counts.values()),
            "exact_count": self.counts[Label.EXACT],
            "cached_count": self.counts[Label.CACHED],
            "simulated_count": self.counts[Label.SIMULATED],
            "divergences": self.deviations.said,
            "unused_calls": list(self.deviations.unused),
        }

    def fail(self, call: Call, failed: Answer, stopped: ReplayFailure) -> NoReturn:
        """Write the step that failed, so that the run shows where and why, and end the replay."""
        row = step_rows.row(call, failed, self.session.source_run_id, self.save)
        self.flush()
        self.counts[row.label] += 1
        with transaction.atomic():
            self.commit(row.sequence_no, row.sequence_no)
            traces.append_steps(self.row.run_id, [self._keyed(row)])
        raise stopped

    def before_live_call(self) -> None:
        """Everything before a live call is committed, and there is room for its answer."""
        self.flush()
        self.row.check()
        self.room_for(1)

    def room_for(self, count: int) -> int:
        """How many of so many more steps the budget allows; raises `Stopped` where it allows none."""
        most = self.policy.budget.max_steps
        written = sum(self.counts.values())
        self._journal.check_deadline(written + 1)
        if most is not None and written >= most:
            raise ReplayFailure("budget_steps", f"the budget allows {most} steps", step=written + 1)
        return count if most is None else min(count, most - written)

    def _keyed(self, row: StepRow) -> StepRow:
        """A row whose label also carries what the app's ignore list left out."""
        return replace(row, detail={**row.detail, **self.ignoring.key}) if self.ignoring.rules else row
