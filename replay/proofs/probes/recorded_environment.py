"""An environment in which only recorded calls can be answered."""

from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from diffing.sentences.atoms.obstacles import Gap, gap, step_name
from replay.core.calls import Answer, CachedAnswer, Call, OperatorAnswer, RetrieverMatch, ToolReview
from replay.proofs.counterfactual.coupling import Coupling
from replay.store.payload_reader import Payloads
from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.parts import MissingPart


class UnrecordedCall(Exception):
    """The replay reached a call that no run recorded."""

    def __init__(self, call: Call) -> None:
        super().__init__(gap(Gap.UNRECORDED_CALL, step=step_name(call.no, call.type, call.callee)))
        self.call = call


@dataclass
class RecordedEnvironment:
    """An environment that answers from recordings only. `answered_by`: the runs that recorded the answers, in order."""

    coupling: Coupling
    payloads: Payloads
    planning: bool = False
    answered_by: list[UUID] = field(default_factory=list)

    def payload(self, ref: str) -> JSONValue:
        return self.payloads(ref)

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        answer = recorded_answer(self.coupling, signature, self.payloads)
        if answer is not None:
            self.answered_by.append(UUID(str(answer.location["run"])))
        return answer

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        return None

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        return "recorded"

    def live(self, call: Call, provider: str) -> Answer:
        raise UnrecordedCall(call)

    def tool(self, name: str) -> ToolReview:
        # A safe tool lets the chain reach its end, where a missing answer shows.
        return ToolReview(safe=True)

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        raise UnrecordedCall(call)

    def retriever(self, call: Call) -> RetrieverMatch:
        return RetrieverMatch(name="recorded")

    def live_retrieval(self, call: Call, serving: RetrieverMatch) -> Answer:
        raise UnrecordedCall(call)

    def ask(self, call: Call) -> OperatorAnswer | None:
        return None

    def committed_answer(self, no: int) -> Answer | None:
        return None


def recorded_answer(coupling: Coupling, signature: str, payloads: Payloads) -> CachedAnswer | None:
    """The recorded answer to a call, in the form of a cached answer."""
    answer = coupling.answer(signature)
    if answer is None:
        return None
    try:
        output = payloads(answer.output_ref) if answer.output_ref else None
    except MissingPart:
        return None
    source: JSONObject = {"run": str(answer.run), "step": answer.step}
    return CachedAnswer(output_ref=answer.output_ref, output=output, status=answer.status, location=source)
