"""Port through which the engine reaches recordings, caches, models, tools and retrievers. Pure."""

from collections.abc import Collection
from typing import Protocol
from uuid import UUID

from replay.core.calls import Answer, CachedAnswer, Call, OperatorAnswer, RetrieverMatch, ToolReview
from traces.core.json_types import JSONValue


class ReplayEnvironment(Protocol):
    """Recorded payloads, caches, providers and live calls; with `planning`, live answers stay unknown."""

    planning: bool

    def payload(self, ref: str) -> JSONValue:
        """Recorded value; raises `MissingPart`."""

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        """Recorded answer to the same call in any sealed run of the app, except the excluded steps."""

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        """Recorded answer to a similar tool call in any sealed run of the app."""

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        """Name of the configured provider that would answer, if any."""

    def live(self, call: Call, provider: str) -> Answer:
        """Call the provider; in a plan the answer stays unknown."""

    def tool(self, name: str) -> ToolReview:
        """Whether a tool may run, and its executor."""

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        """Run the tool; in a plan the answer stays unknown. None if the operator leaves the answer to the policy."""

    def retriever(self, call: Call) -> RetrieverMatch:
        """Configured retriever that would answer, or why there is none."""

    def live_retrieval(self, call: Call, serving: RetrieverMatch) -> Answer:
        """Search live; in a plan the documents stay unknown."""

    def ask(self, call: Call) -> OperatorAnswer | None:
        """Ask the operator for a tool's answer; None in a plan. Raises `OperatorWait` to pause the session."""

    def committed_answer(self, no: int) -> Answer | None:
        """Answer that an earlier worker committed for a step."""
