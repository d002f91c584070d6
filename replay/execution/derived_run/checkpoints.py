"""Checkpoints: commits of resolved steps together with the session's progress."""

import time
from collections import Counter
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

_MAX_BUFFER: Final = 200
_MAX_DELAY_S: Final = 0.05  # between the resolution of a step and its commit


class Checkpoints:
    """Buffers resolved steps until the next commit, and counts the committed ones."""

    def __init__(self, row: SessionRow, policy: Policy, ignoring: IgnoreRules, journal: AttemptJournal) -> None:
        session = row.session
        self.row = row
        self.policy = policy
        self.ignoring = ignoring
        self.save = PayloadWriter(lambda: row.run_id)
        self.redaction = journal.redaction
        self.last = session.checkpoint_no
        self.counts = Counter(
            {
                Label.EXACT: session.exact_count,
                Label.CACHED: session.cached_count,
                Label.SIMULATED: session.simulated_count,
            }
        )
        self.deviations = Deviations(session.planned)
        self._journal = journal
        self._buffer: list[StepRow] = []
        self._buffered_at = 0.0

    @property
    def session(self) -> ReplaySession:
        return self.row.session

    def add(self, call: Call, answer: Answer, label: Label) -> None:
        """Add a resolved step; a live answer is committed at once."""
        if not self._buffer:
            self._buffered_at = time.monotonic()
        self._buffer.append(step_rows.row(call, answer, self.session.source_run_id, self.save, self.redaction))
        self.counts[label] += 1
        if answer.action == "live":
            self.flush()

    def add_rows(self, rows: list[StepRow]) -> None:
        """Commit rows immediately, as far as the budget allows."""
        while rows:
            room = self.room_for(len(rows))
            self._buffer += rows[:room]
            for row in rows[:room]:
                self.counts[row.label] += 1
            rows = rows[room:]
            self.row.check()
            self.flush()

    def flush_in_time(self) -> None:
        """Commit if the buffer is full or its oldest step is due."""
        due = len(self._buffer) >= _MAX_BUFFER or time.monotonic() - self._buffered_at > _MAX_DELAY_S
        if self._buffer and due:
            self.row.check()
            self.flush()

    def flush(self) -> None:
        """Commit the buffered steps."""
        if not self._buffer:
            return
        rows, self._buffer = [self._with_ignore_list(row) for row in self._buffer], []
        # With their payloads: a transaction of their own would cost a live call as much as a few more statements.
        with transaction.atomic():
            # First, because it checks ownership: only the owner may write steps.
            self.commit(rows[0].sequence_no, rows[-1].sequence_no)
            self.save.flush()
            traces.append_steps(self.row.run_id, rows)

    def commit(self, first: int, last: int) -> None:
        """Record in the session that steps are written; call it in the transaction that writes them."""
        self.last = max(self.last, last)
        columns = {"checkpoint_no": self.last, "current": "", "lost_workers": 0, **self.columns()}
        self.row.record(columns, StepsMessage(seq=0, first=first, last=last), "session")
        notify.touch("runs")

    def columns(self) -> dict[str, object]:
        """Progress columns of the session's row."""
        return {
            "resolved_steps": sum(self.counts.values()),
            "exact_count": self.counts[Label.EXACT],
            "cached_count": self.counts[Label.CACHED],
            "simulated_count": self.counts[Label.SIMULATED],
            "divergences": self.deviations.texts,
            "unused_calls": list(self.deviations.unused_calls),
        }

    def fail(self, call: Call, answer: Answer, stop: ReplayFailure) -> NoReturn:
        """Write the failed step, so that the run shows where and why, and end the replay."""
        row = step_rows.row(call, answer, self.session.source_run_id, self.save, self.redaction)
        self.flush()
        self.save.flush()
        self.counts[row.label] += 1
        with transaction.atomic():
            self.commit(row.sequence_no, row.sequence_no)
            traces.append_steps(self.row.run_id, [self._with_ignore_list(row)])
        raise stop

    def before_live_call(self) -> None:
        """Commit everything before a live call, and check that the budget has room for its answer."""
        self.flush()
        self.row.check()
        self.room_for(1)

    def room_for(self, count: int) -> int:
        """Return how many of `count` further steps fit the budget; raises `ReplayFailure` if none."""
        limit = self.policy.budget.max_steps
        step_count = sum(self.counts.values())
        self._journal.check_deadline(step_count + 1)
        if limit is not None and step_count >= limit:
            raise ReplayFailure("budget_steps", f"the budget allows {limit} steps", step=step_count + 1)
        return count if limit is None else min(count, limit - step_count)

    def _with_ignore_list(self, row: StepRow) -> StepRow:
        """Add the app's ignore list to the detail of a row's label."""
        return replace(row, detail={**row.detail, **self.ignoring.key}) if self.ignoring.rules else row
