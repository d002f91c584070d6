"""FastGPT: records of chats, and what the nodes of a workflow state of their execution.

An answer with `detail` has the nodes in `responseData` and its text in `choices`; the API also returns them alone.
Nodes have a duration, but no times. Records have the calls of tools among the parts of an answer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_string, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_answer, normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call
from traces.importers.formats.workflows import fastgpt_records

FORMAT: Final = "fastgpt"
_ROOT: Final = "run"
_NODES: Final = "responseData"
_HOLDERS: Final = ("data", "list", "history", "records")
_MODELS: Final = frozenset({"chatNode", "classifyQuestion", "contentExtract", "cfr"})
_TYPES: Final = {
    **dict.fromkeys(_MODELS, StepType.MODEL),
    "datasetSearchNode": StepType.RETRIEVAL,
    "answerNode": StepType.OUTPUT,
    **dict.fromkeys(("httpRequest468", "code", "lafModule", "tool", "toolParams", "readFiles"), StepType.TOOL),
}
_CHILDREN: Final = ("toolDetail", "pluginDetail", "loopDetail", "childrenResponses", "parallelDetail")
_INPUTS: Final = (
    *("query", "params", "body", "headers", "customInputs", "toolInput", "pluginInput", "loopInput"),
    "extractDescription",
)
_OUTPUTS: Final = (
    *("textOutput", "httpResult", "pluginOutput", "toolRes", "customOutputs", "cqResult", "extractResult"),
    *("ifElseResult", "codeLog", "loopResult", "userSelectResult", "formInputResult", "updateVarResult"),
)
_COUNTS: Final = (("inputTokens", "outputTokens"), ("toolCallInputTokens", "toolCallOutputTokens"))
_SETTINGS: Final = {"temperature": "temperature", "maxToken": "max_tokens"}
_MAPPED_FIELDS: Final = frozenset(
    {"moduleName", "error", "errorText", "model", "historyPreview", "reasoningText", "finishReason", "quoteList"}
    | {*_CHILDREN, *_INPUTS, *_OUTPUTS, *_SETTINGS, *(name for names in _COUNTS for name in names)}
)


@dataclass(frozen=True, kw_only=True)
class _Execution:
    """The nodes of one execution, and what its answer states beside them."""

    nodes: list[JSONObject]
    answer: JSONObject
    location: str


def is_export(value: JSONValue) -> bool:
    """Return whether `value` has nodes of an execution or records of a chat, in any envelope of the API."""
    body = as_object(value)
    items = as_list(value) or as_list(body.get(_NODES))
    first = as_object(next(iter(items), None)) or body
    if _is_node(first) or fastgpt_records.is_record(first):
        return True
    return any(is_export(body[name]) for name in _HOLDERS if body.get(name))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per execution, and one per chat."""
    records: dict[str, list[tuple[JSONObject, str]]] = {}
    for item in parse_records([source], _read):
        if isinstance(item, _Execution):
            yield _run(item)
        else:
            records.setdefault(as_text(item[0].get("chatId")), []).append(item)
    for chat, items in records.items():
        yield fastgpt_records.build_run_of(chat, items, FORMAT)


def _read(value: JSONValue, location: str) -> Iterator[_Execution | tuple[JSONObject, str]]:
    body = as_object(value)
    if _NODES in body and not fastgpt_records.is_record(body):
        yield _Execution(nodes=as_objects(body[_NODES]), answer=omit(body, _NODES), location=location)
    elif (nodes := as_objects(value)) and _is_node(nodes[0]):
        yield _Execution(nodes=nodes, answer={}, location=location)
    elif fastgpt_records.is_record(body):
        yield body, location
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _read(item, f"{location}/{index}")
    else:
        for name in _HOLDERS:
            if body.get(name):
                yield from _read(body[name], f"{location}/{name}")


def _is_node(body: JSONObject) -> bool:
    return has_string(body, "moduleName") and has_string(body, "moduleType")


def _run(execution: _Execution) -> RecordedRun:
    answer, location = execution.answer, execution.location
    steps = list(_steps(execution.nodes, _ROOT, location))
    choice = as_object(next(iter(as_list(answer.get("choices"))), None))
    text = fastgpt_records.join_texts(as_object(choice.get("message")).get("content"))
    query = next((node["query"] for node in execution.nodes if has_string(node, "query")), None)
    failure = fastgpt_records.describe_error(answer.get("error"))
    root = SpanFacts(
        key=_ROOT,
        name="workflow",
        type=StepType.AGENT,
        times=Span(start=None, end=None),
        input={"messages": [{"role": "user", "content": query}]} if query else None,
        output={"text": text} if text else None,
        failed=bool(failure),
        error=failure,
    )
    nodes: list[JSONValue] = [*execution.nodes]
    return build_run(
        RunFacts(
            external_id=as_text(answer.get("id")) or f"{FORMAT}-{content_id(nodes, location)}",
            app=FORMAT,
            format=FORMAT,
            name=as_text(query),
            failed=bool(failure),
            metadata=omit(answer, "id", "choices", "error"),
        ),
        [build_step(root), *steps],
        location=location,
    )


def _steps(nodes: Sequence[JSONObject], parent: str, location: str) -> Iterator[RecordedStep]:
    for index, node in enumerate(nodes):
        key = f"{parent}.{index + 1}"
        yield _step(node, key, parent)
        children = [child for name in _CHILDREN for child in as_objects(node.get(name)) if _is_node(child)]
        yield from _steps(children, key, f"{location}/{index}")


def _step(node: JSONObject, key: str, parent: str) -> RecordedStep:
    kind, model = as_text(node.get("moduleType")), as_text(node.get("model"))
    error = fastgpt_records.describe_error(first_member(node, "errorText", "error"))
    is_call = model and kind in _MODELS
    facts = SpanFacts(
        key=key,
        name=as_text(node.get("moduleName")),
        type=_TYPES.get(kind, StepType.AGENT) if is_call or kind not in _MODELS else StepType.AGENT,
        times=Span(start=None, end=None),
        parent=parent,
        failed=bool(error),
        error=error,
        input=_members(node, _INPUTS),
        output=_members(node, _OUTPUTS),
        call_id=as_text(node.get("toolCallId")),
        attributes={name: item for name, item in node.items() if name not in _MAPPED_FIELDS and item not in (None, "")},
    )
    if kind == "datasetSearchNode":
        facts.input = {"query": node.get("query")}
        facts.output = {"documents": [_document(quote) for quote in as_objects(node.get("quoteList"))]}
        facts.attributes["model"] = model
    elif model:
        facts = _model_facts(facts, node, model)
    return build_step(facts)


def _members(node: JSONObject, names: Sequence[str]) -> JSONValue:
    return {name: node[name] for name in names if node.get(name) not in (None, "", {})} or None


def _model_facts(facts: SpanFacts, node: JSONObject, model: str) -> SpanFacts:
    """Return the facts of a node that calls a model; its history ends with the answer."""
    history = [
        {"role": fastgpt_records.SPEAKERS.get(as_text(item.get("obj")), "user"), "content": item.get("value")}
        for item in as_objects(node.get("historyPreview"))
    ]
    answer = history.pop()["content"] if history and history[-1]["role"] == "assistant" else None
    members = as_object(facts.output)
    output = answer if answer is not None else first_member(members, "textOutput") or facts.output
    thought: list[JSONValue] = (
        [{"type": "thinking", "thinking": node["reasoningText"]}] if node.get("reasoningText") else []
    )
    message: JSONObject = {
        "role": "assistant",
        "content": [*thought, {"type": "text", "text": output}] if thought else output,
    }
    counts = next((pair for pair in _COUNTS if node.get(pair[0]) is not None), _COUNTS[0])
    usage: JSONObject = {"input_tokens": node.get(counts[0]), "output_tokens": node.get(counts[1])}
    facts.attributes |= {
        "inputs": facts.input,
        "outputs": omit(members, "textOutput"),
        "model": "" if facts.type is StepType.MODEL else model,
        "quotes": node.get("quoteList"),
    }
    facts.attributes = {name: item for name, item in facts.attributes.items() if item not in (None, "", {}, [])}
    facts.input = {"messages": [*history]} if history else None
    facts.output = message if facts.type is StepType.MODEL else {"text": output}
    if facts.type is not StepType.MODEL:
        return replace(facts, usage=normalize_usage(usage, f"node {facts.name}"))
    settings: JSONObject = {_SETTINGS[name]: node[name] for name in _SETTINGS if node.get(name) is not None}
    facts = add_call(facts, settings=settings, model=model, provider=None, usage=usage)
    finish = as_text(node.get("finishReason"))
    return replace(facts, answer=normalize_answer(message, finish)) if finish else facts


def _document(quote: JSONObject) -> JSONObject:
    """Return a quote, whose scores are a list of their kinds and values."""
    scores = as_objects(quote.get("score"))
    texts = [as_text(quote.get(name)) for name in ("q", "a")]
    return {
        "id": quote.get("id"),
        "content": "\n".join(text for text in texts if text),
        **({"score": scores[0].get("value")} if scores else {}),
        "metadata": omit(quote, "id", "q", "a"),
    }
