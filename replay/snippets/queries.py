"""Build the snippets of a stored step."""

from typing import Final

from replay.live import providers
from replay.live.providers import ModelCall, Provider
from replay.live.providers.types import key_header
from replay.snippets.core.api_request import ApiKey, ApiRequest
from replay.snippets.core.python_code import tool_call
from replay.snippets.core.schemas import StepSnippets
from replay.store import recorded_api
from traces.core.json_access import as_object, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.models import Step
from traces.payloads.messages import ModelRequest
from traces.storage import artifacts

_ANTHROPIC_HEADERS: Final = {"anthropic-version": "2023-06-01"}


def snippets(step: Step) -> StepSnippets:
    """Return a model step's request or a tool step's call."""
    if step.type not in (StepType.MODEL, StepType.TOOL):
        return StepSnippets(problem="Only model and tool steps have a call to copy.")
    payloads = artifacts.readable([step.input_ref, step.attributes_ref])
    if not step.input_ref:
        return StepSnippets(problem="The input of this step was not recorded.")
    if payloads.lacks(step.input_ref):
        return StepSnippets(problem="The input of this step is unavailable.")
    input = payloads.values.get(step.input_ref)
    if step.type == StepType.TOOL:
        return StepSnippets(python=tool_call(step.tool_name or step.name, input))
    return _model_snippets(step, input, as_object(payloads.values.get(step.attributes_ref)))


def _model_snippets(step: Step, input: JSONValue, attributes: JSONObject) -> StepSnippets:
    if not ModelRequest(input).messages:
        return StepSnippets(problem="The messages of this step were not recorded.")
    body: JSONObject = {**as_object(input), "messages": list(ModelRequest(input).messages)}
    provider = providers.address_of(step.provider, step.model)
    if provider is None:
        detail = f"the provider “{step.provider}”" if step.provider else "a provider of this model"
        return StepSnippets(problem=f"Configure {detail} to copy its requests.")
    if provider.local:
        return StepSnippets(problem=f"The provider “{provider.name}” runs inside Forkpoint and has no address.")
    is_response = provider.protocol == "openai" and recorded_api.is_response(attributes)
    call = ModelCall(provider=provider.name, model=step.model, input=body, is_response=is_response)
    request = _request(provider, call, attributes)
    return StepSnippets(curl=request.as_curl(), python=request.as_python())


def _request(provider: Provider, call: ModelCall, attributes: JSONObject) -> ApiRequest:
    body, left_out = providers.request_body(provider.protocol, call)
    # The provider keeps the messages before it.
    if call.is_response and (previous := member(attributes, "request", "previous_response_id")):
        body["previous_response_id"] = previous
    header, prefix = key_header(provider.protocol)
    return ApiRequest(
        url=provider.base_url + providers.request_path(provider.protocol, call),
        body=body,
        key=ApiKey(header=header, prefix=prefix, variable=provider.api_key_env) if provider.api_key_env else None,
        headers=_ANTHROPIC_HEADERS if provider.protocol == "anthropic" else {},
        left_out=left_out,
    )
