"""From a span of any tracer to a step in the shapes of `traces.core.recorded_run`."""

from dataclasses import dataclass, field

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import as_text, normalize_arguments, normalize_messages, parse_message_json
from traces.importers.common.model_calls import Answer, Usage, model_input, normalize_answer, normalize_request
from traces.importers.common.times import Span
from traces.importers.files.json_reader import first, items, obj, parse_embedded, text


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanFacts:
    """What a tracer says of one span; `request` and `answer` where it says them apart from input and output."""

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
    """The step that a span recorded."""
    given, made = _payloads(facts)
    timeout = facts.failed and ("timeout" in facts.error.lower() or "timed out" in facts.error.lower())
    failure = StepStatus.TIMEOUT if timeout else StepStatus.ERROR
    done = StepStatus.PARTIAL if facts.is_open else StepStatus.OK
    odd: JSONObject = {"recorded_end": facts.times.odd_end} if facts.times.odd_end else {}
    is_model = facts.type is StepType.MODEL
    return RecordedStep(
        key=facts.key,
        type=facts.type,
        name=facts.name,
        parent=facts.parent,
        status=failure if facts.failed else done,
        error=facts.error if facts.failed else "",
        started_at=facts.times.start,
        ended_at=facts.times.end,
        input=given,
        output=made,
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
        attributes={**facts.attributes, **odd},
    )


def normalize_documents(value: JSONValue, scores: JSONValue = None) -> list[JSONValue]:
    """Retrieved documents as `{id, content, score?, metadata?}`."""
    parsed = parse_embedded(value)
    listed = items(parsed) or items(first(obj(parsed), "documents", "results", "matches", "output"))
    marks = items(scores)
    return [_document(each, marks[at] if at < len(marks) else None, at) for at, each in enumerate(listed)]


def _payloads(facts: SpanFacts) -> tuple[JSONValue, JSONValue]:
    match facts.type:
        case StepType.MODEL:
            return facts.request or _request(facts.input), (facts.answer or normalize_answer(facts.output)).output
        case StepType.TOOL:
            given = None if facts.input is None else normalize_arguments(facts.input)
            return given, _result(facts.output)
        case StepType.RETRIEVAL:
            return _query(facts.input), _found(facts.output)
        case StepType.TURN:
            asked = normalize_messages(facts.input)
            answer = normalize_answer(facts.output).output
            message: JSONObject | None = {"message": answer["message"]} if answer else None
            return ({"messages": [dict(each) for each in asked]} if asked else None), message
        case _:
            return _task(facts.input), _said(facts.output)


def _request(given: JSONValue) -> JSONObject | None:
    body = parse_embedded(given)
    if isinstance(body, dict) and not body.keys().isdisjoint({"messages", "contents", "input", "prompt"}):
        return normalize_request(body)
    messages = normalize_messages(parse_message_json(given))
    return model_input(messages, [], {}) if messages else None


def _result(value: JSONValue) -> JSONValue:
    """A tool's result: unwrapped where the tracer wraps it."""
    parsed = parse_embedded(value)
    if isinstance(parsed, dict) and parsed.keys() == {"output"}:
        return parsed["output"]
    return parsed if isinstance(parsed, str) else value


def _query(given: JSONValue) -> JSONValue:
    parsed = parse_embedded(given)
    if parsed is None:
        return None
    if isinstance(parsed, dict):
        query = first(parsed, "query", "input", "question")
        rest = {key: item for key, item in parsed.items() if key not in {"query", "input", "question"}}
        return {"query": query, **rest} if query is not None else parsed
    return {"query": as_text(parsed)}


def _found(given: JSONValue) -> JSONValue:
    documents = normalize_documents(given)
    return {"documents": documents} if documents else given


def _document(value: JSONValue, score: JSONValue, at: int) -> JSONObject:
    given = obj(parse_embedded(value))
    if not given:
        return {"id": str(at + 1), "content": as_text(value), **({"score": score} if score is not None else {})}
    content = first(given, "content", "page_content", "text", "pageContent", "document")
    known = {"id", "content", "page_content", "text", "pageContent", "document", "score", "metadata"}
    metadata = {
        **obj(parse_embedded(given.get("metadata"))),
        **{key: item for key, item in given.items() if key not in known},
    }
    optional: JSONObject = {"score": first(given, "score") if score is None else score, "metadata": metadata or None}
    return {
        "id": text(first(given, "id")) or str(at + 1),
        "content": "" if content is None else content,
        **{key: item for key, item in optional.items() if item is not None},
    }


def _task(given: JSONValue) -> JSONValue:
    """An agent's input: its task, or the messages it was given."""
    parsed = normalize_arguments(given) if given is not None else None
    if parsed in (None, {}, []):
        return None
    if (
        isinstance(parsed, dict)
        and isinstance(parsed.get("messages"), list)
        and (found := normalize_messages(parsed["messages"]))
    ):
        return {**parsed, "messages": [dict(each) for each in found]}
    if isinstance(parsed, list) and parse_message_json(given) is not given and (found := normalize_messages(parsed)):
        return {"messages": [dict(each) for each in found]}
    return {"task": parsed} if isinstance(parsed, str) else parsed


def _said(given: JSONValue) -> JSONValue:
    parsed = _result(given)
    if parsed is None or parsed == "":
        return None
    return {"text": parsed} if isinstance(parsed, str) else parsed
