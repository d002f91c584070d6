"""Live retrievals of a session. They only read: one whose outcome nobody knows is made again."""

import time
from decimal import Decimal
from typing import Any

from replay.core.calls import Answer, Call
from replay.execution.calls.attempts import AttemptJournal, Watch
from replay.live import providers, retrieval, timeouts
from replay.models import Attempt
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason


def answer(journal: AttemptJournal, retriever: retrieval.Retriever, call: Call) -> Answer:
    """One search with its retries."""

    def ask(attempt: Attempt) -> Answer:
        started = time.monotonic()
        found = _search(journal, retriever, call, attempt)
        outcome = {
            "documents": found.documents,
            "embedding": found.embedding,
            "tokens": found.tokens,
            "cost_usd": None if found.cost_usd is None else str(found.cost_usd),
        }
        journal.succeed(attempt, outcome, (time.monotonic() - started) * 1000, found.cost_usd)
        return _restored(attempt)

    return journal.repeat(call, retriever.name, ask, restored=_restored, kind="retrieval", reason=Reason.LIVE_RETRIEVAL)


def search_of(retriever: retrieval.Retriever, input: JSONObject, replay: str) -> retrieval.Search:
    """What a retrieval step's input asks this retriever for."""
    top_k, filters, profile = input.get("top_k"), input.get("filters"), input.get("embedding_profile")
    counted = isinstance(top_k, int) and not isinstance(top_k, bool) and top_k >= 0
    return retrieval.Search(
        query=str(input.get("query", "")),
        top_k=int(top_k) if counted else retriever.entry.top_k,  # type: ignore[arg-type]  # an integer
        filters=filters if isinstance(filters, dict) else {},
        embedding=profile if isinstance(profile, str) else None,
        replay=replay,
    )


def _search(
    journal: AttemptJournal, retriever: retrieval.Retriever, call: Call, attempt: Attempt
) -> retrieval.SearchResult:
    """Give up when the session should end, and after the retriever's own time."""
    search = search_of(retriever, call.input if isinstance(call.input, dict) else {}, str(journal.row.id))
    limit = retriever.entry.timeout_s
    try:
        return timeouts.run_with_timeout(
            limit, lambda: retrieval.run(retriever, search), is_cancelled=Watch(journal).cancelled
        )
    except TimeoutError as error:
        detail = f"{retriever.name} did not answer in {limit:g} s"
        raise providers.ProviderError(detail, code="timeout", retryable=True) from error
    except timeouts.GivenUp as given_up:
        journal.stopped(attempt, given_up)


def _restored(attempt: Attempt) -> Answer:
    """The answer that a successful attempt stored."""
    outcome: dict[str, Any] = attempt.outcome or {}
    cost = outcome["cost_usd"]
    detail: JSONObject = {"retriever": attempt.provider}
    if outcome["embedding"]:
        detail["embedding"] = outcome["embedding"]
    return Answer(
        action="live",
        label=Label.SIMULATED,
        reason=Reason.LIVE_RETRIEVAL,
        detail=detail,
        output={"documents": outcome["documents"]},
        tokens_in=outcome["tokens"],
        cost_usd=None if cost is None else Decimal(cost),
        duration_ms=attempt.duration_ms,
        retries=attempt.attempt - 1,
    )
