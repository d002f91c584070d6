"""AppWorld: the log of a task's model calls (`lm_calls.jsonl`), with each request and its response as they were sent.

What the code of an answer returned is in the next request.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_text, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.run_builder import AGENT_KEY, RunFacts, build_run
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call, add_cost

FORMAT: Final = "appworld"


def is_call(value: JSONValue) -> bool:
    """Return True if `value` is a call: an id, a request as `input` and a chat completion as `output`."""
    body = as_object(value)
    return "id" in body and has_list(body.get("input"), "messages") and has_list(body.get("output"), "choices")


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the calls in a file, which are those of a task."""
    calls = list(parse_records([source], _read))
    if not calls:
        raise BadFile("a log of AppWorld without calls", "line 1")
    agent = RecordedStep(key=AGENT_KEY, type=StepType.AGENT, name="agent")
    yield build_run(
        RunFacts(external_id=f"{FORMAT}-{calls[0].key}", app=FORMAT, format=FORMAT),
        [agent, *calls],
        location="line 1",
    )


def _read(value: JSONValue, location: str) -> Iterator[RecordedStep]:
    if not is_call(value):
        raise BadFile("a call of AppWorld needs `id`, `input.messages` and `output.choices`", location)
    body = as_object(value)
    request, response = as_object(body["input"]), as_object(body["output"])
    facts = SpanFacts(
        key=as_text(body["id"]),
        name=as_text(request.get("model")) or "model",
        type=StepType.MODEL,
        times=parse_span(response.get("created"), None, location),
        parent=AGENT_KEY,
        input=request,
        output=response,
        attributes={name: response[name] for name in ("id", "system_fingerprint") if response.get(name)},
    )
    usage: JSONObject = as_object(response.get("usage"))
    call = add_call(facts, settings={}, model="", provider=request.get("custom_llm_provider"), usage=usage)
    yield build_step(add_cost(call, response.get("cost")))
