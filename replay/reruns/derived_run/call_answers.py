"""What became of the tool calls and searches of a rerun, by the steps that they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from replay.core.vocabulary import RerunDecision
from replay.models import Rerun, RerunReport
from replay.reruns.derived_run.shared_answers import SharedAnswers
from replay.reruns.derived_run.source_steps import SourceSteps
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepStatus
from traces.ingest.step_rows import StepRow
from traces.models import Step


@dataclass(frozen=True, kw_only=True, slots=True)
class CallAnswer:
    """What became of a call, the recorded step that it is or replaces, and the grounds of its label."""

    decision: str = ""
    source: Step | None = None
    detail: JSONObject = field(default_factory=dict)

    @property
    def is_elsewhere(self) -> bool:
        """Whether another call was recorded with this answer."""
        return "matched" in self.detail


class CallAnswers:
    """The decisions about the calls of a rerun.

    `call_ids` are the ids under which the SDK or the gateway asked, by the keys of the steps. Of other steps, which
    only the conversation shows, one with the id or the input of a recorded call is that call.
    """

    def __init__(self, rerun: Rerun, *, call_ids: Mapping[str, str], reports: Sequence[RerunReport]) -> None:
        calls = rerun.tool_calls.filter(attempt=rerun.attempt).exclude(decision=RerunDecision.ASK).order_by("id")
        rows = [*calls.values_list("call", "name", "sequence_no", "decision", "detail")]
        known_ids = {*call_ids.values()}
        self._call_ids = call_ids
        self._by_call = {call: (no, decision, detail) for call, _, no, decision, detail in rows if call in known_ids}
        self._reports = {report.step_key: report for report in reports if report.decision}
        other_rows = [row for row in rows if row[0] not in known_ids]
        self._by_number = {no: (decision, detail) for _, _, no, decision, detail in other_rows if no is not None}
        self._decisions = {no: decision for no, (decision, _) in self._by_number.items()}
        # By tool, what became of calls that are not in the recording, and on which grounds.
        self._new_decisions = {(name, decision): detail for _, name, no, decision, detail in other_rows if no is None}
        self._shared_answers = SharedAnswers(
            (name, detail)
            for _, name, no, decision, detail in other_rows
            if no is None and decision == RerunDecision.CACHED
        )

    def take(self, row: StepRow, source: SourceSteps) -> CallAnswer:
        """Return what became of a step's call. The recorded step is taken: no other step is it."""
        if (call := self._by_call.get(self._call_ids.get(row.external_id, ""))) is not None:
            no, decision, detail = call
            step = source.take(row, {}) if no is None else source.take_number(no)
            return CallAnswer(decision=decision, source=step, detail=_grounds(detail))
        report = self._reports.get(row.external_id)
        if report is not None and report.sequence_no is not None:
            return CallAnswer(decision=report.decision, source=source.take_number(report.sequence_no))
        return self._guess(row, source)

    def _guess(self, row: StepRow, source: SourceSteps) -> CallAnswer:
        """Return what became of a call of which only the conversation, or its beginning, is known."""
        step = source.take(row, self._decisions)
        if step is not None and step.sequence_no in self._by_number:
            decision, detail = self._by_number[step.sequence_no]
            return CallAnswer(decision=decision, source=step, detail=_grounds(detail))
        if detail := self._shared_answers.take(row, is_known=step is not None):
            return CallAnswer(decision=RerunDecision.CACHED, source=None, detail=detail)
        decisions = [RerunDecision.OVERRIDDEN] if step is None else []
        decisions += [RerunDecision.REFUSAL] if row.status == StepStatus.PARTIAL else []
        name = row.tool_name or row.name
        decision = next((item for item in decisions if (name, item) in self._new_decisions), "")
        return CallAnswer(
            decision=decision, source=step, detail=_grounds(self._new_decisions.get((name, decision), {}))
        )


def _grounds(detail: JSONObject) -> JSONObject:
    """Return the grounds of a label: the arguments of a call are the input of its step."""
    return {name: value for name, value in detail.items() if name != "arguments"}
