"""Environment of an executing session: recordings, caches and live calls."""

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar
from uuid import UUID

from django.db import transaction

from replay.core.calls import Answer, CachedAnswer, Call, OperatorAnswer, RetrieverMatch, ToolReview
from replay.core.errors import CancelRequest, OperatorWait, ReplayFailure
from replay.core.vocabulary import SessionStatus
from replay.execution.calls import live_models, live_retrieval, live_tools, operator_questions
from replay.execution.calls.attempts import AttemptJournal, CallFailure
from replay.execution.derived_run import step_rows
from replay.execution.derived_run.checkpoints import Checkpoints
from replay.live import availability, retrieval, tools
from replay.models import ReplaySession
from replay.store import call_cache
from replay.store.payload_reader import Payloads
from replay.tool_review import queries
from traces.models import Step

_AnswerT = TypeVar("_AnswerT", Answer, Answer | None)
_NO_RECORDING: Final = "which no recording answers: what does it return?"


class LiveEnvironment:
    """Implements `ReplayEnvironment`; `committed_steps` from before a crash are not resolved again."""

    planning = False

    def __init__(
        self, checkpoints: Checkpoints, journal: AttemptJournal, payloads: Payloads, committed_steps: Mapping[int, Step]
    ) -> None:
        self.payload = payloads
        self._checkpoints = checkpoints
        self._row = checkpoints.row
        self._journal = journal
        self._committed_steps = committed_steps

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        source = self._row.session.source_run
        return call_cache.lookup(source.app, signature, exclude=exclude, source=source.id)

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        source = self._row.session.source_run
        return call_cache.similar(source, call.callee, call.input, threshold, self._checkpoints.ignoring)

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        return availability.provider_name(provider, model, override)

    def live(self, call: Call, provider: str) -> Answer:
        return self._live(call, lambda: live_models.answer(self._journal, call, provider))

    def tool(self, name: str) -> ToolReview:
        """Return the current review, so that a withdrawn review takes effect immediately."""
        entry = tools.configured_tools().get(name)
        return ToolReview(safe=queries.safety(name), executor="" if entry is None else entry.place)

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        tool = tools.configured_tools()[call.callee]
        return self._live(call, lambda: live_tools.answer(self._journal, self, tool, call))

    def retriever(self, call: Call) -> RetrieverMatch:
        return availability.match_retriever(call)

    def live_retrieval(self, call: Call, serving: RetrieverMatch) -> Answer:
        retriever = retrieval.configured_retrievers()[serving.name]
        return self._live(call, lambda: live_retrieval.answer(self._journal, retriever, call))

    def ask(self, call: Call, reason: str = _NO_RECORDING, may_run: bool = False) -> OperatorAnswer | None:
        """Return the operator's stored answer, or pause the session; `run` is only valid with `may_run`."""
        if (answer := operator_questions.stored_answer(self._row.session, call, may_run=may_run)) is not None:
            return answer
        self._checkpoints.flush()
        question = operator_questions.question(call, reason, may_run=may_run)
        with transaction.atomic():
            question_json = question.model_dump(mode="json")
            self._row.leave(SessionStatus.AWAITING_OPERATOR, question=question_json, current=question.text[:300])
            if ReplaySession.objects.filter(id=self._row.id, cancel_requested=True).exists():
                raise CancelRequest
            self._row.append_messages("session")
        raise OperatorWait

    def committed_answer(self, no: int) -> Answer | None:
        row = self._committed_steps.get(no)
        if row is None:
            return None
        # The replay failed at this step, and its worker died before it could end the session.
        if "code" in row.detail:
            raise ReplayFailure(str(row.detail["code"]), row.error, step=no, finished=True)
        return step_rows.answer_of_row(row, self.payload(row.output_ref) if row.output_ref else None)

    def _live(self, call: Call, answer: Callable[[], _AnswerT]) -> _AnswerT:
        """Make a live call after committing everything before it; a failed call ends the replay at its step."""
        self._checkpoints.before_live_call()
        try:
            return answer()
        except CallFailure as failure:
            self._checkpoints.fail(call, failure.answer, failure.stop)
