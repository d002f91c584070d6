"""Facet readers: the differences of two inputs or two outputs, for each type of step. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from diffing.compare.comparison import Pair
from diffing.content.facet import DOCUMENTS, SYSTEM_ROLES, Facet, FacetKind
from diffing.content.message_diff import changed_messages, key_of, without_call_ids
from diffing.content.payload_texts import answer_text, content_text, without_random_ids
from diffing.sequences.json_diff import differ, parse_embedded_json
from traces.core.json_access import as_object, as_objects
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import Message, ModelRequest
from traces.signatures.call_signatures import DEFAULT_IGNORED

_MESSAGE_PARTS: Final = frozenset({"messages", "tools", "parameters"})
_QUERY: Final = FacetKind("query", "retrieval", "input", "retrieval", "text")
_RETRIEVAL_SETTINGS: Final = FacetKind("settings", "retrieval", "config", "retrieval")
_DOCUMENTS: Final = FacetKind(DOCUMENTS, "retrieval", "output", "retrieval", "ranks")
_SYSTEM_PROMPT: Final = FacetKind("system prompt", "prompt", "input", "prompt", "text")
_TOOL_SCHEMAS: Final = FacetKind("tool schemas", "prompt", "input", "prompt")
_PARAMETERS: Final = FacetKind("parameters", "model", "config", "model")
_COMPLETION: Final = FacetKind("completion", "model", "output", "output", "text")
_TOOL_CALLS: Final = FacetKind("tool calls", "model", "output", "output")
_FINISH_REASON: Final = FacetKind("finish reason", "model", "output", "output")
_ARGUMENTS: Final = FacetKind("arguments", "tool", "input", "tool")
_RESULT: Final = FacetKind("result", "tool", "output", "tool")
_TEMPLATE: Final = FacetKind("template", "prompt", "input", "prompt", "text")
_VARIABLES: Final = FacetKind("template version and variables", "prompt", "input", "prompt")
_RENDERED_PROMPT: Final = FacetKind("rendered prompt", "prompt", "output", "prompt")
_OUTPUT_INPUT: Final = FacetKind("input of the output step", "output", "input", "output")
_FINAL_ANSWER: Final = FacetKind("final answer", "output", "output", "output", "text")
# What an answer contains besides its text and its tool calls.
_CITATIONS: Final = FacetKind("citations and data", "output", "output", "output")
_ANSWER_DETAILS: Final = FacetKind("citations, thoughts and media", "model", "output", "output")
_RESULTS: Final = FacetKind("other results", "retrieval", "output", "retrieval")
# Ids and signatures of thoughts differ between equal answers.
_VOLATILE_KEYS: Final = frozenset({"id", "signature", "encrypted_content", "index"})
_ANSWER_KEYS: Final = frozenset({"text", "message", "content", "answer", "output"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """The functions that read the inputs and the outputs of one type of step."""

    inputs: Callable[[Pair, JSONValue, JSONValue], Iterator[Facet]]
    outputs: Callable[[Pair, JSONValue, JSONValue], Iterator[Facet]]


def reader_of(step_type: StepType) -> Reader:
    """The reader for a type of step."""
    return _READERS.get(step_type, _DEFAULT_READER)


def _model_inputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    left, right = as_object(base), as_object(candidate)
    yield from _message_facets(pair, left, right)
    tools = _tools_by_name(left.get("tools")), _tools_by_name(right.get("tools"))
    if differ(*tools):
        yield _TOOL_SCHEMAS.facet(pair, *tools)
    settings = _model_settings(left), _model_settings(right)
    if differ(*settings):
        yield _PARAMETERS.facet(pair, *settings)


def _message_facets(pair: Pair, base: JSONObject, candidate: JSONObject) -> Iterator[Facet]:
    """The system prompt as one text, and the other messages as a list."""
    left, right = ModelRequest(base).messages, ModelRequest(candidate).messages
    prompts = _system_prompt(left), _system_prompt(right)
    if prompts[0] != prompts[1]:
        yield _SYSTEM_PROMPT.facet(pair, *prompts)
    changes = tuple(item for item in changed_messages(left, right) if item.role not in SYSTEM_ROLES)
    if changes:
        yield Facet(
            pair=pair,
            section="prompt",
            kind="message list",
            part="input",
            category="upstream",
            form="messages",
            messages=changes,
        )


def _model_outputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    left, right = _answer(base), _answer(candidate)
    texts = content_text(left.get("content")), content_text(right.get("content"))
    if texts[0] != texts[1]:
        yield _COMPLETION.facet(pair, *texts)
    calls = without_call_ids(left.get("tool_calls")), without_call_ids(right.get("tool_calls"))
    if calls[0] != calls[1]:
        yield _TOOL_CALLS.facet(pair, *calls)
    details = _answer_details(left), _answer_details(right)
    if differ(*details):
        yield _ANSWER_DETAILS.facet(pair, *details)
    reasons = as_object(base).get("finish_reason"), as_object(candidate).get("finish_reason")
    if reasons[0] != reasons[1] and None not in reasons:
        yield _FINISH_REASON.facet(pair, {"finish_reason": reasons[0]}, {"finish_reason": reasons[1]})


def _tool_inputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    yield _ARGUMENTS.facet(pair, parse_embedded_json(base), parse_embedded_json(candidate))


def _tool_outputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    yield _any_value(_RESULT, pair, base, candidate)


def _retrieval_inputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    left, right = as_object(base), as_object(candidate)
    if left.get("query") != right.get("query"):
        yield _QUERY.facet(pair, content_text(left.get("query")), content_text(right.get("query")))
    settings = _omit(left, {"query"}), _omit(right, {"query"})
    if differ(*settings):
        yield _RETRIEVAL_SETTINGS.facet(pair, *settings)


def _retrieval_outputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    left, right = as_object(base), as_object(candidate)
    documents = left.get("documents"), right.get("documents")
    if documents == (None, None):
        yield _any_value(_RESULTS, pair, base, candidate)
        return
    if documents[0] != documents[1]:
        yield _DOCUMENTS.facet(pair, *documents)
    rest = _omit(left, {"documents"}), _omit(right, {"documents"})
    if differ(*rest):
        yield _RESULTS.facet(pair, *rest)


def _prompt_inputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    left, right = as_object(base), as_object(candidate)
    texts = content_text(left.get("template")), content_text(right.get("template"))
    if texts[0] != texts[1]:
        yield _TEMPLATE.facet(pair, *texts)
    variables = _omit(left, {"template"}), _omit(right, {"template"})
    if variables[0] != variables[1]:
        yield _VARIABLES.facet(pair, *variables)


def _prompt_outputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    left, right = as_object(base), as_object(candidate)
    if "messages" in left or "messages" in right:
        yield from _message_facets(pair, left, right)
    else:
        yield _any_value(_RENDERED_PROMPT, pair, left.get("text", base), right.get("text", candidate))


def _output_inputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    yield _any_value(_OUTPUT_INPUT, pair, base, candidate)


def _output_outputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    texts = answer_text(base), answer_text(candidate)
    if texts[0] != texts[1]:
        yield _FINAL_ANSWER.facet(pair, *texts)
    details = _details(as_object(base), _ANSWER_KEYS), _details(as_object(candidate), _ANSWER_KEYS)
    # Data without a text was compared as the answer's text.
    if all(value.keys() & _ANSWER_KEYS for value in map(as_object, (base, candidate))) and differ(*details):
        yield _CITATIONS.facet(pair, *details)


def _answer_details(message: JSONObject) -> JSONValue:
    """What a message contains besides its text and calls: citations, thoughts, media, a refusal."""
    blocks = [
        _details(block, {"text", *_VOLATILE_KEYS} if block.get("type", "text") == "text" else _VOLATILE_KEYS)
        for block in map(without_random_ids, as_objects(message.get("content")))
    ]
    extra_fields = _details(message, {"role", "content", "tool_calls", *_VOLATILE_KEYS})
    return {**extra_fields, **({"content": [*blocks]} if any(block.keys() - {"type"} for block in blocks) else {})}


def _details(value: JSONObject, names: Collection[str]) -> JSONObject:
    """The fields besides `names` that have a content: clients differ in whether they write empty ones."""
    return {key: item for key, item in value.items() if key not in names and item not in (None, "", [], {})}


def _other_inputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    # The message of a turn is in its first request.
    if pair.step.type != StepType.TURN:
        yield _any_value(FacetKind(f"{pair.step.type} input", "run", "input", "upstream"), pair, base, candidate)


def _other_outputs(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    # The output of a container is the output of a step in it.
    if not pair.is_container:
        yield _any_value(FacetKind(f"{pair.step.type} output", "run", "output", "structure"), pair, base, candidate)


def _any_value(kind: FacetKind, pair: Pair, base: JSONValue, candidate: JSONValue) -> Facet:
    """Compare two plain texts as texts, and everything else, encoded JSON included, by structure."""
    left, right = parse_embedded_json(base), parse_embedded_json(candidate)
    is_text = isinstance(left, str) and isinstance(right, str)
    return FacetKind(kind.kind, kind.section, kind.part, kind.category, "text" if is_text else "values").facet(
        pair, left, right
    )


_DEFAULT_READER: Final = Reader(inputs=_other_inputs, outputs=_other_outputs)
_READERS: Final[Mapping[StepType, Reader]] = {
    StepType.MODEL: Reader(inputs=_model_inputs, outputs=_model_outputs),
    StepType.TOOL: Reader(inputs=_tool_inputs, outputs=_tool_outputs),
    StepType.RETRIEVAL: Reader(inputs=_retrieval_inputs, outputs=_retrieval_outputs),
    StepType.PROMPT: Reader(inputs=_prompt_inputs, outputs=_prompt_outputs),
    StepType.OUTPUT: Reader(inputs=_output_inputs, outputs=_output_outputs),
}


def _system_prompt(messages: Sequence[JSONValue]) -> str:
    views = map(Message, messages)
    return "\n\n".join(content_text(message.content) for message in views if message.role in SYSTEM_ROLES)


def _answer(value: JSONValue) -> JSONObject:
    """The message of a model's output; a bare text counts as its content."""
    message = as_object(value).get("message", value)
    return message if isinstance(message, dict) else {"content": message}


def _tools_by_name(tools: JSONValue) -> JSONValue:
    """Tool schemas by name, so that a pointer names the tool."""
    return {str(tool.get("name") or key_of(tool)[:12]): tool for tool in as_objects(tools)}


def _model_settings(request: JSONObject) -> JSONObject:
    """A request's parameters on one level, without messages, tools and request ids."""
    settings = {**_omit(request, _MESSAGE_PARTS), **as_object(request.get("parameters"))}
    return {key: value for key, value in settings.items() if key not in DEFAULT_IGNORED}


def _omit(value: JSONObject, names: Collection[str]) -> JSONObject:
    return {key: item for key, item in value.items() if key not in names and item is not None}
