"""What a client answers its MCP server during a call that is answered from a recording.

The recorded result follows from the recorded answers. With another answer the call is another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction

from replay.core.errors import SessionConflict
from replay.core.vocabulary import RerunDecision
from replay.execution.session_redaction import SessionRedaction
from replay.models import Rerun, RerunToolCall
from replay.reruns import exchanges, recordings
from replay.reruns.core.matcher import Divergence, Match, Matcher
from replay.reruns.core.recorded_calls import RecordedCalls, RecordedRequest
from replay.reruns.core.renaming import Renaming
from replay.reruns.schemas import ToolAnswer, ToolQuestion
from replay.reruns.tools import consents, outcomes, permissions
from traces.core.json_access import as_integer, as_object, as_text
from traces.core.json_types import JSONObject

# Of a call: what its client responded to another process than that in which the call is open.
_ANSWERS: Final = "client_answers"
_LOSS: Final = ToolAnswer(decision=RerunDecision.REFUSAL, reason="the recorded output is lost or redacted")


def check(rerun: Rerun, question: ToolQuestion) -> ToolAnswer:
    """Compare the client's last answer with the recorded one. Return the call's own, or another one if they differ."""
    call = rerun.tool_calls.filter(attempt=rerun.attempt, call=question.call).first()
    if call is None:
        raise SessionConflict(f"no call of {question.name} with this id is open, so that its client can answer nothing")
    source = _Source.from_call(rerun, call)
    renaming = Renaming.from_pairs(rerun.names)
    result = _compare(rerun, question, source, renaming)
    if isinstance(result, Divergence):
        problem = f"got another answer of its client than in the recording{permissions.describe_difference(result)}"
        answer = permissions.answer_without_recording(rerun, question, problem)
        call.decision = answer.decision
        call.detail = {"difference": _difference(result), **consents.missing_consent(rerun, question.name, answer)}
        call.save(update_fields=["decision", "detail"])
        return answer
    if result is not None and result.renames:
        Rerun.objects.filter(id=rerun.id).update(names=renaming.pairs())
        call.decision = RerunDecision.CACHED
        call.save(update_fields=["decision"])
    decision = RerunDecision(call.decision)
    return outcomes.load_answer(source.run_id, source.no, renaming, decision=decision, step=source.step) or _LOSS


def store(rerun_id: UUID, call: str, number: str, content: JSONObject) -> None:
    """Store a client's answer until the process takes it in which its call is open; ignore one of no call."""
    with transaction.atomic():
        row = RerunToolCall.objects.select_for_update().filter(rerun=rerun_id, call=call).first()
        if row is not None:
            row.detail = {**row.detail, _ANSWERS: {**as_object(row.detail.get(_ANSWERS)), number: content}}
            row.save(update_fields=["detail"])


def take(rerun_id: UUID, call: str, number: str) -> JSONObject | None:
    """Return a stored answer; None if there is none."""
    row = RerunToolCall.objects.filter(rerun=rerun_id, call=call, detail__has_key=_ANSWERS).first()
    if row is None or number not in (answers := as_object(row.detail[_ANSWERS])):
        return None
    rest = {name: value for name, value in row.detail.items() if name != _ANSWERS}
    RerunToolCall.objects.filter(id=row.id).update(detail=rest)
    return as_object(answers[number])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Source:
    """The run and the step that answer a call; `step` is the recorded call that it is."""

    run_id: UUID
    no: int
    step: int | None

    @classmethod
    def from_call(cls, rerun: Rerun, call: RerunToolCall) -> "_Source":
        if match := as_object(call.detail.get("matched")):
            return cls(run_id=UUID(as_text(match["run"])), no=as_integer(match["step"]) or 0, step=None)
        return cls(run_id=rerun.source_run_id, no=call.sequence_no or 0, step=call.sequence_no)

    def client_answers(self) -> Sequence[JSONObject]:
        outcome = recordings.load_outcome(self.run_id, self.no)
        messages = () if outcome is None else outcome.messages
        return [as_object(message["response"]) for message in messages if "response" in message]


def _compare(rerun: Rerun, question: ToolQuestion, source: _Source, renaming: Renaming) -> Match | Divergence | None:
    """Return whether an answer is the recorded one; None if the client had not answered when the call ended."""
    recorded_answers = source.client_answers()
    if len(question.client_answers) > len(recorded_answers):
        raise SessionConflict(f"in the recording, the client answered {len(recorded_answers)} questions of this call")
    recorded_answer = recorded_answers[len(question.client_answers) - 1]
    if not recorded_answer:
        return None
    new_answer = SessionRedaction(rerun.source_run.app).field(question.type, "attributes", question.client_answers[-1])
    matcher = Matcher(
        calls=RecordedCalls([RecordedRequest(no=source.no, request=recorded_answer, strict={})]),
        renaming=renaming,
        is_meant=exchanges.values_of_fork(rerun),
    )
    return matcher.match(as_object(new_answer), {})


def _difference(result: Divergence) -> JSONObject:
    if result.nearest is None or result.difference is None:
        return {}
    difference = result.difference
    return {"step": result.nearest.no, "path": difference.path, "old": difference.old, "new": difference.new}
