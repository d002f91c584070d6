"""A world in which only what was recorded can be answered."""

from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from replay.core.calls import Answer, CachedAnswer, Call, OperatorAnswer, RetrieverMatch, ToolReview
from replay.proofs.counterfactual.coupling import Coupling
from replay.store.payload_reader import Payloads
from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.parts import MissingPart


class Unanswered(Exception):
    """The walk comes to a call that nobody recorded."""

    def __init__(self, call: Call) -> None:
        super().__init__(f"step {call.no} ({call.type} {call.callee}) is a call that nobody recorded")
        self.call = call


@dataclass
class RecordedEnvironment:
    """A world in which only what was recorded can be answered."""

    coupling: Coupling
    payloads: Payloads
    planning: bool = False
    answered_by: list[UUID] = field(default_factory=list)  # the runs that recorded the answers, in order

    def payload(self, ref: str) -> JSONValue:
        return self.payloads(ref)

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        found = hit(self.coupling, signature, self.payloads)
        if found is not None:
            self.answered_by.append(UUID(str(found.location["run"])))
        return found

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        return None

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        return "recorded"

    def live(self, call: Call, provider: str) -> Answer:
        raise Unanswered(call)

    def tool(self, name: str) -> ToolReview:
        return ToolReview(safe=True)  # so that the chain comes to its end, where a missing answer shows

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        raise Unanswered(call)

    def retriever(self, call: Call) -> RetrieverMatch:
        return RetrieverMatch(name="recorded")

    def live_retrieval(self, call: Call, serving: RetrieverMatch) -> Answer:
        raise Unanswered(call)

    def ask(self, call: Call) -> OperatorAnswer | None:
        return None

    def committed_answer(self, no: int) -> Answer | None:
        return None


def hit(coupling: Coupling, signature: str, payloads: Payloads) -> CachedAnswer | None:
    """The recorded answer to a call, as the resolver chain takes it."""
    found = coupling.answer(signature)
    if found is None:
        return None
    try:
        output = payloads(found.output_ref) if found.output_ref else None
    except MissingPart:
        return None
    where: JSONObject = {"run": str(found.run), "step": found.step}
    return CachedAnswer(output_ref=found.output_ref, output=output, status=found.status, location=where)
