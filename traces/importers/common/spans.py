"""Conversion of a span from any tracer to a step in the shapes of `traces.core.recorded_run`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import zip_longest
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_list, is_number
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import (
    is_message,
    message_text,
    normalize_arguments,
    normalize_messages,
    parse_message_json,
    result_text,
)
from traces.importers.common.model_calls import Answer, Usage, model_input, normalize_answer, normalize_request
from traces.importers.common.run_builder import OUTPUT_KEY
from traces.importers.common.times import Span
from traces.importers.files.json_reader import parse_embedded

_DOCUMENT_FIELDS: Final = frozenset(
    {"id", "content", "page_content", "text", "pageContent", "document", "score", "metadata"}
)


@dataclass(kw_only=True, slots=True)
class SpanFacts:
    """A tracer's record of one span.

    `request` and `answer` are set if the tracer separates them from input and output.
    `is_open` means that the span's end was never recorded.
    """

    key: str
    name: str
    type: StepType
    times: Span
    parent: str | None = None
    failed: bool = False
    is_open: bool = False
    error: str = ""
    input: JSONValue = None
    output: JSONValue = None
    request: JSONObject | None = None
    answer: Answer | None = None
    provider: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    tool_name: str = ""
    call_id: str = ""
    retries: int = 0
    links: tuple[str, ...] = ()
    attributes: JSONObject = field(default_factory=dict)


def build_step(facts: SpanFacts) -> RecordedStep:
    """Build the step that a span recorded."""
    is_model = facts.type is StepType.MODEL
    if is_model and facts.answer is None:
        facts = replace(facts, answer=normalize_answer(facts.output))
    step_input, output = _payloads(facts)
    end_note: JSONObject = {"recorded_end": facts.times.invalid_end} if facts.times.invalid_end else {}
    return RecordedStep(
        key=facts.key,
        type=facts.type,
        name=facts.name,
        parent=facts.parent,
        status=_status(facts),
        error=facts.error if facts.failed else "",
        started_at=facts.times.start,
        ended_at=facts.times.end,
        input=step_input,
        output=output,
        provider=facts.provider if is_model else "",
        model=facts.model if is_model else "",
        tool_name=(facts.tool_name or facts.name) if facts.type is StepType.TOOL else "",
        call_id=facts.call_id,
        tokens_in=facts.usage.tokens_in,
        tokens_out=facts.usage.tokens_out,
        tokens_cached=facts.usage.tokens_cached,
        cost_usd=facts.usage.cost_usd,
        retries=facts.retries,
        links=facts.links,
        attributes={**_response_model(facts), **facts.attributes, **end_note},
    )


def with_root_answer(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Add what the outermost step returned as the run's answer, as `with_answer` does. `steps` are in causal order."""
    roots = [step for step in steps if step.parent is None]
    if len(roots) != 1 or roots[0].type is not StepType.AGENT or roots[0].status is not StepStatus.OK:
        return [*steps]
    return with_answer(steps, as_text(as_object(roots[0].output).get("text")), roots[0].key, roots[0].ended_at)


def with_answer(
    steps: Sequence[RecordedStep], text: str, parent: str | None, at: datetime | None
) -> list[RecordedStep]:
    """Add the run's answer as a step if no model gave it last: code chose or composed it, or a critic followed.

    Nothing is added for the last answer of a model, in a frame or cut.
    """
    # Lists, because a generator is a call for each step of each trace.
    models = [step.output for step in steps if step.type is StepType.MODEL and step.output is not None]
    if not text.strip() or not models or StepType.OUTPUT in [step.type for step in steps]:
        return [*steps]
    if _is_mostly(text, message_text(as_object(as_object(models[-1]).get("message")))):
        return [*steps]
    answer: JSONObject = {"text": text}
    output = RecordedStep(
        key=OUTPUT_KEY,
        type=StepType.OUTPUT,
        name=OUTPUT_KEY,
        parent=parent,
        started_at=at,
        ended_at=at,
        input=answer,
        output=answer,
    )
    return [*steps, output]


def _is_mostly(text: str, other_text: str) -> bool:
    """Return whether one of two texts contains the other as at least half of it, whatever the spacing and case."""
    if text == other_text:
        return True
    short, long = sorted((" ".join(item.split()).casefold() for item in (text, other_text)), key=len)
    return bool(short) and short in long and 2 * len(short) >= len(long)


def normalize_documents(value: JSONValue, scores: JSONValue = None) -> list[JSONValue]:
    """Convert retrieved documents to `{id, content, score?, metadata?}`; scores pair up by position."""
    value = parse_embedded(value)
    documents = as_list(value) or as_list(first_member(as_object(value), "documents", "results", "matches", "output"))
    pairs = zip_longest(documents, as_list(scores)[: len(documents)])
    return [_document(document, score, number) for number, (document, score) in enumerate(pairs, 1)]


def _response_model(facts: SpanFacts) -> JSONObject:
    """Return the model that an answer names, if the request was to another: usually a version of it."""
    model = facts.answer.model if facts.answer else ""
    return {"response_model": model} if model and facts.model and model != facts.model else {}


def _status(facts: SpanFacts) -> StepStatus:
    if facts.failed:
        is_timeout = "timeout" in facts.error.lower() or "timed out" in facts.error.lower()
        return StepStatus.TIMEOUT if is_timeout else StepStatus.ERROR
    return StepStatus.PARTIAL if facts.is_open else StepStatus.OK


def _payloads(facts: SpanFacts) -> tuple[JSONValue, JSONValue]:
    """Return the step's input and output."""
    match facts.type:
        case StepType.MODEL:
            return facts.request or _request(facts.input), facts.answer.output if facts.answer else None
        case StepType.TOOL:
            arguments = None if facts.input is None else normalize_arguments(facts.input)
            return arguments, _result(facts.output)
        case StepType.RETRIEVAL:
            return _query(facts.input), _search_result(facts.output)
        case StepType.TURN:
            messages: list[JSONValue] = [*normalize_messages(facts.input)]
            answer = normalize_answer(facts.output).output
            output: JSONObject | None = {"message": answer["message"]} if answer else None
            return ({"messages": messages} if messages else None), output
        case _:
            return _task(facts.input), _final_text(facts.output)


def _request(value: JSONValue) -> JSONObject | None:
    body = parse_embedded(value)
    if isinstance(body, dict) and not body.keys().isdisjoint({"messages", "contents", "input", "prompt"}):
        return normalize_request(body)
    messages = normalize_messages(parse_message_json(value))
    return model_input(messages, [], {}) if messages else None


def _result(value: JSONValue) -> JSONValue:
    """Return a tool's result, unwrapped from the tracer's `{output}` or, in JavaScript, `{outputs}`."""
    # Parsed, most results would only show that they have no such member.
    if isinstance(value, str) and value.startswith(("{", "[")) and '"output' not in value and "\\u" not in value:
        return value
    result = parse_embedded(value)
    if isinstance(result, dict) and len(result) == 1:
        return result.get("output", result.get("outputs", value))
    return result if isinstance(result, str) else value


def _query(value: JSONValue) -> JSONValue:
    query_input = parse_embedded(value)
    if query_input is None:
        return None
    if isinstance(query_input, dict):
        query = first_member(query_input, "query", "input", "question")
        rest = {key: item for key, item in query_input.items() if key not in {"query", "input", "question"}}
        return {"query": query, **rest} if query is not None else query_input
    return {"query": result_text(query_input)}


def _search_result(value: JSONValue) -> JSONValue:
    documents = normalize_documents(value)
    # A vector is no list of documents.
    is_vector = bool(documents) and is_number(first_item(parse_embedded(value)))
    return {"documents": documents} if documents and not is_vector else value


def _document(value: JSONValue, score: JSONValue, number: int) -> JSONObject:
    document = as_object(parse_embedded(value))
    if not document:
        return {"id": str(number), "content": result_text(value), **({"score": score} if score is not None else {})}
    content = first_member(document, "content", "page_content", "text", "pageContent", "document")
    metadata = {
        **as_object(parse_embedded(document.get("metadata"))),
        **{key: item for key, item in document.items() if key not in _DOCUMENT_FIELDS},
    }
    optional: JSONObject = {
        "score": first_member(document, "score") if score is None else score,
        "metadata": metadata or None,
    }
    return {
        "id": as_text(first_member(document, "id")) or str(number),
        "content": "" if content is None else content,
        **{key: item for key, item in optional.items() if item is not None},
    }


def _task(value: JSONValue) -> JSONValue:
    """Return an agent's input: its task or its messages."""
    task = normalize_arguments(value) if value is not None else None
    if task in (None, {}, []):
        return None
    if isinstance(task, dict) and has_list(task, "messages") and (messages := normalize_messages(task["messages"])):
        return {**task, "messages": [dict(message) for message in messages]}
    if isinstance(task, list) and parse_message_json(value) is not value and (messages := normalize_messages(task)):
        return {"messages": [dict(message) for message in messages]}
    return {"task": task} if isinstance(task, str) else task


def _final_text(value: JSONValue) -> JSONValue:
    """Return an agent's output: its text, and its messages if they contain more."""
    result = _result(value)
    if result is None or result == "":
        return None
    answers = as_list(parse_embedded(result)) if isinstance(result, str) else []
    if answers and all(map(is_message, answers)):
        messages = normalize_messages(answers, "assistant")
        text = next((text for message in reversed(messages) if (text := message_text(message))), "")
        has_more = messages != [{"role": "assistant", "content": text}]
        return {"text": text, **({"messages": [*messages]} if has_more else {})}
    return {"text": result} if isinstance(result, str) else result
