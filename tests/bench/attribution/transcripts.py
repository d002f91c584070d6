"""Transcripts for the aligner: generated customer-service conversations, and recordings of a data folder."""

import gzip
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson

from diffing.compare.run_side import Link as SideLink
from diffing.compare.run_side import RunFacts, Side, SideStep, reader_of
from tests.support.comparing import Store
from traces.core.ids import new_id
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import Label
from traces.importers.files.source import Source
from traces.importers.formats.chats import chat
from traces.payloads.splitter import Splitter
from traces.payloads.step_summaries import summarize
from traces.provenance.edges import find_provenance
from traces.provenance.step_outputs import StepFacts
from traces.signatures.call_signatures import signature

MULTI: Final = "tau2_retail_multi.jsonl.gz"
REPEATS: Final = "tau_airline_gpt4o_4x.jsonl.gz"
LABELLED_FAILURES: Final = "agentrx_tau_retail.jsonl.gz"

_LOOKUPS: Final = {
    "get_user": "user_id",
    "get_order": "order_id",
    "get_product": "product_id",
    "track_parcel": "parcel_id",
}
_WRITES: Final = ("cancel_order", "exchange_items", "issue_refund", "change_address")
_ASKS: Final = (
    "Where is my order {}? It should have been here on {}.",
    "I would like to exchange the {} that came with order {}.",
    "Please cancel the {} and send the money to my card ending in {}.",
    "The {} arrived broken, can I have a new one instead? The number is {}.",
    "Can you send parcel {} to my office in {} instead?",
    "Thanks. While we are at it, how many kinds of {} do you have below {} euros?",
)
_ANSWERS: Final = (
    "I have looked it up: {} is {} and should be with you on {}.",
    "Before I go on, please confirm that you want me to change {} to {} at no cost. It will be done by {}.",
    "That is done. {} now says {}, and you will hear from us before {}.",
    "I am sorry about {}. I can offer you {}, or a refund until {}.",
    "There are {} of them; the cheapest, {}, is in stock since {}.",
)
_THINGS: Final = [
    "keyboard",
    "lamp",
    "kettle",
    "backpack",
    "tablet",
    "jacket",
    "puzzle",
    "camera",
    "bicycle",
    "bottle",
    "skateboard",
]
_STATES: Final = ["on its way", "with the carrier", "delivered", "waiting for payment", "returned", "lost"]
_DAYS: Final = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def generate(seed: int) -> list[JSONObject]:
    """Generate a conversation: questions, look-ups, possibly writes, and an answer to each question."""
    rng = random.Random(seed)
    messages: list[JSONObject] = [{"role": "system", "content": "You are the order desk. One tool call at a time."}]
    for turn in range(rng.randint(4, 10)):
        ask = rng.choice(_ASKS).format(rng.choice(_THINGS), rng.randint(100, 9999))
        messages.append({"role": "user", "content": ask})
        for number in range(rng.choice((0, 1, 1, 2, 3))):
            messages += exchange(rng, f"call_{seed}_{turn}_{number}")
        answer = rng.choice(_ANSWERS).format(
            f"{rng.choice(_THINGS)} {rng.randint(100, 999)}", rng.choice(_STATES), rng.choice(_DAYS)
        )
        messages.append({"role": "assistant", "content": answer})
    return messages


def exchange(rng: random.Random, call_id: str) -> list[JSONObject]:
    """Generate one tool call and its result."""
    if rng.random() < 0.15:
        name = rng.choice(_WRITES)
        arguments = {"order_id": f"#W{rng.randint(1000, 1060)}", "reason": rng.choice(_STATES)}
    else:
        name = rng.choice(list(_LOOKUPS))
        arguments = {_LOOKUPS[name]: f"{rng.randint(1000, 1060)}"}
    call: JSONObject = {"id": call_id, "name": name, "arguments": dict(arguments)}
    result = orjson.dumps({**arguments, "state": rng.choice(_STATES), "total": rng.randint(5, 900)}).decode()
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": result, "tool_call_id": call_id, "name": name},
    ]


def rows(folder: Path, name: str) -> Iterator[JSONObject]:
    """Yield the recordings of one file as they are."""
    with gzip.open(folder / name, "rb") as lines:
        for line in lines:
            yield orjson.loads(line)


def messages_of(row: JSONObject) -> list[JSONObject]:
    messages = row["messages"]
    assert isinstance(messages, list)
    return [message for message in messages if isinstance(message, dict)]


def import_messages(messages: list[JSONObject]) -> RecordedRun:
    """Import a transcript."""
    body: JSONObject = {"run_id": "run", "model": "m", "messages": list[JSONValue](messages)}
    [run] = chat.parse(Source(name="run", data=orjson.dumps(body)))
    return run


def run_of(row: JSONObject) -> RecordedRun:
    """Import a recording with its own metadata."""
    [run] = chat.parse(Source(name="run", data=orjson.dumps(row)))
    return run


def side(run: RecordedRun, store: Store | None = None, *, links: bool = False) -> Side:
    """Return a recording as a side of a diff. `links` also finds its provenance."""
    numbers = {step.key: number for number, step in enumerate(run.steps, 1)}
    splitter = Splitter()
    steps = [_step(step, numbers, splitter) for step in run.steps]
    if store is not None:
        for step, source in zip(steps, run.steps, strict=True):
            store.values |= {step.input_ref: _stored(source.input), step.output_ref: _stored(source.output)}
    facts = RunFacts(
        id=new_id(), name=run.name, app=run.app, status=run.status, source=run.source, metadata=run.metadata
    )
    return Side(run=facts, steps=steps, links=reader_of(_links(run, numbers) if links else ()))


def _stored(value: JSONValue) -> JSONValue:
    """A payload as the artifact store gives it, without the shared conversations of an import."""
    payload: JSONValue = orjson.loads(orjson.dumps(value, default=list))
    return payload


def _links(run: RecordedRun, numbers: dict[str, int]) -> list[SideLink]:
    facts = [
        StepFacts(no=numbers[step.key], type=step.type, input=step.input, output=step.output, call_id=step.call_id)
        for step in run.steps
    ]
    edges = find_provenance(facts, Splitter()).edges
    return [SideLink(edge.producer, edge.consumer, edge.kind, edge.consumer_path, edge.evidence) for edge in edges]


def _step(step: RecordedStep, numbers: dict[str, int], splitter: Splitter) -> SideStep:
    key = new_id()
    return SideStep(
        id=key,
        sequence_no=numbers[step.key],
        parent_no=None if step.parent is None else numbers[step.parent],
        type=step.type,
        name=step.name,
        status=step.status,
        label=Label.LIVE,
        reason="",
        signature=signature(
            type=step.type,
            name=step.name,
            input=step.input,
            provider=step.provider,
            model=step.model,
            tool_name=step.tool_name,
            digest_of=splitter.digest,
        ),
        input_ref="" if step.input is None else splitter.split(step.input),
        output_ref="" if step.output is None else splitter.split(step.output),
        summary=summarize(
            type=step.type, name=step.name, tool_name=step.tool_name, input=step.input, output=step.output
        ),
        error=step.error,
        provider=step.provider,
        model=step.model,
        tool_name=step.tool_name,
        call_id=step.call_id,
        tokens_in=step.tokens_in,
        tokens_out=step.tokens_out,
        cost_usd=None,
        duration_ms=None,
        origin=key,
    )
