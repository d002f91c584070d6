"""Environment of a plan: everything except live calls and the operator. Pure."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from replay.core.calls import NO_REVIEW, Answer, CachedAnswer, Call, OperatorAnswer, RetrieverMatch, ToolReview
from replay.core.graph import ReplayOutput
from replay.inputs.recorded_results import RecordedResults
from replay.planning.overridden_answers import RecordedAnswers
from replay.planning.shared_outlooks import Outlooks, Requests, UnknownRequests
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason
from traces.payloads.lost_payloads import LostPayloads
from traces.signatures.ignore_rules import NO_RULES, IgnoreRules

_UNKNOWN: Final = "[Forkpoint] Known only after the live call."
# One object, whose digest is computed once for all steps in a row that get it.
_UNKNOWN_ANSWER: Final[JSONValue] = {"message": {"role": "assistant", "content": _UNKNOWN}}
_CHARACTERS_PER_TOKEN: Final = 4  # about, in English
Price = Callable[[str, str, int | None, int | None], float | None]


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Lookups of a plan: recorded payloads, signature cache, providers and prices."""

    payload: Callable[[str], JSONValue]
    cached: Callable[[str, Collection[UUID]], CachedAnswer | None]
    provider: Callable[[str, str, str | None], str | None]
    price: Price
    tool: Callable[[str], ToolReview] = lambda name: NO_REVIEW
    ignoring: IgnoreRules = NO_RULES
    similar: Callable[[Call, float], CachedAnswer | None] = lambda call, threshold: None
    retriever: Callable[[Call], RetrieverMatch] = lambda call: RetrieverMatch(reason="no retriever is configured")
    outlooks: Outlooks = field(default_factory=Outlooks)
    requests: Requests = field(default_factory=UnknownRequests)
    answers: RecordedAnswers = field(default_factory=RecordedAnswers)
    results: RecordedResults = field(default_factory=RecordedResults)
    # Which messages, by the digests of their stored form, any recording contains.
    stored_messages: Callable[[Collection[str]], Collection[str]] = lambda digests: digests
    # Parameters by input reference.
    parameters: dict[str, bytes] = field(default_factory=dict)
    # Numbers of configurations (provider, model, parameters), and of the configuration of each model step.
    configurations: dict[Hashable, int] = field(default_factory=dict)
    configuration_groups: dict[int, int] = field(default_factory=dict)
    # Reads values with references in place of their parts, which suffices to compare them; None to use `payload`.
    roots: Callable[[Collection[str]], Mapping[str, JSONValue]] | None = None
    # Reads the messages of a recorded request from an index on; None to use `payload`.
    messages: Callable[[str, int], Sequence[JSONValue]] | None = None
    # Unreadable payloads by source step, also before the fork.
    losses: Mapping[int, LostPayloads] = field(default_factory=dict)
    # Outputs of the source, itself a replay, that no agent produced: also before the fork.
    replay_outputs: Mapping[int, ReplayOutput] = field(default_factory=dict)


@dataclass
class PlanEnvironment:
    """Environment of a plan: everything except live calls and the operator."""

    sources: Sources
    planning: bool = True
    costs: dict[int, float | None] = field(default_factory=dict)
    payload: Callable[[str], JSONValue] = field(init=False)

    def __post_init__(self) -> None:
        # Not a method: values that are read later would keep all plans of the source in a cycle with themselves.
        self.payload = self.sources.payload

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        return self.sources.cached(signature, exclude)

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        return self.sources.similar(call, threshold)

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        return self.sources.provider(provider, model, override)

    def live(self, call: Call, provider: str) -> Answer:
        tokens = (call.node.tokens_in, call.node.tokens_out) if call.node is not None else (None, None)
        self.costs[call.no] = self.sources.price(provider, call.model, *tokens)
        return Answer(
            action="live",
            label=Label.SIMULATED,
            reason=Reason.LIVE_MODEL,
            is_known=False,
            output=_UNKNOWN_ANSWER,
            note=f"Calls {provider}",
        )

    def tool(self, name: str) -> ToolReview:
        return self.sources.tool(name)

    def live_tool(self, call: Call, executor: str) -> Answer:
        # A tool may cost money, but has no price per token.
        self.costs[call.no] = 0.0
        return Answer(
            action="live",
            label=Label.SIMULATED,
            reason=Reason.LIVE_TOOL,
            is_known=False,
            output=_UNKNOWN,
            note=f"Runs through {executor}",
        )

    def retriever(self, call: Call) -> RetrieverMatch:
        return self.sources.retriever(call)

    def live_retrieval(self, call: Call, serving: RetrieverMatch) -> Answer:
        self.costs[call.no] = self._embedding_cost(call, serving)
        return Answer(
            action="live",
            label=Label.SIMULATED,
            reason=Reason.LIVE_RETRIEVAL,
            is_known=False,
            output={"documents": [{"id": "forkpoint-unknown", "content": _UNKNOWN}]},
            note=f"Calls retriever {serving.name}",
        )

    def _embedding_cost(self, call: Call, serving: RetrieverMatch) -> float | None:
        """Cost of embedding the query; the search itself has no token cost."""
        if not serving.provider or not isinstance(call.input, dict):
            return 0.0
        tokens = 1 + len(str(call.input.get("query", ""))) // _CHARACTERS_PER_TOKEN
        return self.sources.price(serving.provider, serving.model, tokens, 0)

    def ask(self, call: Call) -> OperatorAnswer | None:
        return None

    def committed_answer(self, no: int) -> Answer | None:
        return None
