"""Results of the Vercel AI SDK's `generateText` and of Mastra's agents, and the steps in them.

A step is a model call with the results of its tools. A result keeps no prompt; its first step has it if the provider
reports the body that it sent.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, has_object, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import result_text
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Source
from traces.importers.formats.chats.openai_items import normalize_openai_request

FORMAT: Final = "generate-text"
_OUTPUTS: Final = ("_output", "resolvedOutput", "experimental_output", "output", "object")
_FACTS: Final = ("error", "tripwire", "traceId")
_STEP_FACTS: Final = ("stepNumber", "stepType", "warnings", "providerMetadata", "sources", "files")
_RESULTS: Final = ("tool-result", "tool-error")


def is_result(value: JSONValue) -> bool:
    """Return True if `value` is a result or a step, or a list of them."""
    body = as_object(first_item(value))
    return _is_step(as_object(first_item(body.get("steps"))) or body)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield a run for each result; steps without one are a run for each `callId`."""
    steps_by_call: dict[str, list[JSONObject]] = {}
    for body, location in source.entries():
        if has_list(body, "steps"):
            yield _run(body, as_objects(body["steps"]), location)
        elif not _is_step(body):
            source.problems.append(BadFile("a step needs `content`, `finishReason`, `usage` and `response`", location))
        else:
            steps_by_call.setdefault(as_text(body.get("callId")), []).append(body)
    for steps in steps_by_call.values():
        yield _run({}, steps, "/")


def _is_step(body: JSONObject) -> bool:
    # Version 4 has lists of calls instead of a content.
    has_answer = has_list(body, "content") or has_list(body, "toolCalls")
    return has_answer and "finishReason" in body and has_object(body, "usage") and has_object(body, "response")


def _run(body: JSONObject, steps: list[JSONObject], location: str) -> RecordedRun:
    first = steps[0] if steps else {}
    request = _request(as_object(first.get("request")))
    origin = as_object(first.get("model"))
    model = as_text(first_member(origin, "modelId") or request.get("model"))
    settings = TranscriptSettings(
        model=model,
        provider=normalize_provider(origin.get("provider"), model.rpartition("/")[2]),
        tools=as_list(request.get("tools")),
        parameters=as_object(request.get("parameters")),
        response_format=request.get("response_format"),
    )
    output = first_member(body, *_OUTPUTS)
    metadata: JSONObject = {name: body[name] for name in _FACTS if body.get(name)}
    metadata |= {"output": output} if output is not None else {}
    id = as_text(first.get("callId") or body.get("runId")) or f"{FORMAT}-{content_id([*steps], location)}"
    prompt = list(_prompt(request, location))
    entries = [*prompt, *_answers(steps, model, location)]
    if not prompt:
        # Else its answer would pass as a greeting, which no call made.
        entries[:1] = [replace(entry, request_messages=[]) for entry in entries[:1]]
    return build_run(
        RunFacts(external_id=id, app="vercel-ai-sdk", format=FORMAT, metadata=metadata),
        transcripts.build_steps(entries, settings),
        location=location,
    )


def _request(facts: JSONObject) -> JSONObject:
    """Return the first request in the terms of a model step, with the name of its model."""
    body = as_object(parse_embedded(facts.get("body")))
    request = normalize_openai_request(body)
    if has_list(facts, "messages"):
        # As the SDK had them, before it converted them for the provider.
        request["messages"] = facts["messages"]
    return {**request, "model": body.get("model")}


def _prompt(request: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield the messages of the first request: the last one of a user begins the run."""
    messages = as_objects(request.get("messages"))
    last = max((index for index, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    for index, message in enumerate(messages):
        place = f"{location}/steps/0/request"
        yield TranscriptMessage(value=message, location=place, is_injected=index != last)


def _answers(steps: list[JSONObject], model: str, location: str) -> Iterator[TranscriptMessage]:
    for index, step in enumerate(steps):
        place = f"{location}/steps/{index}"
        response = as_object(step.get("response"))
        content = _content(step)
        answered_by = as_text(response.get("modelId"))
        facts: JSONObject = {name: step[name] for name in _STEP_FACTS if step.get(name) not in (None, [], {})}
        facts |= {"response_id": response.get("id")} if response.get("id") else {}
        facts |= {"response_model": answered_by} if model and answered_by != model else {}
        answer: JSONObject = {
            "role": "assistant",
            "content": [_block(part) for part in content if as_text(part.get("type")) not in _RESULTS],
            "model": model or answered_by,
            "finish_reason": first_member(as_object(step.get("finishReason")), "unified") or step.get("finishReason"),
            "usage": _usage(as_object(step.get("usage"))),
            "ts": response.get("timestamp"),
        }
        yield TranscriptMessage(value={**answer, **facts}, location=place)
        for part in content:
            if as_text(part.get("type")) in _RESULTS:
                yield TranscriptMessage(value=_result(part), location=place)


def _content(step: JSONObject) -> list[JSONObject]:
    """Return the parts of a step. Version 4 has them in lists of their own, and Mastra the results."""
    results = [{**_unwrap(item), "type": "tool-result"} for item in as_objects(step.get("toolResults"))]
    if content := as_objects(step.get("content")):
        known_ids = {as_text(part.get("toolCallId")) for part in content if part.get("type") in _RESULTS}
        return [*content, *(result for result in results if as_text(result.get("toolCallId")) not in known_ids)]
    texts: list[JSONObject] = [
        {"type": kind, "text": step[name]}
        for kind, name in (("reasoning", "reasoning"), ("text", "text"))
        if as_text(step.get(name))
    ]
    calls = [_unwrap(item) for item in as_objects(step.get("toolCalls"))]
    return [*texts, *calls, *results]


def _unwrap(item: JSONObject) -> JSONObject:
    """Return a call or result without the chunk around it in Mastra's steps."""
    return {"type": item.get("type"), **as_object(item["payload"])} if has_object(item, "payload") else item


def _block(part: JSONObject) -> JSONObject:
    if part.get("type") == "reasoning":
        return {**omit(part, "text"), "type": "thinking", "thinking": part.get("text")}
    return part


def _result(part: JSONObject) -> JSONObject:
    answer: JSONObject = {"role": "tool", "tool_call_id": part.get("toolCallId")}
    if part.get("type") == "tool-error":
        # An `Error` has no members of its own as JSON.
        problem = result_text(part["error"]) if part.get("error") not in (None, {}) else "error"
        return {**answer, "content": problem, "error": problem}
    content = result_text(first_member(part, "output", "result"))
    return {**answer, "content": content, **({"error": content} if part.get("isError") is True else {})}


def _usage(usage: JSONObject) -> JSONObject:
    """Return the counts; version 6 has those of the cache among details."""
    cached = as_object(usage.get("inputTokenDetails")).get("cacheReadTokens")
    return usage if cached is None else {"cachedInputTokens": cached, **usage}
