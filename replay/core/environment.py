"""The port through which the engine reaches recordings, caches, models, tools and retrievers. Pure."""

from collections.abc import Collection
from typing import Protocol
from uuid import UUID

from replay.core.calls import Answer, CachedAnswer, Call, OperatorAnswer, RetrieverMatch, ToolReview
from traces.core.json_types import JSONValue


class ReplayEnvironment(Protocol):
    """Recorded payloads, caches, providers and live calls. `planning`: no live answer will become known."""

    planning: bool

    def payload(self, ref: str) -> JSONValue:
        """A recorded value; raises `MissingPart`."""

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        """A recorded answer to the same call in any sealed run of the app, but for the excluded steps."""

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        """A recorded answer to a tool call like this one in any sealed run of the app."""

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        """The name of the configured provider that would answer, if any."""

    def live(self, call: Call, provider: str) -> Answer:
        """Ask the provider; in a plan the answer stays unknown."""

    def tool(self, name: str) -> ToolReview:
        """Whether a tool may run, and what would run it."""

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        """Run the tool; in a plan the answer stays unknown. None: the operator leaves the answer to the policy."""

    def retriever(self, call: Call) -> RetrieverMatch:
        """The configured retriever that would answer, or why none does."""

    def live_retrieval(self, call: Call, serving: RetrieverMatch) -> Answer:
        """Search again; in a plan the documents stay unknown."""

    def ask(self, call: Call) -> OperatorAnswer | None:
        """Ask the operator for a tool's answer; None in a plan. Raises when the session has to wait for it."""

    def committed_answer(self, no: int) -> Answer | None:
        """The answer that an earlier worker committed for this step."""
