"""What answers the calls of a session that is executed: recordings, caches, and the world outside."""

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

_Answered = TypeVar("_Answered", Answer, Answer | None)
_UNANSWERED: Final = "which no recording answers: what does it return?"


class LiveEnvironment:
    """Implements `ReplayEnvironment`. Steps in `committed` were resolved before a crash, and are not resolved again."""

    planning = False

    def __init__(
        self, checkpoints: Checkpoints, journal: AttemptJournal, payloads: Payloads, committed: Mapping[int, Step]
    ) -> None:
        self.payload = payloads
        self._checkpoints = checkpoints
        self._row = checkpoints.row
        self._journal = journal
        self._committed = committed

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        return call_cache.lookup(self._row.session.source_run.app, signature, exclude=exclude)

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        source = self._row.session.source_run
        return call_cache.similar(source, call.callee, call.input, threshold, self._checkpoints.ignoring)

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        return availability.provider_name(provider, model, override)

    def live(self, call: Call, provider: str) -> Answer:
        return self._live(call, lambda: live_models.answer(self._journal, call, provider))

    def tool(self, name: str) -> ToolReview:
        """As decided now: a review that was taken back holds at once."""
        configured = tools.configured_tools().get(name)
        return ToolReview(safe=queries.safety(name), executor="" if configured is None else configured.place)

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        tool = tools.configured_tools()[call.callee]
        return self._live(call, lambda: live_tools.answer(self._journal, self, tool, call))

    def retriever(self, call: Call) -> RetrieverMatch:
        return availability.match_retriever(call)

    def live_retrieval(self, call: Call, serving: RetrieverMatch) -> Answer:
        retriever = retrieval.configured_retrievers()[serving.name]
        return self._live(call, lambda: live_retrieval.answer(self._journal, retriever, call))

    def ask(self, call: Call, why: str = _UNANSWERED, may_run: bool = False) -> OperatorAnswer | None:
        """The operator's stored answer, else the session begins to wait. `run` is no answer to what came of a call."""
        if (answer := operator_questions.answered(self._row.session, call, may_run=may_run)) is not None:
            return answer
        self._checkpoints.flush()
        question = operator_questions.question(call, why, may_run=may_run)
        with transaction.atomic():
            said = question.model_dump(mode="json")
            self._row.leave(SessionStatus.AWAITING_OPERATOR, question=said, current=question.text[:300])
            if ReplaySession.objects.filter(id=self._row.id, cancel_requested=True).exists():
                raise CancelRequest
            self._row.append_messages("session")
        raise OperatorWait

    def committed_answer(self, no: int) -> Answer | None:
        row = self._committed.get(no)
        if row is None:
            return None
        if "code" in row.detail:  # the replay failed here, and its worker ended before it could say so
            raise ReplayFailure(str(row.detail["code"]), row.error, step=no, finished=True)
        return step_rows.answer_of_row(row, self.payload(row.output_ref) if row.output_ref else None)

    def _live(self, call: Call, answer: Callable[[], _Answered]) -> _Answered:
        """A live call, once everything before it is committed; one that is given up ends the replay at its step."""
        self._checkpoints.before_live_call()
        try:
            return answer()
        except CallFailure as failed:
            self._checkpoints.fail(call, failed.answer, failed.stopped)
