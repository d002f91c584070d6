"""Runs to compare, without a database: written as steps, turned into what the diff sees of stored ones."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from diffing.compare.alignment import align
from diffing.compare.run_side import Link, RunFacts, Side, SideStep, reader_of
from diffing.content.similarity import Lexical
from diffing.report.build import build_report
from diffing.schemas.report import DiffOptions, DiffReport
from traces.core.ids import new_id
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, StepStatus, StepType
from traces.payloads.splitter import Splitter, split
from traces.payloads.step_summaries import summarize
from traces.provenance.edges import find_provenance
from traces.provenance.step_outputs import StepFacts
from traces.signatures.call_signatures import signature

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One step as a test writes it; `parent` counts from 1."""

    type: StepType
    name: str = ""
    parent: int | None = None
    input: JSONValue = None
    output: JSONValue = None
    status: str = "ok"
    error: str = ""
    model: str = ""
    call_id: str = ""
    reason: str = ""
    origin: UUID | None = None


@dataclass
class Store:
    """Payloads by digest, as the artifact store gives them."""

    values: dict[str, JSONValue] = field(default_factory=dict)

    def save(self, value: JSONValue) -> str:
        if value is None:
            return ""
        digest = split(value).digest
        self.values[digest] = value
        return digest

    def load(self, refs: Collection[str]) -> dict[str, JSONValue]:
        return {ref: self.values[ref] for ref in refs if ref in self.values}


def side_of(specs: Sequence[Spec], store: Store, *, source_run: UUID | None = None) -> Side:
    """A recorded run with its provenance."""
    steps = [_step(number, step, store) for number, step in enumerate(specs, 1)]
    edges = find_provenance(
        [
            StepFacts(no=number, type=step.type, input=step.input, output=step.output, call_id=step.call_id)
            for number, step in enumerate(specs, 1)
        ],
        Splitter(),
    ).edges
    links = [Link(edge.producer, edge.consumer, edge.kind, edge.consumer_path, edge.evidence) for edge in edges]
    run = RunFacts(id=new_id(), name="run", app="app", status="completed", source="import", source_run=source_run)
    return Side(run=run, steps=steps, links=reader_of(links))


def report_of(base: Side, candidate: Side, store: Store) -> DiffReport:
    """The whole report, without embeddings."""
    return build_report(
        id=new_id(),
        created_at=NOW,
        base=base,
        candidate=candidate,
        options=DiffOptions(similarity="lexical"),
        measure=Lexical(),
        load=store.load,
    )


def diff_of(base: Sequence[Spec], candidate: Sequence[Spec], *, derived: bool = False) -> DiffReport:
    """The report of two runs given as steps; `derived` makes the candidate a fork of the base, step for step."""
    store = Store()
    left = side_of(base, store)
    right = side_of(candidate, store, source_run=left.run.id if derived else None)
    if derived:
        steps = [
            step._replace(origin=left.steps[index].id) if index < len(left.steps) else step
            for index, step in enumerate(right.steps)
        ]
        right = Side(run=right.run, steps=steps, links=right.links)
    return report_of(left, right, store)


def user(text: str) -> JSONObject:
    return {"role": "user", "content": text}


def system(text: str) -> JSONObject:
    return {"role": "system", "content": text}


def reply(text: str) -> JSONObject:
    return {"role": "assistant", "content": text}


def tool_call(call_id: str, name: str, **arguments: JSONValue) -> JSONObject:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "name": name, "arguments": dict(arguments)}],
    }


def tool_message(call_id: str, content: JSONValue) -> JSONObject:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def model(messages: list[JSONObject], answer: JSONObject, *, model: str = "m1", **parameters: JSONValue) -> Spec:
    request: JSONObject = {"messages": list[JSONValue](messages)}
    if parameters:
        request["parameters"] = dict(parameters)
    return Spec(type=StepType.MODEL, name="chat", parent=1, model=model, input=request, output={"message": answer})


def tool(name: str, call_id: str, arguments: JSONObject, result: JSONValue, **more: str) -> Spec:
    return Spec(type=StepType.TOOL, name=name, parent=1, input=arguments, output=result, call_id=call_id, **more)  # type: ignore[arg-type]  # texts only


def output(text: str) -> Spec:
    return Spec(type=StepType.OUTPUT, name="output", parent=1, output={"text": text})


def agent() -> Spec:
    return Spec(type=StepType.AGENT, name="agent")


def refund_run(
    *, prompt: str, amount: int, result: JSONValue, status: str, final: str, model_name: str = "m1"
) -> list[Spec]:
    """An order desk that looks up an order and refunds it."""
    order: JSONObject = {"id": "A-1042", "total": "42.00 EUR", "state": "returned"}
    first = [system(prompt), user("Please refund my order A-1042.")]
    after_lookup = [*first, tool_call("c1", "get_order", order_id="A-1042"), tool_message("c1", order)]
    after_refund = [
        *after_lookup,
        tool_call("c2", "issue_refund", order_id="A-1042", amount=amount),
        tool_message("c2", result),
    ]
    return [
        agent(),
        model(first, tool_call("c1", "get_order", order_id="A-1042"), model=model_name),
        tool("get_order", "c1", {"order_id": "A-1042"}, order),
        model(after_lookup, tool_call("c2", "issue_refund", order_id="A-1042", amount=amount), model=model_name),
        tool("issue_refund", "c2", {"order_id": "A-1042", "amount": amount}, result, status=status),
        model(after_refund, reply(final), model=model_name),
        output(final),
    ]


REJECTION = "I am sorry, I could not issue the refund because it is over the limit."
CONFIRMATION = "I have refunded 42.00 EUR to your card."
PROMPT = "You are the order desk. Refund returned orders."
FIX = " Amounts of issue_refund are in euros."


def failing_refund() -> list[Spec]:
    return refund_run(prompt=PROMPT, amount=4200, result={"state": "refused"}, status="error", final=REJECTION)


def fixed_refund() -> list[Spec]:
    return refund_run(prompt=PROMPT + FIX, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION)


def _step(number: int, step: Spec, store: Store) -> SideStep:
    key = new_id()
    tool_name = step.name if step.type is StepType.TOOL else ""
    return SideStep(
        id=key,
        sequence_no=number,
        parent_no=step.parent,
        type=step.type,
        name=step.name,
        status=StepStatus(step.status),
        label=Label.LIVE,
        reason=step.reason,
        signature=signature(type=step.type, name=step.name, input=step.input, model=step.model, tool_name=tool_name),
        input_ref=store.save(step.input),
        output_ref=store.save(step.output),
        summary=summarize(type=step.type, name=step.name, tool_name=tool_name, input=step.input, output=step.output),
        error=step.error,
        provider="",
        model=step.model,
        tool_name=tool_name,
        call_id=step.call_id,
        tokens_in=None,
        tokens_out=None,
        cost_usd=None,
        duration_ms=None,
        origin=step.origin or key,
    )


def steps_of(specs: Sequence[Spec]) -> Sequence[SideStep]:
    return side_of(specs, Store()).steps


def pairs_of(base: Sequence[SideStep], candidate: Sequence[SideStep]) -> dict[int, int]:
    """Sequence numbers of the candidate, by those of the base."""
    return {base[m.base].sequence_no: candidate[m.candidate].sequence_no for m in align(base, candidate)}
