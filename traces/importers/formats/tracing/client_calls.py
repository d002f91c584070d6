"""Model calls that the capture SDK recorded as the provider's client sent them, in the form of a model step."""

from typing import Final

import orjson

from traces.core.json_access import as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.model_calls import (
    ANSWER_SETTINGS,
    REQUEST_ATTRIBUTES,
    RESPONSE_ATTRIBUTES,
    Answer,
    normalize_answer,
    normalize_parameters,
    normalize_request,
)
from traces.importers.common.transcript_messages import continuation
from traces.importers.formats.chats.openai_items import normalize_openai_answer, normalize_openai_request
from traces.importers.formats.model_apis import gemini_requests, ollama_calls

# Operations of providers that no model answers: their calls are tool steps.
TOOL_APIS: Final = frozenset(
    {
        "anthropic.count_tokens",
        "anthropic.models",
        "google.batch_embed_contents",
        "google.count_tokens",
        "google.embed_content",
        "google.models",
        "ollama.embed",
        "ollama.embeddings",
        "ollama.models",
        "ollama.ps",
        "ollama.show",
        "ollama.version",
        "openai.classify",
        "openai.detokenize",
        "openai.embeddings",
        "openai.images",
        "openai.models",
        "openai.moderations",
        "openai.pooling",
        "openai.rerank",
        "openai.score",
        "openai.stored_response",
        "openai.tokenize",
    }
)
# Of the event `model_called`, beside its request.
_CALL_PARAMETERS: Final = ("temperature", "top_p", "max_tokens", "seed")
_USAGE_FIELDS: Final = ("usage", "usageMetadata")
# Members of requests with the conversation so far, by protocol.
_HISTORIES: Final = ("messages", "input", "contents")
# In shorter ones, to look for the messages costs more than they do.
_SHORTEST_HISTORY: Final = 8


def model_request(payload: JSONObject) -> JSONValue:
    """Return the input of a model step: from the body that a client sent, or the fields that the agent recorded."""
    request, api = payload.get("request"), as_text(payload.get("api"))
    if api in TOOL_APIS:
        return request
    body = as_object(request)
    if api:
        own_fields = {key: value for key, value in body.items() if key not in REQUEST_ATTRIBUTES}
        return _with_settings(_client_request(api, own_fields), body)
    if "messages" not in body:
        return request
    return _own_request(payload, body)


def _own_request(payload: JSONObject, body: JSONObject) -> JSONObject:
    """Return the request of an event that an agent wrote itself: its parameters may be at any of three places."""
    fields = {key: value for key, value in body.items() if key not in REQUEST_ATTRIBUTES and key != "parameters"}
    request = normalize_request(fields)
    event_parameters = normalize_parameters({name: payload[name] for name in _CALL_PARAMETERS if name in payload})
    body_parameters = normalize_parameters(as_object(body.get("parameters")))
    parameters = {**event_parameters, **as_object(request.get("parameters")), **body_parameters}
    return _with_settings({**request, **({"parameters": parameters} if parameters else {})}, body)


def tool_fields(payload: JSONObject) -> JSONObject:
    """Return the fields of the tool step that a call is; empty for a call that a model answers."""
    if as_text(payload.get("api")) not in TOOL_APIS:
        return {}
    response = as_object(payload.get("response"))
    fields: JSONObject = {"tool_name": payload["api"], "args": payload.get("request"), "result": response or None}
    return {**fields, "token_usage": as_object(first_member(response, *_USAGE_FIELDS))}


def model_answer(payload: JSONObject) -> Answer:
    """Return the answer of a model step."""
    response = payload.get("response")
    api = as_text(payload.get("api"))
    if api == "openai.responses" and isinstance(response, dict):
        return normalize_openai_answer(as_object(response))
    if api.startswith(ollama_calls.PREFIX):
        response = ollama_calls.whole_answer(response)
    return normalize_answer(response, as_text(payload.get("finish_reason")))


def client_attributes(payload: JSONObject) -> JSONObject:
    """Return what a client's request and its answer contain besides a step's input and output."""
    request, response = as_object(payload.get("request")), as_object(payload.get("response"))
    fields: JSONObject = {
        "request": {key: value for key, value in request.items() if key in REQUEST_ATTRIBUTES},
        "response": {key: response[key] for key in RESPONSE_ATTRIBUTES if key in response},
        "usage": first_member(response, *_USAGE_FIELDS) or ollama_calls.times(response),
    }
    return {key: value for key, value in fields.items() if value} | continuation(response)


def _with_settings(input: JSONObject, body: JSONObject) -> JSONObject:
    """Add to the parameters what a request states beside them and the answer depends on."""
    settings = {name: body[name] for name in sorted(ANSWER_SETTINGS & body.keys()) if body[name] not in (None, "")}
    return {**input, "parameters": {**as_object(input.get("parameters")), **settings}} if settings else input


def _client_request(api: str, body: JSONObject) -> JSONObject:
    if api.startswith("google."):
        return normalize_request(gemini_requests.flatten_request(body))
    if api.startswith(ollama_calls.PREFIX):
        return normalize_request(ollama_calls.flatten_request(body))
    return normalize_openai_request(body) if api.startswith("openai.") else normalize_request(body)


class SharedMessages:
    """Messages of requests that repeat a conversation: equal ones become one object, which takes memory once."""

    def __init__(self) -> None:
        self._by_content: dict[bytes, JSONValue] = {}

    def share(self, request: JSONValue) -> None:
        """Replace the messages of a long history by the equal ones of earlier requests. Do not modify them later."""
        body = as_object(request)
        for name in _HISTORIES:
            history = body.get(name)
            if isinstance(history, list) and len(history) >= _SHORTEST_HISTORY:
                history[:] = [self._by_content.setdefault(orjson.dumps(message), message) for message in history]
