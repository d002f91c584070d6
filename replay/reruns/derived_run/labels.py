"""The labels of what an agent did in a rerun: how its calls were answered, and what its own code consumed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from replay.core.calls import label_key
from replay.core.vocabulary import RerunDecision
from replay.execution.derived_run.step_rows import reused_row
from replay.reruns.derived_run.call_answers import CallAnswers
from replay.reruns.derived_run.source_steps import CALLS, GROUPS, SourceSteps
from replay.reruns.exchanges import Exchange
from replay.reruns.forks import HISTORY
from replay.reruns.requests.changed_contents import CHANGED_CONTENTS
from replay.reruns.tools.consents import REFUSAL
from replay.resolution import lost_recordings
from traces.core.json_access import as_text
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason, StepStatus
from traces.ingest.step_rows import StepRow
from traces.models import Step

_NO_DETAIL: Final[JSONObject] = {}


@dataclass(kw_only=True)
class _Group:
    """A step that contains others: it is the recorded one if its input, its content and its output are."""

    place: int
    source: Step | None
    began_exact: bool
    last_no: int
    is_exact: bool = True


class Labels:
    """Labels the steps of a rerun, in order.

    `exchanges` are the model calls by the keys of their steps, `results` the ids of tool calls with other results, and
    `answers` what became of the calls that the agent asked about.
    """

    def __init__(
        self,
        source: SourceSteps,
        *,
        exchanges: Mapping[str, Exchange],
        results: Collection[str],
        answers: CallAnswers,
    ) -> None:
        self._source = source
        self._exchanges = exchanges
        self._results = results
        self._answers = answers
        self._rows: list[StepRow] = []
        self._groups: dict[int, _Group] = {}
        # The recorded calls that were answered exactly, by the numbers of the calls.
        self._reused_numbers: dict[int, int] = {}
        # The agent's own code may depend on every answer before it.
        self._is_exact_so_far = True

    def rows(self, rows: Sequence[StepRow], *, is_final: bool) -> list[StepRow]:
        """Return the labelled rows. While the agent runs, a group that has not ended is compared as far as it goes."""
        last_numbers = _last_numbers(rows)
        for row in rows:
            if row.type in GROUPS:
                self._begin(row, last_numbers.get(row.sequence_no, row.sequence_no))
            else:
                self._rows.append(self._label(row))
                self._is_exact_so_far = self._is_exact_so_far and self._rows[-1].label is Label.EXACT
            self._end_groups(row.sequence_no, is_final=is_final)
        self._weaken_calls()
        return _number_rows([part for row in self._rows for part in (row, *self._contents(row))])

    def _label(self, row: StepRow) -> StepRow:
        exchange = self._exchanges.get(row.external_id)
        if exchange is not None:
            return self._request(row, exchange)
        return self._call(row) if row.type in CALLS else self._code(row)

    def _request(self, row: StepRow, exchange: Exchange) -> StepRow:
        call = exchange.call
        source = self._source.steps.get(call.sequence_no or 0)
        if source is not None and call.label == Label.EXACT:
            return self._reuse(source, row)
        if refusal := as_text(call.detail.get(REFUSAL)):
            # Also of an answer that the provider gave, and that did not reach the agent.
            row = replace(row, status=StepStatus.ERROR, error=row.error or refusal)
        return replace(
            row,
            label=Label(call.label or Label.SIMULATED),
            # A call without an answer was refused, and its output is the refusal.
            reason=Reason(call.reason or Reason.POLICY_FALLBACK),
            # A cached answer has the cost of the call that it was recorded from, as its tokens are those of that call.
            cost_usd=exchange.cost_usd if call.reason == Reason.LIVE_MODEL or call.label == Label.CACHED else None,
            detail={**label_key(), **_without_history(call.detail)},
            source_step=None if source is None else source.id,
        )

    def _call(self, row: StepRow) -> StepRow:
        """Label a call of a tool or retriever."""
        answer = self._answers.take(row, self._source)
        source, decision = answer.source, answer.decision
        if decision == RerunDecision.OVERRIDDEN or (row.call_id and row.call_id in self._results):
            return self._with_label(row, source, Label.SIMULATED, Reason.OPERATOR_OVERRIDE)
        if decision == RerunDecision.CACHED and CHANGED_CONTENTS in answer.detail:
            return self._with_label(row, source, Label.SIMULATED, Reason.ASSUMED_UNAFFECTED, answer.detail)
        if decision == RerunDecision.CACHED and answer.is_elsewhere:
            return self._with_label(row, source, Label.CACHED, Reason.CACHE_SIGNATURE, answer.detail)
        if decision == RerunDecision.CACHED and source is not None:
            return self._with_label(row, source, Label.CACHED, Reason.CACHE_NORMALISED, answer.detail)
        if decision == RerunDecision.EXACT and source is not None:
            # It was not run, and the conversation contains only a text of what it returned.
            self._reused_numbers[row.sequence_no] = source.sequence_no
            return self._reuse(source, row)
        if decision == RerunDecision.REFUSAL and row.status == StepStatus.PARTIAL:
            # The agent has ended at this call, and so has not reported its end.
            reason = as_text(answer.detail.get(REFUSAL)) or "the call was refused"
            row = replace(row, status=StepStatus.DENIED, error=row.error or reason)
            return self._with_label(row, source, Label.SIMULATED, Reason.POLICY_FALLBACK)
        return self._ran(row, source)

    def _code(self, row: StepRow) -> StepRow:
        """Label a step of the agent's own code: a check, a rendered prompt, its final output."""
        return self._ran(row, self._source.take(row, {}))

    def _ran(self, row: StepRow, source: Step | None) -> StepRow:
        is_exact = self._is_exact_so_far and self._is_same(row, source)
        return self._with_label(row, source, Label.EXACT if is_exact else Label.SIMULATED, Reason.AGENT_RAN)

    def _with_label(
        self, row: StepRow, source: Step | None, label: Label, reason: Reason, detail: JSONObject = _NO_DETAIL
    ) -> StepRow:
        source_step = None if source is None else source.id
        return replace(row, label=label, reason=reason, detail={**label_key(), **detail}, source_step=source_step)

    def _reuse(self, source: Step, row: StepRow) -> StepRow:
        return self._copy(reused_row(source, row.sequence_no, row.parent_no), source)

    def _copy(self, row: StepRow, source: Step) -> StepRow:
        """Return the copy of a recorded step; if a part of its recording is unreadable, it is not exact."""
        losses = self._source.losses.get(source.sequence_no)
        if not losses:
            return row
        detail = {**row.detail, **lost_recordings.cause(losses), "note": lost_recordings.note(losses)}
        return replace(row, label=Label.SIMULATED, reason=Reason.SOURCE_OUTPUT_UNVERIFIED, detail=detail)

    def _is_same(self, row: StepRow, source: Step | None) -> bool:
        """Return whether a step has the recorded input and outcome, which are readable."""
        return (
            source is not None
            and source.sequence_no not in self._source.losses
            and (source.input_ref, source.output_ref, source.status, source.error)
            == (row.input_ref, row.output_ref, row.status, row.error)
        )

    def _weaken_calls(self) -> None:
        """A call that ran consumed what the steps inside of it returned."""
        places = {row.sequence_no: place for place, row in enumerate(self._rows)}
        # From the inside out.
        for row in reversed(self._rows):
            place = None if row.parent_no is None or row.label is Label.EXACT else places.get(row.parent_no)
            if place is not None and self._rows[place].reason is Reason.AGENT_RAN:
                self._rows[place] = replace(self._rows[place], label=Label.SIMULATED)

    def _begin(self, row: StepRow, last_no: int) -> None:
        source = self._source.take(row, {})
        has_same_input = source is not None and source.input_ref == row.input_ref
        self._groups[row.sequence_no] = _Group(
            place=len(self._rows), source=source, began_exact=self._is_exact_so_far and has_same_input, last_no=last_no
        )
        self._rows.append(row)
        self._is_exact_so_far = self._is_exact_so_far and has_same_input

    def _end_groups(self, no: int, *, is_final: bool) -> None:
        """Label the groups whose last step this is, from the inside out."""
        for group_no in [*reversed(self._groups)]:
            group = self._groups[group_no]
            if group.last_no != no:
                continue
            row = self._rows[group.place]
            is_open = not is_final and row.status == StepStatus.PARTIAL
            members = self._rows[group.place + 1 :]
            has_exact_steps = all(
                member.label is Label.EXACT for member in members if member.parent_no == row.sequence_no
            )
            is_exact = group.began_exact and has_exact_steps and (is_open or self._is_same(row, group.source))
            label = Label.EXACT if is_exact else Label.SIMULATED
            self._rows[group.place] = self._with_label(row, group.source, label, Reason.AGENT_RAN)
            self._is_exact_so_far = self._is_exact_so_far and is_exact
            del self._groups[group_no]

    def _contents(self, row: StepRow) -> list[StepRow]:
        """Return the recorded steps inside of a call that was answered as recorded."""
        if row.sequence_no not in self._reused_numbers:
            return []
        no = self._reused_numbers[row.sequence_no]
        # Their numbers, and the parents among them, are negative until all rows get theirs.
        return [
            self._copy(
                reused_row(
                    step, -step.sequence_no, row.sequence_no if step.parent_no == no else -(step.parent_no or 0)
                ),
                step,
            )
            for step in self._source.contents_of(no)
        ]


def _without_history(detail: JSONObject) -> JSONObject:
    return {name: value for name, value in detail.items() if name != HISTORY}


def _last_numbers(rows: Sequence[StepRow]) -> dict[int, int]:
    """Return the number of the last step inside of each group."""
    parents = {row.sequence_no: row.parent_no for row in rows}
    last_numbers: dict[int, int] = {}
    for row in reversed(rows):
        parent = row.parent_no
        # The groups around a group that has a later step have one, too.
        while parent is not None and parent not in last_numbers:
            last_numbers[parent] = row.sequence_no
            parent = parents[parent]
    return last_numbers


def _number_rows(rows: Sequence[StepRow]) -> list[StepRow]:
    """Return rows with numbers from 1 on. Parents come before what they contain."""
    numbers: dict[int, int] = {}
    result = []
    for no, row in enumerate(rows, 1):
        numbers[row.sequence_no] = no
        parent = None if row.parent_no is None else numbers[row.parent_no]
        result.append(row if no == row.sequence_no else replace(row, sequence_no=no, parent_no=parent))
    return result
