"""Live retrievals of a session. They only read, so a search with an unknown outcome is repeated."""

import time
from decimal import Decimal
from typing import Any

from replay.core.calls import Answer, Call
from replay.execution.calls.attempts import AttemptJournal, Watch
from replay.live import providers, retrieval, timeouts
from replay.models import Attempt
from traces.core.json_access import as_object, as_string, is_integer
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason


def answer(journal: AttemptJournal, retriever: retrieval.Retriever, call: Call) -> Answer:
    """Run one search, with retries."""

    def ask(attempt: Attempt) -> Answer:
        started_at = time.monotonic()
        result = _search(journal, retriever, call, attempt)
        outcome = {
            "documents": result.documents,
            "embedding": result.embedding,
            "tokens": result.tokens,
            "cost_usd": None if result.cost_usd is None else str(result.cost_usd),
        }
        journal.store_success(attempt, outcome, (time.monotonic() - started_at) * 1000, result.cost_usd)
        return _stored_answer(attempt)

    return journal.repeat(
        call, retriever.name, ask, restore=_stored_answer, kind="retrieval", reason=Reason.LIVE_RETRIEVAL
    )


def build_search(retriever: retrieval.Retriever, input: JSONObject, replay: str) -> retrieval.Search:
    """Build the search for a retrieval step's input."""
    top_k, filters = input.get("top_k"), input.get("filters")
    has_top_k = is_integer(top_k) and top_k >= 0
    return retrieval.Search(
        query=str(input.get("query", "")),
        # An integer.
        top_k=int(top_k) if has_top_k else retriever.entry.top_k,  # type: ignore[arg-type]
        filters=as_object(filters),
        embedding=as_string(input.get("embedding_profile")) or None,
        replay=replay,
    )


def _search(
    journal: AttemptJournal, retriever: retrieval.Retriever, call: Call, attempt: Attempt
) -> retrieval.SearchResult:
    """Search until the retriever's time limit, or until the session should stop."""
    search = build_search(retriever, as_object(call.input), str(journal.row.id))
    limit = retriever.entry.timeout_s
    try:
        return timeouts.run_with_timeout(
            limit, lambda: retrieval.run(retriever, search), is_cancelled=Watch(journal).cancelled
        )
    except TimeoutError as error:
        detail = f"{retriever.name} did not answer in {limit:g} s"
        raise providers.ProviderError(detail, code="timeout", retryable=True) from error
    except timeouts.GivenUp as given_up:
        journal.abort(attempt, given_up)


def _stored_answer(attempt: Attempt) -> Answer:
    """Return the stored answer of a successful attempt."""
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
